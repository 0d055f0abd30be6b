//! Gateways are replaced one after another behind the nginx of `compose-postgres.yml`, under load:
//! no tenant request fails, and no wallet answer is lost.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use tempfile::TempDir;

use super::nodes::Nodes;
use crate::http::Http;
use crate::server::{eventually, free_address};
use crate::tenant::{Tenant, request_for, sample_wallet};

const EXAMPLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/deploy/compose-postgres.yml");
const CLIENTS: usize = 4;
/// Sessions while a gateway is replaced.
const SESSIONS: usize = 21;

/// Twenty with `IDGATE_LONG`; each takes the drain delay behind a proxy, 5 seconds.
fn restarts() -> usize {
    if std::env::var_os("IDGATE_LONG").is_some() { 20 } else { 4 }
}

#[test]
#[ignore = "before a release: replaces gateways behind nginx"]
fn gateways_are_replaced_behind_nginx_without_a_failed_request_or_a_lost_answer() {
    let settings = [
        ("IDGATE_BASE_URL", "https://gateway.example"),
        ("IDGATE_BEHIND_TLS_PROXY", "true"),
        ("IDGATE_TRUSTED_PROXIES", "127.0.0.1"),
        ("IDGATE_RATE_LIMITS", "off"),
    ];
    let Some(mut nodes) = Nodes::start_with(2, &settings) else { return };
    let Some(nginx) = Nginx::start(&nodes.addresses()) else { return };
    nodes.wait("at first");
    let api_key = nodes.client.api_key.clone();
    let tenant = || Tenant { http: Http::new(nginx.address), api_key: api_key.clone() };
    let (stops, made) = (AtomicBool::new(false), AtomicUsize::new(0));
    let answered: Vec<String> = thread::scope(|scope| {
        // A panic below must end the load as well, or the scope would wait for it forever.
        let ends = Ends(&stops);
        let working: Vec<_> =
            (0..CLIENTS).map(|_| scope.spawn(|| work(tenant(), &stops, &made))).collect();
        for restart in 0..restarts() {
            let enough = made.load(Ordering::SeqCst) + SESSIONS;
            let node = &mut nodes.nodes[restart % 2];
            node.server.take().unwrap().stop();
            node.serve();
            nodes.wait(&format!("restart {restart}"));
            eventually("enough sessions are made", || made.load(Ordering::SeqCst) >= enough);
        }
        drop(ends);
        working.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    eprintln!("{} restarts, {} sessions", restarts(), answered.len());
    assert!(answered.len() > restarts() * 20, "too little load: {} sessions", answered.len());
    let mut tenant = tenant();
    for id in &answered {
        assert_eq!(tenant.read(id)["status"], "VERIFIED", "{}", nginx.errors());
    }
}

/// A tenant's sessions, each answered and read. Every request has to succeed the first time.
fn work(mut tenant: Tenant, stops: &AtomicBool, made: &AtomicUsize) -> Vec<String> {
    let (wallet, mut answered) = (sample_wallet(), Vec::new());
    while !stops.load(Ordering::SeqCst) {
        let created = tenant.verified(&request_for(&["given_name"]), &wallet);
        assert_eq!(tenant.read(&created.id)["claims"]["pid"]["given_name"], "Erika");
        answered.push(created.id);
        made.fetch_add(1, Ordering::SeqCst);
    }
    answered
}

/// Ends the load when it is dropped.
struct Ends<'l>(&'l AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// nginx configured like the example, but without TLS. Dropping it ends it.
struct Nginx {
    process: Child,
    folder: TempDir,
    address: SocketAddr,
}

impl Nginx {
    /// `None`: this machine has no nginx.
    fn start(upstreams: &[SocketAddr]) -> Option<Self> {
        if Command::new("nginx").arg("-v").stderr(Stdio::null()).status().is_err() {
            eprintln!("skipped: this machine has no nginx");
            return None;
        }
        let folder = TempDir::new().unwrap();
        let address = free_address();
        let file = folder.path().join("nginx.conf");
        fs::write(&file, configuration(folder.path(), address, upstreams)).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder.path()).arg("-c").arg(&file);
        let process = command.stderr(Stdio::null()).spawn().unwrap();
        let nginx = Self { process, folder, address };
        eventually("nginx listens", || TcpStream::connect(address).is_ok());
        Some(nginx)
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.folder.path().join("error.log")).unwrap_or_default()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.errors());
        }
        // Its workers end with it after a signal to stop, and not after a kill.
        let pid = self.process.id().to_string();
        let _ = Command::new("kill").arg(&pid).status();
        let _ = self.process.wait();
    }
}

/// The example's server block, at `address` and in front of `upstreams`.
fn configuration(folder: &Path, address: SocketAddr, upstreams: &[SocketAddr]) -> String {
    let example = fs::read_to_string(EXAMPLE).unwrap();
    let (_, server) = example.split_once("content: |\n").unwrap();
    let (server, _) = server.split_once("\nnetworks:").unwrap();
    let mut server = server.replace("$$", "$");
    let log = format!("access_log {}", folder.join("access.log").display());
    let mut replace = |old: &str, new: &str| {
        assert!(server.contains(old), "{old} is not in {EXAMPLE}");
        server = server.replace(old, new);
    };
    for (n, upstream) in upstreams.iter().enumerate() {
        replace(&format!("gateway-{}:8443", n + 1), &upstream.to_string());
    }
    replace("listen 443 ssl", &format!("listen {address}"));
    replace("access_log /dev/stdout", &log);
    let is_about_tls = |line: &&str| line.trim_start().starts_with("ssl_");
    let server: Vec<&str> = server.lines().filter(|line| !is_about_tls(line)).collect();
    let folder = folder.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {folder}/{name};\n"))
        .concat();
    format!(
        "daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log info;\n\
         events {{ worker_connections 512; }}\nhttp {{\n{temporary}{}\n}}\n",
        server.join("\n")
    )
}
