//! Operator commands. Each works on the data directory or the database, whether or not a server is
//! running.

pub mod admin_token;
pub mod audit;
pub mod backup;
pub mod client;
pub mod copy;
pub mod dead_letters;
pub mod doctor;
mod files;
pub mod keys;
pub mod listen;
pub mod manual;
pub mod migrate;
mod output;
pub mod session;
pub mod settings;
pub mod trust;
pub mod verify;
pub mod webhook_host;

pub use self::output::Output;
pub use crate::failure::Failure;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod fixture {
    use idgate_core::UnixMillis;

    use idgate_store::OperatorStore;

    pub(crate) const NOW: UnixMillis = UnixMillis(1_790_000_000_000);

    /// An empty data directory, opened like an operator's command does.
    pub(crate) fn store() -> (tempfile::TempDir, Box<OperatorStore>) {
        let dir = tempfile::tempdir().unwrap();
        let store = OperatorStore::open(dir.path(), None).unwrap();
        (dir, Box::new(store))
    }
}
