//! Administers a test's PostgreSQL server.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::cluster::{Cluster, ordinary};
use crate::server::eventually;

impl Cluster {
    /// Runs statements in the database at `url`. Returns the output without headings.
    #[track_caller]
    pub(crate) fn run(&self, url: &str, sql: &str) -> String {
        let mut command = self.tool("psql");
        command.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{sql}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// A connection to the database at `url`.
    pub(crate) fn session(&self, url: &str) -> Session {
        let mut command = self.tool("psql");
        command.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", url]);
        let mut psql = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (psql.stdin.take(), psql.stdout.take().unwrap());
        Session { psql, input, output: BufReader::new(output) }
    }

    /// How many connections to the database at `url` wait for a lock.
    pub(crate) fn waiting(&self, url: &str) -> usize {
        let sql = "SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid) \
                   WHERE NOT granted AND datname = current_database()";
        self.run(url, sql).parse().unwrap()
    }

    /// Stops the clock of the database at `url`, by which its gateways decide what is due. Returns
    /// the time.
    pub(crate) fn stop_clock(&self, url: &str) -> i64 {
        let now = self.run(url, "SELECT clock_ms()").parse().unwrap();
        self.set_clock(url, now);
        now
    }

    /// The same at `now`.
    pub(crate) fn set_clock(&self, url: &str, now: i64) {
        self.replace_clock(url, &format!("SELECT {now}::bigint"));
    }

    /// Advances the running clock of the database at `url` by this time. It did not jump before.
    pub(crate) fn jump(&self, url: &str, time: Duration) {
        let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        self.replace_clock(url, &format!("SELECT {now} + {}", time.as_millis()));
    }

    fn replace_clock(&self, url: &str, reads: &str) {
        let clock = "FUNCTION clock_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE";
        self.run(url, &format!("CREATE OR REPLACE {clock} AS '{reads}'"));
    }

    /// Kills one of the processes that serve gateways: the others end, and the server recovers.
    pub(crate) fn kill_backend(&self, url: &str) {
        let sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' \
                   AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1";
        kill(&[&self.run(url, sql)]);
    }

    /// Kills all of its processes at the same time.
    pub(crate) fn kill(&self) {
        let pids = self.processes();
        kill(&pids.iter().map(String::as_str).collect::<Vec<_>>());
        eventually("it ends", || !pids.iter().any(|pid| runs(pid)));
    }

    /// All of its processes.
    pub(crate) fn processes(&self) -> Vec<String> {
        let pid = self.postmaster().expect("it runs");
        let mut pids = vec![pid.clone()];
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            // pid (name) state parent …
            let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
            if parent == Some(&pid) {
                pids.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        pids
    }

    /// Starts it again.
    pub(crate) fn restart(&self) {
        eventually("it starts", || {
            let mut command = ordinary();
            command.arg(self.tool("pg_ctl").get_program()).arg("-D").arg(self.dir().join("data"));
            command.arg("-l").arg(self.dir().join("log")).args(["-w", "start"]);
            // Its own child would otherwise keep pipes open.
            let quiet = command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
            quiet.stderr(Stdio::null()).status().unwrap().success()
        });
    }

    /// A base backup of everything, with the required log.
    pub(crate) fn base_backup(&self, to: &Path) {
        let mut command = self.tool("pg_basebackup");
        command.arg("-D").arg(to).args(["-X", "stream", "-c", "fast"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn postmaster(&self) -> Option<String> {
        let file = fs::read_to_string(self.dir().join("data/postmaster.pid")).ok()?;
        Some(file.lines().next()?.to_owned())
    }
}

/// A separate connection to a database. Its open transaction ends with it.
pub(crate) struct Session {
    psql: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Session {
    /// Runs statements.
    #[track_caller]
    pub(crate) fn run(&mut self, sql: &str) {
        writeln!(self.input.as_mut().unwrap(), "{sql}; SELECT 'done';").unwrap();
        let mut line = String::new();
        while line != "done\n" {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "{sql}");
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It ends when its input is closed.
        drop(self.input.take());
        let _ = self.psql.wait();
    }
}

/// A zombie has ended.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn kill(pids: &[&str]) {
    // A process that has ended in the meantime is an error.
    let _ = Command::new("kill").arg("-9").args(pids).stderr(Stdio::null()).status().unwrap();
}
