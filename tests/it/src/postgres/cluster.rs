//! A PostgreSQL of a test's own, from the packages of the machine, on a socket in a temporary folder.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// `nobody`: PostgreSQL does not run as root.
const ORDINARY: u32 = 65_534;

/// Waits for the end of whoever started it, which closes its input.
const GUARD: &str = r#"
"$1/initdb" -D "$2/data" -U idgate -A trust -E UTF8 --locale=C --no-sync >"$2/initdb.log" 2>&1 || exit 1
"$1/pg_ctl" -D "$2/data" -w -l "$2/log" -o "-k $2 -c listen_addresses='' -c fsync=off" start >/dev/null 2>&1 || exit 1
"$1/createdb" -h "$2" -U idgate idgate || exit 1
echo ready
read -r _
"$1/pg_ctl" -D "$2/data" -m immediate stop >/dev/null 2>&1
rm -rf "$2"
"#;

/// A server with an empty database. Dropping it ends it.
pub(super) struct Cluster {
    dir: PathBuf,
    guard: Child,
}

impl Cluster {
    /// `None`: this machine has no PostgreSQL.
    pub(super) fn start() -> Option<Self> {
        let Some(tools) = tools() else {
            eprintln!("skipped: this machine has no PostgreSQL (initdb was not found)");
            return None;
        };
        let dir = tempfile::Builder::new().prefix("idgate-pg-").tempdir().unwrap().keep();
        let mut command = Command::new("sh");
        if rustix::process::geteuid().is_root() {
            chown(&dir, Some(ORDINARY), Some(ORDINARY)).unwrap();
            command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh"]);
        }
        command.args(["-c", GUARD, "guard"]).arg(tools).arg(&dir).current_dir("/");
        let mut guard = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(guard.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let log = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
        assert_eq!(said, "ready\n", "{log}");
        Some(Self { dir, guard })
    }

    /// Where it listens.
    pub(super) fn socket(&self) -> PathBuf {
        self.dir.join(".s.PGSQL.5432")
    }

    /// Where the database is.
    pub(super) fn url(&self) -> String {
        let host = self.dir.to_str().unwrap().replace('/', "%2F");
        format!("postgres://idgate@{host}/idgate")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Where `initdb` is.
fn tools() -> Option<PathBuf> {
    let asked = Command::new("pg_config").arg("--bindir").output().ok();
    let asked = asked.and_then(|output| String::from_utf8(output.stdout).ok());
    let debians = (15..=20).rev().map(|version| format!("/usr/lib/postgresql/{version}/bin"));
    let path = std::env::var("PATH").unwrap_or_default();
    let on_path: Vec<String> = path.split(':').map(str::to_owned).collect();
    let folders = debians.chain(asked.map(|path| path.trim().to_owned())).chain(on_path);
    folders.map(PathBuf::from).find(|folder| folder.join("initdb").exists())
}
