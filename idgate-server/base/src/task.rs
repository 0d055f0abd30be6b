//! Tasks, of one kind.

use std::future::Future;
use std::pin::Pin;

/// A task, whatever it does.
pub type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The runtime compiles all that it does with a task once more for each kind, 4 KiB for each of its schedulers. What is
/// not begun with each request goes through here, and is one kind.
pub fn boxed(work: impl Future<Output = ()> + Send + 'static) -> Boxed {
    Box::pin(work)
}
