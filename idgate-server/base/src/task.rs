//! Boxed tasks.

use std::future::Future;
use std::pin::Pin;

/// A task, whatever it does.
pub type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Boxes a task's future. The runtime is compiled once more for each type of future, 4 KiB for each
/// scheduler; tasks that do not start with each request share this one type.
pub fn boxed(work: impl Future<Output = ()> + Send + 'static) -> Boxed {
    Box::pin(work)
}
