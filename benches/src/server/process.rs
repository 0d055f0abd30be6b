//! A server's process: its folder, and the kernel's figures about it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::ValueEnum as _;
use tempfile::TempDir;
use tokio_rustls::TlsConnector;

use super::floor::Commit;
use super::flow::{Connection, Profile};
use super::gateway;
use super::shared::Shared;

/// `USER_HZ`: the unit of /proc/PID/stat on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// A running server: the gateway or its floor. Dropping it kills it.
pub(super) struct Server {
    // Dropped after the process that uses it.
    child: Child,
    pub(super) address: SocketAddr,
    /// Empty for the floor, which needs none.
    pub(super) api_key: String,
    pub(super) admin_token: String,
    /// The key of another client, or empty.
    pub(super) other_key: String,
    /// The keys of further tenants.
    pub(super) more_keys: Vec<String>,
    /// The client configuration that trusts its certificate, with TLS.
    pub(super) tls: Option<TlsConnector>,
    _folder: TempDir,
}

impl Server {
    /// The processes of a row: one, or several gateways that share a database of `shared`.
    pub(super) async fn start(
        profile: Profile,
        shared: Option<&Shared>,
    ) -> Result<Vec<Self>, String> {
        let shared = || shared.ok_or("it wants PostgreSQL");
        Ok(match profile {
            Profile::Floor(commit) | Profile::CreateFloor(commit) => {
                vec![start_floor(commit, &[])?]
            }
            Profile::JarFloor(commit) => vec![start_floor(commit, &["--jar"])?],
            Profile::Inline | Profile::Create => vec![gateway::start("inline").await?],
            Profile::Jar => vec![gateway::start("jar").await?],
            Profile::SharedFloor(commit) => vec![shared()?.start_floor(commit)?],
            Profile::Shared(nodes) => shared()?.start_nodes(nodes, 1).await?,
        })
    }

    /// Runs a program that prints its address on the first line.
    pub(super) fn spawn(mut command: Command, folder: TempDir) -> Result<Self, String> {
        let child = command.stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            let _ = BufReader::new(stdout).read_line(&mut line);
        }
        let address = line.trim().rsplit("//").next().and_then(|address| address.parse().ok());
        let address = address.ok_or_else(|| format!("{command:?} did not start"))?;
        let (api_key, admin_token, other_key, more_keys) = Default::default();
        let (tls, _folder) = (None, folder);
        Ok(Self { child, address, api_key, admin_token, other_key, more_keys, tls, _folder })
    }

    /// Opens a connection to it, encrypted if it uses TLS.
    pub(super) async fn connect(&self) -> Result<Connection, String> {
        Connection::open_with(self.address, self.tls.clone()).await
    }

    /// The keys of all its tenants.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.api_key).chain(&self.more_keys).map(String::as_str)
    }

    /// The CPU time of the process so far, including ended threads.
    pub(super) fn cpu(&self) -> Result<Duration, String> {
        let stat = self.proc("stat")?;
        // The name, in parentheses, may have any characters.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u32 =
            fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
        Ok(TICK * ticks)
    }

    /// The CPU time of each kind of thread so far, by name.
    pub(super) fn threads(&self) -> Result<BTreeMap<String, Duration>, String> {
        let mut used = BTreeMap::new();
        let tasks = format!("/proc/{}/task", self.child.id());
        for task in fs::read_dir(&tasks).map_err(|error| format!("{tasks}: {error}"))?.flatten() {
            let read = |file| fs::read_to_string(task.path().join(file)).unwrap_or_default();
            let (name, stat) = (read("comm"), read("schedstat"));
            let on_cpu = stat.split(' ').next().and_then(|number| number.parse().ok());
            // A thread that has just ended has neither file.
            if let Some(nanoseconds) = on_cpu {
                let all: &mut Duration = used.entry(name.trim().to_owned()).or_default();
                *all += Duration::from_nanos(nanoseconds);
            }
        }
        Ok(used)
    }

    /// Resident memory, now.
    pub(super) fn rss_kib(&self) -> Result<u64, String> {
        self.memory("VmRSS:")
    }

    /// The highest resident memory so far.
    pub(super) fn peak_kib(&self) -> Result<u64, String> {
        self.memory("VmHWM:")
    }

    fn memory(&self, which: &str) -> Result<u64, String> {
        let status = self.proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(which));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.ok_or_else(|| format!("no {which}"))
    }

    /// Write transactions so far. The floor does not count them.
    pub(super) async fn commits(&self) -> Result<Option<f64>, String> {
        let mut connection = self.connect().await?;
        let (_, body) = connection.send("GET", "/metrics", &self.admin_token, None).await?;
        let text = String::from_utf8_lossy(&body);
        let count =
            text.lines().find_map(|line| line.strip_prefix("idgate_db_commit_seconds_count "));
        Ok(count.and_then(|count| count.trim().parse().ok()))
    }

    fn proc(&self, file: &str) -> Result<String, String> {
        let path = format!("/proc/{}/{file}", self.child.id());
        fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// This program.
pub(super) fn this_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| error.to_string())
}

/// Starts the floor on SQLite.
pub(super) fn start_floor(commit: Commit, more: &[&str]) -> Result<Server, String> {
    let folder = TempDir::new().map_err(|error| error.to_string())?;
    let commit = commit.to_possible_value().ok_or("it has a name")?;
    let mut command = Command::new(this_program()?);
    command
        .args(["flow-floor", "--commit", commit.get_name(), "--folder"])
        .arg(folder.path())
        .args(more);
    Server::spawn(command, folder)
}
