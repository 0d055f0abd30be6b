//! What tests do to a PostgreSQL of theirs besides using it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::cluster::{Cluster, ordinary};

/// How long it takes to come back at most.
const RECOVERY: Duration = Duration::from_secs(60);

impl Cluster {
    /// Runs statements in the database at `url`; gives what they print, without headings.
    #[track_caller]
    pub(crate) fn run(&self, url: &str, sql: &str) -> String {
        let mut command = self.tool("psql");
        command.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{sql}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Kills one of its processes that serve gateways: the others end, and it recovers.
    pub(crate) fn kill_backend(&self, url: &str) {
        let sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' \
                   AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1";
        kill(&[&self.run(url, sql)]);
    }

    /// Kills all of its processes at once.
    pub(crate) fn kill(&self) {
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
        kill(&pids.iter().map(String::as_str).collect::<Vec<_>>());
        let begun = Instant::now();
        while pids.iter().any(|pid| runs(pid)) {
            assert!(begun.elapsed() < RECOVERY, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts it again.
    pub(crate) fn restart(&self) {
        let begun = Instant::now();
        loop {
            let mut command = ordinary();
            command.arg(self.tool("pg_ctl").get_program()).arg("-D").arg(self.dir().join("data"));
            command.arg("-l").arg(self.dir().join("log")).args(["-w", "start"]);
            // Its own child would hold pipes open.
            let quiet = command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
            if quiet.stderr(Stdio::null()).status().unwrap().success() {
                return;
            }
            assert!(begun.elapsed() < RECOVERY, "it does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A base backup of everything, with the log that it needs.
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

/// A zombie has ended.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn kill(pids: &[&str]) {
    // One that has ended meanwhile is an error.
    let _ = Command::new("kill").arg("-9").args(pids).stderr(Stdio::null()).status().unwrap();
}
