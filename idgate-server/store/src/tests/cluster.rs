//! A PostgreSQL server for one test process, from the machine's packages, on a socket in a
//! temporary folder. Used by the tests of the store and of the program.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The socket's name in its folder.
pub(crate) const SOCKET: &str = ".s.PGSQL.5432";
/// `nobody`: PostgreSQL refuses to run as root.
const ORDINARY: u32 = 65_534;

/// Waits until the process that started it ends, which closes its input. It runs in a session of
/// its own: a signal that ends all processes of the tests leaves it the time to stop the server.
const GUARD: &str = r#"
trap '' PIPE
"$1/initdb" -D "$2/data" -U idgate -A trust -E UTF8 --locale=C --no-sync \
    --wal-segsize=1 >"$2/initdb.log" 2>&1 || exit 1
cat >>"$2/data/postgresql.conf" <<END
unix_socket_directories = '$2'
listen_addresses = ''
fsync = off
max_connections = 300
shared_buffers = 64MB
max_wal_size = 32MB
END
"$1/pg_ctl" -D "$2/data" -w -l "$2/log" start >/dev/null 2>&1 || exit 1
echo ready
read -r _
"$1/pg_ctl" -D "$2/data" -m immediate stop >/dev/null 2>&1
rm -rf "$2"
"#;

/// A server, which stops when this value is dropped or the process ends.
pub(crate) struct Cluster {
    dir: PathBuf,
    tools: PathBuf,
    guard: Child,
}

impl Cluster {
    /// `None`: this machine has no PostgreSQL.
    pub(crate) fn start() -> Option<Self> {
        let Some(tools) = tools() else {
            eprintln!("skipped: this machine has no PostgreSQL (initdb was not found)");
            return None;
        };
        let dir = tempfile::Builder::new().prefix("idgate-pg-").tempdir().unwrap().keep();
        if rustix::process::geteuid().is_root() {
            chown(&dir, Some(ORDINARY), Some(ORDINARY)).unwrap();
        }
        let mut command = ordinary();
        command.args(["setsid", "sh", "-c", GUARD, "guard"]).arg(&tools).arg(&dir).current_dir("/");
        let mut guard = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(guard.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let log = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
        assert_eq!(said, "ready\n", "{log}");
        Some(Self { dir, tools, guard })
    }

    /// The folder of its socket and its files.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The address of one of its databases.
    pub(crate) fn url(&self, database: &str) -> String {
        let host = self.dir.to_str().unwrap().replace('/', "%2F");
        format!("postgres://idgate@{host}/{database}")
    }

    /// A PostgreSQL program, set up for this server.
    pub(crate) fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.tools.join(name));
        command.arg("-h").arg(&self.dir).args(["-U", "idgate"]);
        command
    }

    /// Creates a database from `template`.
    pub(crate) fn create(&self, database: &str, template: &str) {
        let mut command = self.tool("createdb");
        command.args(["--strategy=file_copy", "-T"]);
        assert!(command.args([template, database]).status().unwrap().success());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Runs the following command as a user that PostgreSQL accepts.
pub(crate) fn ordinary() -> Command {
    if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        return command;
    }
    Command::new("env")
}

/// The folder of `initdb`.
fn tools() -> Option<PathBuf> {
    let asked = Command::new("pg_config").arg("--bindir").output().ok();
    let asked = asked.and_then(|output| String::from_utf8(output.stdout).ok());
    let debians = (15..=20).rev().map(|version| format!("/usr/lib/postgresql/{version}/bin"));
    let path = std::env::var("PATH").unwrap_or_default();
    let on_path: Vec<String> = path.split(':').map(str::to_owned).collect();
    let folders = debians.chain(asked.map(|path| path.trim().to_owned())).chain(on_path);
    folders.map(PathBuf::from).find(|folder| folder.join("initdb").exists())
}
