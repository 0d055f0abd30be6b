//! The gateway's process: a throw-away installation with one client.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_rustls::TlsConnector;

use super::process::{Server, this_program};

/// Gateways that share the database at `url`, which has no schema yet. This number of clients use them in turn,
/// each with a webhook endpoint.
pub(super) async fn start_shared(
    url: &str,
    nodes: usize,
    tenants: usize,
) -> Result<Vec<Server>, String> {
    let shared = sharing(url);
    let folder = TempDir::new().map_err(|error| error.to_string())?;
    migrate(folder.path(), url)?;
    let first = install(&Setup { given: &shared, tenants, ..Setup::DEFAULT })?;
    set_webhook_endpoint(&first).await?;
    let keys: Vec<_> = first.keys().map(str::to_owned).collect();
    let mut servers = vec![first];
    for key in keys.into_iter().cycle().take(nodes).skip(1) {
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let mut serve = command(folder.path(), "inline", &shared)?;
        serve.arg("serve");
        let mut server = Server::spawn(serve, folder)?;
        server.api_key = key;
        if let Some(first) = servers.first() {
            server.admin_token.clone_from(&first.admin_token);
        }
        servers.push(server);
    }
    Ok(servers)
}

/// Gives the database at `url` its schema.
pub(super) fn migrate(folder: &Path, url: &str) -> Result<(), String> {
    run_with(folder, "inline", &sharing(url), &["migrate", "--json"].map(OsStr::new)).map(drop)
}

fn sharing(url: &str) -> [(&'static str, &str); 2] {
    let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    [("IDGATE_DATABASE_URL", url), ("IDGATE_INSTANCE_KEY", key)]
}

/// Installs and runs it. Its client has a webhook endpoint.
pub(super) async fn start(mode: &str) -> Result<Server, String> {
    start_with(mode, &[]).await
}

/// The same with these settings.
pub(super) async fn start_with(mode: &str, given: Given<'_>) -> Result<Server, String> {
    start_as(&Setup { mode, given, ..Setup::DEFAULT }).await
}

/// The same with this setup.
pub(super) async fn start_as(setup: &Setup<'_>) -> Result<Server, String> {
    start_over(setup, None).await
}

/// The same, with connections over TLS by this connector.
pub(super) async fn start_over(
    setup: &Setup<'_>,
    tls: Option<TlsConnector>,
) -> Result<Server, String> {
    let mut server = install(setup)?;
    server.tls = tls;
    set_webhook_endpoint(&server).await?;
    Ok(server)
}

/// The same in the inline profile with rate limits on.
pub(super) async fn start_limited() -> Result<Server, String> {
    start_as(&Setup { limits: "on", ..Setup::DEFAULT }).await
}

/// Settings by their variables.
pub(super) type Given<'s> = &'s [(&'s str, &'s str)];

/// The properties of an installation.
pub(super) struct Setup<'s> {
    pub(super) mode: &'s str,
    /// `IDGATE_RATE_LIMITS`
    pub(super) limits: &'s str,
    pub(super) given: Given<'s>,
    /// Roots for SD-JWT VCs (PEM), in addition to the issuer's key.
    pub(super) roots: &'s str,
    pub(super) tenants: usize,
}

impl Setup<'_> {
    pub(super) const DEFAULT: Self =
        Self { mode: "inline", limits: "off", given: &[], roots: "", tenants: 1 };
}

fn install(setup: &Setup<'_>) -> Result<Server, String> {
    let Setup { mode, limits, given, roots, tenants } = *setup;
    let folder = TempDir::new().map_err(|error| error.to_string())?;
    let run = |arguments: &[&OsStr]| run_with(folder.path(), mode, given, arguments);
    let words = |line: &'static str| line.split(' ').map(OsStr::new).collect::<Vec<_>>();
    let client = run(&words("client create bench --json"))?;
    let other = run(&words("client create other --json"))?;
    let admin = run(&words("admin-token create --json"))?;
    let jwk = folder.path().join("issuer.jwk.json");
    let key = samples::issuer_key(Curve::P256).public_jwk().to_string();
    fs::write(&jwk, key).map_err(|error| error.to_string())?;
    let trust = ["trust", "add", samples::ISSUER, "--vct", samples::VCT, "--json", "--jwk"];
    let mut trust: Vec<_> = trust.iter().map(OsStr::new).collect();
    trust.push(jwk.as_os_str());
    let pem = folder.path().join("roots.pem");
    if !roots.is_empty() {
        fs::write(&pem, roots).map_err(|error| error.to_string())?;
        trust.extend([OsStr::new("--sd-jwt-root"), pem.as_os_str()]);
    }
    run(&trust)?;
    let more = (1..tenants)
        .map(|n| run(&["client", "create", &format!("t{n}"), "--json"].map(OsStr::new)));
    let more = more.collect::<Result<Vec<_>, _>>()?;
    let mut serve = command(folder.path(), mode, given)?;
    serve.arg("serve").env("IDGATE_RATE_LIMITS", limits);
    let mut server = Server::spawn(serve, folder)?;
    let text = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    server.api_key = text(&client, "api_key");
    server.admin_token = text(&admin, "admin_token");
    server.other_key = text(&other, "api_key");
    server.more_keys = more.iter().map(|client| text(client, "api_key")).collect();
    Ok(server)
}

/// Makes each flow leave a row in the outbox: its host is never approved.
async fn set_webhook_endpoint(server: &Server) -> Result<(), String> {
    let body = json!({ "url": "https://hooks.shop.example/idgate" }).to_string();
    let mut connection = server.connect().await?;
    for key in server.keys() {
        let body = Some(("application/json", body.as_bytes()));
        match connection.send("PUT", "/v1/webhook-endpoint", key, body).await? {
            (200, _) => {}
            (status, body) => return Err(format!("{status} {}", String::from_utf8_lossy(&body))),
        }
    }
    Ok(())
}

/// Runs a command and returns the object that it prints.
fn run_with(
    folder: &Path,
    mode: &str,
    given: Given<'_>,
    arguments: &[&OsStr],
) -> Result<Value, String> {
    let output = command(folder, mode, given)?.args(arguments).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

fn command(folder: &Path, mode: &str, given: Given<'_>) -> Result<Command, String> {
    let mut command = Command::new(binary()?);
    command
        .env("IDGATE_DATA_DIR", folder.join("data"))
        .env("IDGATE_LISTEN", "127.0.0.1:0")
        .env("IDGATE_RATE_LIMITS", "off")
        .env("IDGATE_LOG", "warn")
        .env_remove("IDGATE_BIN")
        .env("OID4VP_REQUEST_MODE", mode)
        .envs(given.iter().copied());
    Ok(command)
}

/// `IDGATE_BIN`, or the gateway in the folder of this program.
fn binary() -> Result<PathBuf, String> {
    let beside = this_program()?.with_file_name("idgate");
    let path = std::env::var_os("IDGATE_BIN").map_or(beside, PathBuf::from);
    if path.is_file() {
        return Ok(path);
    }
    Err(format!("there is no {}; cargo build --release", path.display()))
}
