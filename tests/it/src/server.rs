//! The real binary: an installation for operator commands, and its running server.

mod root;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{self, Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

pub(crate) use idgate_testkit::patience::eventually;
use idgate_testkit::patience::{eventually_some, patience};
use serde_json::Value;

use self::root::Root;
use crate::at_rest::{does_nothing, ends_within};
use crate::http::{Http, Request};
use crate::machine::{self, Machine};
use crate::stores;
use crate::tamper::scenario::Trust;
use crate::tenant::now_ms;

/// A temporary data directory and the commands on it.
#[derive(Debug)]
pub(crate) struct Installation {
    root: Root,
    environment: Vec<(String, String)>,
    machine: Option<Machine>,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A client as the operator's command created it.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) client_id: String,
    pub(crate) api_key: String,
    pub(crate) signing_secret: String,
    pub(crate) livemode: bool,
}

impl Client {
    /// Parses the output of `client create`.
    pub(crate) fn of(made: &Value) -> Self {
        let text = |member: &str| made[member].as_str().unwrap_or_default().to_owned();
        Self {
            client_id: text("client_id"),
            api_key: text("api_key"),
            signing_secret: text("signing_secret"),
            livemode: made["livemode"] == true,
        }
    }
}

/// A running `idgate serve`. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    machine: Option<Machine>,
    /// The URL of its database, if it has one.
    database: Option<String>,
    pub(crate) base_url: String,
    pub(crate) address: SocketAddr,
}

/// A line of `/proc/net/tcp`.
struct TcpSocket {
    /// 0A: it listens.
    state: String,
    /// The number of unread bytes or, for a listener, of connections that it has not accepted.
    unread: String,
}

impl Installation {
    pub(crate) fn new() -> Self {
        Self::with_environment(stores::settings())
    }

    /// An installation with files, whatever store the other tests use.
    pub(crate) fn in_directory() -> Self {
        Self::with_environment(Vec::new())
    }

    fn with_environment(environment: Vec<(String, String)>) -> Self {
        Self { root: Root::new(), environment, machine: None }
    }

    /// An installation whose servers all have the same address, and so the same DID.
    pub(crate) fn at_one_address() -> Self {
        let address = free_address();
        // Wallets accept http from few hosts; clients connect by address.
        let base_url = format!("http://localhost:{}", address.port());
        Self::new().with("IDGATE_LISTEN", &address.to_string()).with("IDGATE_BASE_URL", &base_url)
    }

    /// A gateway that shares this database.
    pub(crate) fn on(database: &str) -> Self {
        Self::in_directory()
            .with("IDGATE_DATABASE_URL", database)
            .with("IDGATE_INSTANCE_KEY", stores::KEY)
    }

    /// Sets an environment variable for every command.
    pub(crate) fn with(mut self, variable: &str, value: &str) -> Self {
        self.environment.push((variable.into(), value.into()));
        self
    }

    /// Uses a separate machine, whose time the test controls.
    pub(crate) fn with_machine(self) -> Self {
        self.on_machine(&Machine::new())
    }

    /// Uses a machine that others may share.
    pub(crate) fn on_machine(mut self, machine: &Machine) -> Self {
        self.machine = Some(machine.clone());
        let page = machine.path().to_str().unwrap();
        self.with("TEST_MACHINE", page).with("LD_PRELOAD", machine::library())
    }

    /// The machine of [`Self::with_machine`].
    #[track_caller]
    pub(crate) fn machine(&self) -> &Machine {
        self.machine.as_ref().expect("an installation with a machine of its own")
    }

    /// The real-time clock of its servers, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.machine.as_ref().map_or_else(now_ms, Machine::now_ms)
    }

    /// Sets an environment variable for every command from now on.
    pub(crate) fn set(&mut self, variable: &str, value: &str) {
        self.environment.push((variable.into(), value.into()));
    }

    /// The data directory.
    #[track_caller]
    pub(crate) fn data_dir(&self) -> PathBuf {
        let has_database = self.database().is_some();
        assert!(!has_database, "everything is in a database: see `stores::ABOUT_FILES`");
        self.unused_data_dir()
    }

    /// The URL of its database, if it has one.
    fn database(&self) -> Option<&str> {
        let mut set = self.environment.iter().rev();
        let (_, url) = set.find(|(name, _)| name == "IDGATE_DATABASE_URL")?;
        (!url.is_empty()).then_some(url)
    }

    /// The data directory that it would have without a database.
    pub(crate) fn unused_data_dir(&self) -> PathBuf {
        self.root.path().join("data")
    }

    /// The stderr of all servers of this installation, once they are at rest.
    #[track_caller]
    pub(crate) fn log(&self) -> String {
        self.root.log()
    }

    /// A file next to the data directory.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Runs a command to its end.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Output {
        let mut command = self.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (pid, (done, ended)) = (child.id(), mpsc::channel());
        thread::spawn(move || done.send(child.wait_with_output()));
        // Some commands take long on large data; this only ends one that hangs.
        let output = ended.recv_timeout(10 * patience()).unwrap_or_else(|_| {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
            panic!("a command of {} words never ends", arguments.len())
        });
        Output::of(output.unwrap())
    }

    /// Runs a command that must succeed and print one JSON object.
    #[track_caller]
    pub(crate) fn run_json<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Value {
        let output = self.run(arguments);
        assert_eq!(output.code, 0, "{output:?}");
        output.json()
    }

    pub(crate) fn create_client(&self, name: &str, test: bool) -> Client {
        let mode: &[&str] = if test { &["--test"] } else { &[] };
        let made = self.run_json(&[&["client", "create", name, "--json"], mode].concat());
        Client::of(&made)
    }

    /// Trusts the keys and roots of `trust`, with further `options`.
    pub(crate) fn trust(&self, trust: &Trust, options: &[&str]) {
        let mut attributes: Vec<&str> = vec!["--revocation", trust.revocation];
        for vct in &trust.vct {
            attributes.extend(["--vct", vct]);
        }
        for jwk in &trust.keys {
            let path = self.file("issuer.jwk.json", jwk.to_string());
            let key = ["trust", "add", &trust.issuer_id, "--jwk", path.to_str().unwrap()];
            let output = self.run(&[&key, &*attributes, options].concat());
            assert_eq!(output.code, 0, "{output:?}");
        }
        for root in &trust.sd_jwt_roots {
            let path = self.file("issuer-root.der", root);
            let root = ["trust", "add", &trust.issuer_id, "--sd-jwt-root", path.to_str().unwrap()];
            let output = self.run(&[&root, &*attributes, options].concat());
            assert_eq!(output.code, 0, "{output:?}");
        }
    }

    /// Starts the server and waits until it prints its address.
    pub(crate) fn serve(&self) -> Server {
        self.serve_by(self.command(&["serve"]))
    }

    /// Starts the server with `command`.
    pub(crate) fn serve_by(&self, command: Command) -> Server {
        self.serve_into(command, self.root.appended())
    }

    /// Starts the server with its log elsewhere.
    pub(crate) fn serve_with_stderr(&self, stderr: impl Into<Stdio>) -> Server {
        self.serve_into(self.command(&["serve"]), stderr)
    }

    fn serve_into(&self, mut command: Command, stderr: impl Into<Stdio>) -> Server {
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let listening = line.trim_end().strip_prefix("listening on ").unwrap_or_else(|| {
            let _ = child.kill();
            panic!("the server did not start: {line:?}\n{}", self.root.written())
        });
        self.root.started(child.id());
        let (listening, base_url) =
            listening.split_once(", reached at ").unwrap_or((listening, listening));
        let address = listening.split_once("://").and_then(|(_, rest)| rest.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address in {listening:?}"));
        let (machine, database) = (self.machine.clone(), self.database().map(str::to_owned));
        Server { child, stdout, machine, database, base_url: base_url.into(), address }
    }

    /// A command with the settings of this installation and none of the caller's.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(binary());
        for (name, _) in std::env::vars() {
            if name.starts_with("IDGATE_") || name.starts_with("OID4VP_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(self.root.path())
            .env("IDGATE_DATA_DIR", self.unused_data_dir())
            .env("IDGATE_LISTEN", "127.0.0.1:0")
            // A test does in a second what others do in a day. Tests about limits switch them on.
            .env("IDGATE_RATE_LIMITS", "off")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }
}

impl Output {
    pub(crate) fn of(output: process::Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Stdout as one JSON object.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let value: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert!(value.is_object(), "{self:?}");
        value
    }
}

impl Server {
    /// A client of it.
    pub(crate) fn http(&self) -> Http {
        Http::new(self.address).on(self.machine.as_ref())
    }

    /// Its resident memory in bytes.
    pub(crate) fn resident(&self) -> u64 {
        self.resident_kib() * 1024
    }

    /// Files and connections that it has open.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Waits until it has accepted all connections, read all bytes, and begun all its waits: time
    /// that passes from now on passes for all of them.
    #[track_caller]
    pub(crate) fn rest(&self) {
        eventually("the server has read everything", || self.has_read_everything());
        self.idle();
    }

    /// Waits until it does nothing, even if it has not read everything: bytes without room may stay
    /// unread.
    #[track_caller]
    pub(crate) fn idle(&self) {
        eventually("the server is at rest", || self.does_nothing());
    }

    /// Lets this time pass on its machine, whose clocks are stopped, and waits until everything
    /// that became due is done.
    #[track_caller]
    pub(crate) fn pass(&self, machine: &Machine, time: Duration) {
        self.rest();
        machine.jump(time);
        // Its runtime reads the clock whenever something arrives.
        Http::new(self.address).send(&Request::get("/healthz")).expect_status(200);
        self.rest();
    }

    /// Whether it is at rest now.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.does_nothing() && self.has_read_everything()
    }

    /// Whether it is asleep, and waits for no statement.
    fn does_nothing(&self) -> bool {
        does_nothing(self.child.id(), self.database.as_deref())
    }

    /// Whether its listener is open.
    pub(crate) fn listens(&self) -> bool {
        self.sockets().iter().any(|socket| socket.state == "0A")
    }

    fn has_read_everything(&self) -> bool {
        self.sockets().iter().all(|socket| socket.unread == "00000000")
    }

    /// Its listener, and the connections that it accepted or will accept.
    fn sockets(&self) -> Vec<TcpSocket> {
        let SocketAddr::V4(own) = self.address else { panic!("{} is not IPv4", self.address) };
        // With its host: a client may have the same port on another host, and may never read.
        let host = u32::from_ne_bytes(own.ip().octets());
        let local = format!("{host:08X}:{:04X}", own.port());
        let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
        let fields = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let own = fields.filter(|fields| fields[1] == local);
        own.map(|fields| {
            let (_, unread) = fields[4].split_once(':').unwrap();
            TcpSocket { state: fields[3].into(), unread: unread.into() }
        })
        .collect()
    }

    /// Kills it without warning (SIGKILL).
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its resident memory in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Stops it and waits for its end.
    #[track_caller]
    pub(crate) fn stop(self) {
        self.terminate();
        assert!(self.wait().0.success());
    }

    /// Sends the signal of this name.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end. Returns the status and the rest of stdout.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let status = eventually_some("the server stops", || self.child.try_wait().unwrap());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (status, rest)
    }

    /// Waits for its end, which must come within that time of its machine: [`ends_within`].
    #[track_caller]
    pub(crate) fn ends_within(mut self, machine: &Machine, time: Duration) -> ExitStatus {
        ends_within(&mut self.child, self.database.as_deref(), machine, time)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address of the last server that wrote to this log.
pub(crate) fn bound_to(log: &str) -> Option<SocketAddr> {
    let (_, rest) = log.rsplit_once("bound to ")?;
    rest.split([' ', '"', '\n']).next()?.parse().ok()
}

/// An address on which nothing listens until its test does. No other test in this process has the
/// same host (Linux has all of 127/8), so a released port is not reused by another test's server.
pub(crate) fn free_address() -> SocketAddr {
    static HOSTS: AtomicU32 = AtomicU32::new(0);
    let [.., high, low] = HOSTS.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let [.., process] = std::process::id().to_be_bytes();
    let host = Ipv4Addr::new(127, process.max(1), high, low);
    TcpListener::bind((host, 0)).unwrap().local_addr().unwrap()
}

/// `IDGATE_BIN`, otherwise the program that was built with these tests.
fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("IDGATE_BIN") {
        return path.into();
    }
    // target/<profile>/deps/<test binary>
    let test = std::env::current_exe().unwrap();
    let binary = test.ancestors().nth(2).unwrap().join("idgate");
    assert!(
        binary.is_file(),
        "there is no {}: run `cargo build --profile tested -p idgate-program` first, or set IDGATE_BIN",
        binary.display()
    );
    binary
}

/// Whether SIGHUP is ignored: children of such a process ignore it too.
pub(crate) fn outlives_terminals() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1)
}
