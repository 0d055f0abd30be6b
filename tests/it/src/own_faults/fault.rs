//! Faults of the machine that a gateway runs on, switched on and off while it runs.

use std::fs::{self, File};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use super::source::Source;
use super::turns::Turns;
use crate::http::Request;
use crate::machine::Machine;
use crate::server::{Installation, Server, eventually};
use crate::tenant::Tenant;

const DISK_KIB: usize = 12 * 1024;
/// More writes than may wait for one client's sessions, which are 256, plus 64 in progress.
pub(super) const CROWD: usize = 400;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    /// Answers about silent hosts hold all turns of an issuer to fetch.
    NoPermit,
    /// The process has used every file descriptor that it may have.
    NoDescriptor,
    /// The system's random number generator fails.
    NoRandomness,
    /// No byte is free on the data directory's disk.
    DiskFull,
    /// The write queue is full.
    QueueFull,
    /// Another program locks the database.
    DatabaseLocked,
    /// The system clock is set forward by an hour.
    ClockForward,
    /// The system clock is set back by an hour.
    ClockBackward,
}

/// Prepares a gateway for the fault. `None`: impossible on this machine.
pub(super) fn prepare(fault: Fault, installation: Installation) -> Option<Installation> {
    match fault {
        Fault::DiskFull => can_mount().then_some(installation),
        _ => Some(installation),
    }
}

pub(super) fn serve(fault: Fault, installation: &Installation) -> Server {
    let serve = installation.command(&["serve"]);
    if fault != Fault::DiskFull {
        return installation.serve_by(serve);
    }
    // A separate disk that only this process sees.
    let script = format!(
        "mkdir \"$0.disk\" && mount -t tmpfs -o size={DISK_KIB}k none \"$0.disk\" && \
         cp -a \"$0/.\" \"$0.disk\" && mount --bind \"$0.disk\" \"$0\" && exec \"$@\""
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
    command.arg(installation.data_dir()).arg(serve.get_program()).args(serve.get_args());
    command.current_dir(serve.get_current_dir().unwrap());
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    installation.serve_by(command)
}

/// A fault in effect.
pub(super) enum Lasting {
    Silence(Vec<Source>),
    Limit { pid: u32, before: String },
    Disk(PathBuf),
    Lock(Connection),
    Queue(Connection, Vec<Socket>),
    Machine(Machine),
}

/// The gateway that has the fault.
pub(super) struct Patient<'a> {
    pub(super) fault: Fault,
    pub(super) installation: &'a Installation,
    pub(super) server: &'a Server,
    /// Takes all turns to fetch.
    pub(super) turns: Option<Turns>,
    /// Sessions whose requests a crowd of wallets fetches.
    pub(super) crowd: Vec<String>,
    pub(super) tenant: &'a mut Tenant,
    pub(super) request: &'a Value,
}

impl Lasting {
    pub(super) fn begin(patient: &mut Patient<'_>) -> Self {
        let Patient { fault, installation, server, .. } = patient;
        let (installation, server) = (*installation, *server);
        match fault {
            Fault::NoPermit => Self::Silence(patient.turns.take().unwrap().take()),
            Fault::NoDescriptor => {
                let before = limit(server.pid());
                // The lowest free number is refused, and so is every higher one.
                let used = used_numbers(server.pid());
                let free = (0..).find(|number| !used.contains(number)).unwrap();
                set_limit(server.pid(), &free.to_string());
                Self::Limit { pid: server.pid(), before }
            }
            Fault::DiskFull => {
                let disk = Path::new("/proc").join(server.pid().to_string()).join("root");
                let dir = installation.data_dir();
                let filler = disk.join(dir.strip_prefix("/").unwrap()).join("filler");
                fill(&filler);
                // Uses up the room inside the log.
                for _ in 0..10_000 {
                    if patient.tenant.post_session(patient.request).status != 201 {
                        return Self::Disk(filler);
                    }
                    fill(&filler);
                }
                panic!("a full disk takes everything");
            }
            Fault::DatabaseLocked => Self::Lock(lock(installation)),
            Fault::QueueFull => {
                let held = lock(installation);
                let waiting = crowd(server.address, &patient.crowd);
                eventually("the queue is full", || {
                    let answer = patient.tenant.post_session(patient.request);
                    answer.status == 503
                });
                Self::Queue(held, waiting)
            }
            Fault::NoRandomness => {
                installation.machine().set_randomness(false);
                Self::Machine(installation.machine().clone())
            }
            Fault::ClockForward => Self::clock(installation, 3_600_000),
            Fault::ClockBackward => Self::clock(installation, -3_600_000),
        }
    }

    fn clock(installation: &Installation, by_ms: i64) -> Self {
        installation.machine().set_clock(by_ms);
        Self::Machine(installation.machine().clone())
    }

    pub(super) fn end(self) {
        match self {
            Self::Silence(hosts) => hosts.iter().for_each(|host| host.keep_silent(false)),
            Self::Limit { pid, before } => set_limit(pid, &before),
            Self::Disk(filler) => fs::remove_file(filler).unwrap(),
            Self::Lock(held) => held.execute_batch("ROLLBACK").unwrap(),
            Self::Queue(held, waiting) => {
                held.execute_batch("ROLLBACK").unwrap();
                drop(waiting);
            }
            Self::Machine(machine) => {
                machine.set_randomness(true);
                machine.set_clock(0);
            }
        }
    }
}

fn lock(installation: &Installation) -> Connection {
    let conn = Connection::open(installation.data_dir().join("idgate.db")).unwrap();
    conn.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    conn.execute_batch("BEGIN EXCLUSIVE").unwrap();
    conn
}

/// Wallets that fetch the requests of these sessions, from a few addresses. They never read the
/// answers.
fn crowd(address: SocketAddr, sessions: &[String]) -> Vec<Socket> {
    let fetch = |(host, id): (u8, &String)| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, host], 0)).into()).unwrap();
        socket.connect(&address.into()).unwrap();
        let fetch = Request::get(format!("/v1/oid4vp/request/{id}"));
        (&socket).write_all(&fetch.encode(address)).unwrap();
        socket
    };
    (2..6_u8).cycle().zip(sessions).map(fetch).collect()
}

fn fill(path: &Path) {
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    for size in [64 * 1024, 4096] {
        let bytes = vec![7; size];
        while file.write_all(&bytes).is_ok() {}
    }
}

fn can_mount() -> bool {
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs none /mnt";
    let tried = command.args(["--mount", "--propagation", "private", "sh", "-c", script]).output();
    tried.is_ok_and(|tried| tried.status.success())
}

fn limit(pid: u32) -> String {
    let arguments = ["--pid", &pid.to_string(), "--nofile", "--output", "SOFT", "--noheadings"];
    let output = Command::new("prlimit").args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn set_limit(pid: u32, soft: &str) {
    let arguments = ["--pid", &pid.to_string(), &format!("--nofile={soft}:")];
    assert!(Command::new("prlimit").args(arguments).status().unwrap().success());
}

fn used_numbers(pid: u32) -> Vec<u32> {
    let numbers = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}
