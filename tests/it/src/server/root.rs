//! The directory of an installation, and the log of its servers in it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use idgate_testkit::patience::eventually;
use tempfile::TempDir;

use crate::at_rest::{has_ended, is_at_rest};

/// If a test fails, it prints the end of the servers' log.
#[derive(Debug)]
pub(super) struct Root {
    directory: TempDir,
    /// The process identifiers of the servers that were started.
    servers: Mutex<Vec<u32>>,
}

impl Root {
    pub(super) fn new() -> Self {
        Self { directory: TempDir::new().unwrap(), servers: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Adds a server that writes to the log.
    pub(super) fn started(&self, pid: u32) {
        self.servers.lock().unwrap().push(pid);
    }

    /// The log, for a server to append to.
    pub(super) fn appended(&self) -> File {
        File::options().create(true).append(true).open(self.file()).unwrap()
    }

    /// The text of the log so far.
    pub(super) fn written(&self) -> String {
        fs::read_to_string(self.file()).unwrap_or_default()
    }

    /// The text of the log once the servers that still run are at rest. A server may write a line
    /// after it has answered.
    #[track_caller]
    pub(super) fn log(&self) -> String {
        let servers = self.servers.lock().unwrap().clone();
        eventually("the servers have logged everything", || {
            servers.iter().all(|pid| has_ended(*pid) || is_at_rest(*pid))
        });
        self.written()
    }

    fn file(&self) -> PathBuf {
        self.path().join("server.log")
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let log = if thread::panicking() { self.written() } else { String::new() };
        if !log.is_empty() {
            let skipped = log.lines().count().saturating_sub(40);
            let last: Vec<_> = log.lines().skip(skipped).collect();
            eprintln!("the servers logged last:\n{}", last.join("\n"));
        }
    }
}
