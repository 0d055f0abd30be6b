//! Panics as values, for work that must be tidied up after.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// The work panicked. What the panic said is in the log already.
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
