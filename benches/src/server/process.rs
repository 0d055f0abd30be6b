//! The gateway's process: a throw-away installation, and what the kernel says about it.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::flow::{Connection, Profile};

/// `USER_HZ`: the unit of /proc/PID/stat on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// A running gateway with one client, which has a webhook endpoint. Dropping it kills it.
pub(super) struct Gateway {
    // Dropped after the process that works in it.
    child: Child,
    pub(super) address: SocketAddr,
    pub(super) api_key: String,
    admin_token: String,
    _folder: TempDir,
}

impl Gateway {
    pub(super) async fn start(profile: Profile) -> Result<Self, String> {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let run = |arguments: &[&OsStr]| run(folder.path(), profile, arguments);
        let words = |line: &'static str| line.split(' ').map(OsStr::new).collect::<Vec<_>>();
        let client = run(&words("client create bench --json"))?;
        let admin = run(&words("admin-token create --json"))?;
        let jwk = folder.path().join("issuer.jwk.json");
        let key = samples::issuer_key(Curve::P256).public_jwk().to_string();
        fs::write(&jwk, key).map_err(|error| error.to_string())?;
        let trust = ["trust", "add", samples::ISSUER, "--vct", samples::VCT, "--json", "--jwk"];
        let mut trust: Vec<_> = trust.iter().map(OsStr::new).collect();
        trust.push(jwk.as_os_str());
        run(&trust)?;
        let (child, address) = serve(folder.path(), profile)?;
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let gateway = Self {
            child,
            address,
            api_key: text(&client, "api_key"),
            admin_token: text(&admin, "admin_token"),
            _folder: folder,
        };
        gateway.set_webhook_endpoint().await?;
        Ok(gateway)
    }

    /// What the process has used so far, threads that ended included.
    pub(super) fn cpu(&self) -> Result<Duration, String> {
        let stat = self.proc("stat")?;
        // The name, in parentheses, may hold anything.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u32 =
            fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
        Ok(TICK * ticks)
    }

    /// Resident memory, now.
    pub(super) fn rss_kib(&self) -> Result<u64, String> {
        let status = self.proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.ok_or_else(|| "no VmRSS".to_owned())
    }

    /// Write transactions so far.
    pub(super) async fn commits(&self) -> Result<Option<f64>, String> {
        let mut connection = Connection::open(self.address).await?;
        let (_, body) = connection.send("GET", "/metrics", &self.admin_token, None).await?;
        let text = String::from_utf8_lossy(&body);
        let count =
            text.lines().find_map(|line| line.strip_prefix("idgate_db_commit_seconds_count "));
        Ok(count.and_then(|count| count.trim().parse().ok()))
    }

    /// So that each flow leaves a row in the outbox; its host is never approved.
    async fn set_webhook_endpoint(&self) -> Result<(), String> {
        let body = json!({ "url": "https://hooks.shop.example/idgate" }).to_string();
        let mut connection = Connection::open(self.address).await?;
        let body = ("application/json", body.as_bytes());
        match connection.send("PUT", "/v1/webhook-endpoint", &self.api_key, Some(body)).await? {
            (200, _) => Ok(()),
            (status, body) => Err(format!("{status} {}", String::from_utf8_lossy(&body))),
        }
    }

    fn proc(&self, file: &str) -> Result<String, String> {
        let path = format!("/proc/{}/{file}", self.child.id());
        fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end: the object that it prints.
fn run(folder: &Path, profile: Profile, arguments: &[&OsStr]) -> Result<Value, String> {
    let output = command(folder, profile)?.args(arguments).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

fn serve(folder: &Path, profile: Profile) -> Result<(Child, SocketAddr), String> {
    let child = command(folder, profile)?.arg("serve").stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    let address = line.trim().rsplit("//").next().and_then(|address| address.parse().ok());
    address.map(|address| (child, address)).ok_or_else(|| "the gateway did not start".to_owned())
}

fn command(folder: &Path, profile: Profile) -> Result<Command, String> {
    let mut command = Command::new(binary()?);
    command
        .env("IDGATE_DATA_DIR", folder.join("data"))
        .env("IDGATE_LISTEN", "127.0.0.1:0")
        .env("IDGATE_RATE_LIMITS", "off")
        .env("IDGATE_LOG", "warn")
        .env("OID4VP_REQUEST_MODE", profile.name());
    Ok(command)
}

/// `IDGATE_BIN`, else the gateway built beside this program.
fn binary() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let beside = own.with_file_name("idgate");
    let path = std::env::var_os("IDGATE_BIN").map_or(beside, PathBuf::from);
    if path.is_file() {
        return Ok(path);
    }
    Err(format!("there is no {}; cargo build --release -p idgate-server", path.display()))
}
