//! A PostgreSQL for one run, with a database for each row. Commits are durable, like those of SQLite.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::ValueEnum as _;
use tempfile::TempDir;

use super::cluster::Cluster;
use super::floor::Commit;
use super::gateway;
use super::process::{Server, this_program};

pub(super) struct Shared {
    cluster: Cluster,
    databases: AtomicUsize,
}

impl Shared {
    pub(super) fn start() -> Result<Self, String> {
        let cluster = Cluster::start().ok_or("this machine has no PostgreSQL")?;
        for sql in ["ALTER SYSTEM SET fsync = on", "SELECT pg_reload_conf()"] {
            let mut psql = cluster.tool("psql");
            let done = psql.args(["-Xqo", "/dev/null", "-d", "postgres", "-c", sql]).status();
            if !done.is_ok_and(|done| done.success()) {
                return Err(format!("psql: {sql} failed"));
            }
        }
        Ok(Self { cluster, databases: AtomicUsize::new(0) })
    }

    /// Gateways on a separate database, with this number of clients.
    pub(super) async fn start_nodes(
        &self,
        nodes: usize,
        tenants: usize,
    ) -> Result<Vec<Server>, String> {
        gateway::start_shared(&self.database(), nodes, tenants).await
    }

    /// The floor on a separate database.
    pub(super) fn start_floor(&self, commit: Commit) -> Result<Server, String> {
        let (folder, url) = (TempDir::new().map_err(|error| error.to_string())?, self.database());
        gateway::migrate(folder.path(), &url)?;
        let mut command = Command::new(this_program()?);
        let commit = commit.to_possible_value().ok_or("it has a name")?;
        command.args(["shared-floor", "--commit", commit.get_name(), "--database"]).arg(url);
        Server::spawn(command, folder)
    }

    fn database(&self) -> String {
        let name = format!("bench_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.cluster.create(&name, "template1");
        self.cluster.url(&name)
    }
}
