//! The store's own threads, which keep connections alive while callers wait elsewhere.

use std::future::Future;
use std::sync::mpsc;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use super::super::types::StoreError;
use idgate_base::task::boxed;

/// The threads that talk to the database. Dropping it stops the work in progress.
pub(crate) struct Threads(Option<Runtime>, Handle);

impl Threads {
    /// Starts this many threads.
    ///
    /// # Errors
    /// The system cannot start threads.
    pub(crate) fn start(count: usize) -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(count)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Unavailable(format!("cannot start threads: {error}")))?;
        let handle = runtime.handle().clone();
        Ok(Self(Some(runtime), handle))
    }

    /// Runs the work on these threads, whether or not anyone waits for it.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.1.spawn(boxed(work))
    }

    /// Runs the work on these threads and blocks until it is done. The calling thread may belong to
    /// another runtime.
    ///
    /// # Errors
    /// The work panicked.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tell, told) = mpsc::sync_channel(1);
        drop(self.spawn(async move {
            // The receiver lives until it has the result.
            let _ = tell.send(work.await);
        }));
        told.recv().unwrap_or_else(|_| Err(StoreError::Failed("the store panicked".into())))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
