//! Lets tests that are not asynchronous wait for a read.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// Waits on this thread.
pub trait Wait: Future + Sized {
    /// The output.
    fn wait(self) -> Self::Output {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let (mut future, mut context) = (pin!(self), Context::from_waker(&waker));
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(output) => return output,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

impl<F: Future> Wait for F {}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
