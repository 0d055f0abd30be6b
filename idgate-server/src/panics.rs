//! Panics as values, for work that needs cleanup afterwards.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// The work panicked. The panic message is in the log already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Panicked;

/// Turns a panic of `future` into a value.
pub(crate) async fn unpanicked<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(_payload) => Poll::Ready(Err(Panicked)),
    })
    .await
}
