//! `idgate sandbox` with the real binary: its console, its issuers and what they publish, its
//! webhook receiver, its https, and its wallet command.

mod age;
mod answers;
mod authority;
mod console;
mod folder;
mod lists;
mod own;
mod phones;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::http::{Http, Request};
use crate::server::{Client, Installation, Output};
use crate::tenant::Tenant;

/// A running sandbox in a temporary folder, where its wallet command finds it. Dropping it kills
/// it.
struct Sandbox {
    child: Child,
    told: Value,
    installation: Installation,
    temporary: tempfile::TempDir,
}

/// An answer of the console.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Sandbox {
    fn start() -> Self {
        Self::with(&[])
    }

    fn with(flags: &[&str]) -> Self {
        Self::on(Installation::in_directory(), flags)
    }

    fn on(installation: Installation, flags: &[&str]) -> Self {
        let temporary = tempfile::TempDir::new().unwrap();
        let mut child = command(&installation, &temporary, flags);
        let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { child, told, installation, temporary }
    }

    fn text(&self, member: &str) -> &str {
        self.told[member].as_str().unwrap_or_else(|| panic!("no {member}: {}", self.told))
    }

    fn gateway(&self) -> SocketAddr {
        self.text("gateway_url").strip_prefix("http://").unwrap().parse().unwrap()
    }

    fn page(&self) -> SocketAddr {
        let url = self.text("page_url").strip_prefix("http://").unwrap();
        url.trim_end_matches('/').parse().unwrap()
    }

    fn tenant(&self) -> Tenant {
        Tenant { http: Http::new(self.gateway()), api_key: self.text("api_key").into() }
    }

    fn client(&self) -> Client {
        Client::of(&self.told)
    }

    /// The console's page at this path.
    fn get(&self, path: &str) -> Answer {
        let host = self.page().to_string();
        exchange(self.page(), "GET", path, &[("Host", &host)], "")
    }

    /// Presses a button on the console.
    fn press(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let host = self.page().to_string();
        let origin = format!("http://{host}");
        self.post(path, &[("Host", &host), ("Origin", &origin)], fields)
    }

    fn post(&self, path: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Answer {
        let fields = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
        let form = fields.collect::<Vec<_>>().join("&");
        exchange(self.page(), "POST", path, headers, &form)
    }

    /// `idgate sandbox offer`, which finds the sandbox by itself.
    fn offer(&self, arguments: &[&str]) -> Output {
        let mut command =
            self.installation.command(&[&["sandbox", "offer", "--json"], arguments].concat());
        output(command.env("TMPDIR", self.temporary.path()))
    }

    /// `idgate sandbox wallet`, which finds the sandbox by itself.
    fn wallet(&self, arguments: &[&str]) -> Output {
        let mut command =
            self.installation.command(&[&["sandbox", "wallet", "--json"], arguments].concat());
        output(command.env("TMPDIR", self.temporary.path()))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A sandbox on free ports.
fn command(installation: &Installation, temporary: &tempfile::TempDir, flags: &[&str]) -> Command {
    let own =
        ["sandbox", "--json", "--page-listen", "127.0.0.1:0", "--https-listen", "127.0.0.1:0"];
    let mut command = installation.command(&[&own, flags].concat());
    command.env("TMPDIR", temporary.path());
    command
}

fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn exchange(
    at: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let stream = TcpStream::connect(at).unwrap();
    talk(stream, method, path, headers, body)
}

fn talk(
    mut stream: impl Read + Write,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(head.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    // A TLS peer may close without notice.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).unwrap_or_default().parse().unwrap_or(0);
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// A tenant's request for an identity or a driving licence, of the first provider or of any on a
/// list.
fn request(format: &str, issuer_id: &str, profile: &str) -> Value {
    let claims = match format {
        "mso_mdoc" => ["family_name", "given_name"],
        _ => ["given_name", "family_name"],
    };
    let mut request = json!({
        "credentials": [{ "format": format, "issuer_id": issuer_id, "claims": claims }],
        "profile": profile,
    });
    if profile == "haip" {
        request["redirect_uri"] = "https://shop.example/done".into();
    }
    request
}

/// `VERIFIED`, or the reason.
fn outcome(session: &Value) -> String {
    let outcome = session["reason"].as_str().or(session["status"].as_str());
    outcome.unwrap_or_default().to_owned()
}

/// Any URL of a gateway, as a GET.
fn status_of(tenant: &mut Tenant, path: &str) -> u16 {
    tenant.http.send(&Request::get(path)).status
}
