//! Certificates of the gateway and its clients: requested, issued by an OpenSSL CA, imported,
//! monitored.

mod expiry;
mod intended_use;
mod iso_mdoc;
mod registration;
mod signing;

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use self::registration::jwt_with as registration_with;

use idgate_testkit::codec::{HashAlg, base64url};
use serde_json::Value;

use crate::http::{Http, Request};
use crate::server::{Installation, Output};
use crate::tenant::now_ms;

const HOST: &str = "gateway.example";

/// A CA in a directory of its own.
pub(crate) struct Ca {
    dir: tempfile::TempDir,
}

impl Ca {
    pub(crate) fn new() -> Self {
        let ca = Self { dir: tempfile::TempDir::new().unwrap() };
        ca.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -keyout ca.key -out ca.pem \
             -days 400 -subj /C=UT/CN=Access",
        );
        ca
    }

    /// The certificate for this request, followed by the CA's.
    fn chain_for(&self, csr: &str, days: u32) -> PathBuf {
        self.chain(csr, days, "")
    }

    /// The same for a party with this organizationIdentifier, which may be followed by `/OU=` and a
    /// service.
    fn chain_of(&self, party: &str, csr: &str) -> PathBuf {
        self.chain(csr, 90, &format!("-subj /C=UT/CN=party/organizationIdentifier={party}"))
    }

    fn chain(&self, csr: &str, days: u32, more: &str) -> PathBuf {
        std::fs::write(self.path("csr.pem"), csr).unwrap();
        self.openssl("req -verify -noout -in csr.pem");
        self.openssl(&format!(
            "x509 -req -in csr.pem -CA ca.pem -CAkey ca.key -days {days} -copy_extensions copy \
             -out leaf.pem {more}"
        ));
        let read = |name| std::fs::read_to_string(self.path(name)).unwrap();
        let chain = self.path("chain.pem");
        std::fs::write(&chain, read("leaf.pem") + &read("ca.pem")).unwrap();
        chain
    }

    /// The DER of the CA's own certificate.
    pub(crate) fn root(&self) -> Vec<u8> {
        self.openssl("x509 -in ca.pem -outform DER -out ca.der");
        std::fs::read(self.path("ca.der")).unwrap()
    }

    /// The DER of the latest certificate.
    fn leaf(&self) -> Vec<u8> {
        self.openssl("x509 -in leaf.pem -outform DER -out leaf.der");
        std::fs::read(self.path("leaf.der")).unwrap()
    }

    /// `x509_hash` of that certificate.
    fn hash(&self) -> String {
        base64url(&HashAlg::Sha256.hash(&self.leaf()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    #[track_caller]
    fn openssl(&self, arguments: &str) -> String {
        let mut command = Command::new("openssl");
        command.args(arguments.split_ascii_whitespace()).current_dir(self.dir.path());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "openssl {arguments}: {text}");
        String::from_utf8_lossy(&output.stdout).into_owned() + &text
    }
}

fn installation() -> Installation {
    let installation = Installation::new().with("IDGATE_BASE_URL", &format!("https://{HOST}"));
    installation.create_client("shop", false);
    installation
}

fn csr(installation: &Installation, rest: &[&str]) -> Value {
    installation.run_json(&[&["keys", "csr", "--json"], rest].concat())
}

fn import(installation: &Installation, chain: &Path, rest: &[&str]) -> Value {
    let import = ["keys", "certificate", chain.to_str().unwrap(), "--json"];
    installation.run_json(&[&import, rest].concat())
}

/// Requests a certificate and puts it in force for this many days.
pub(crate) fn certify(installation: &Installation, ca: &Ca, days: u32, rest: &[&str]) -> Value {
    let csr = csr(installation, rest);
    import(installation, &ca.chain_for(csr["csr"].as_str().unwrap(), days), rest)
}

/// The same for a party with this organizationIdentifier. Returns the command's output.
pub(crate) fn certify_party(
    installation: &Installation,
    ca: &Ca,
    party: &str,
    rest: &[&str],
) -> Output {
    let csr = csr(installation, rest);
    let chain = ca.chain_of(party, csr["csr"].as_str().unwrap());
    let output =
        installation.run(&[&["keys", "certificate", chain.to_str().unwrap()], rest].concat());
    assert_eq!(output.code, 0, "{output:?}");
    output
}

#[test]
fn a_certificate_made_by_openssl_is_put_in_force() {
    let (installation, ca) = (installation(), Ca::new());
    let plain = installation.run(&["keys", "csr"]);
    assert_eq!(plain.code, 0, "{plain:?}");
    let asked = csr(&installation, &[]);
    assert!(plain.stdout.starts_with("-----BEGIN CERTIFICATE REQUEST-----\n"), "{plain:?}");
    let waits = installation.run_json(&["keys", "list", "--json"]);
    assert_eq!(waits["requested"][0]["key_id"], asked["key_id"], "asked for twice, made once");
    assert_eq!(waits["requested"].as_array().unwrap().len(), 1);
    let taken = import(&installation, &ca.chain_for(&plain.stdout, 90), &[]);
    assert_eq!(taken["dropped_root"], true);
    let row = &taken["certificate"];
    assert_eq!(row["x509_hash"], ca.hash());
    assert_eq!((&row["key_id"], &row["client_id"]), (&asked["key_id"], &Value::Null));
    assert_eq!((&row["subject"], &row["chain_length"]), (&"CN=gateway.example".into(), &1.into()));
    assert_eq!((&row["dns_names"][0], &row["in_force"]), (&HOST.into(), &true.into()));
    let listed = installation.run_json(&["keys", "list", "--json"]);
    assert_eq!((&listed["certificates"][0], &listed["requested"]), (row, &Value::Array(vec![])));
    let shown = installation.run(&["keys", "list"]).stdout;
    assert!(shown.contains(&ca.hash()) && shown.contains("in force until"), "{shown}");
}

#[test]
fn a_renewed_certificate_has_a_new_key_and_replaces_the_old_one() {
    let (installation, ca) = (installation(), Ca::new());
    let first = certify(&installation, &ca, 90, &[])["certificate"].clone();
    let chain = std::fs::read(ca.path("chain.pem")).unwrap();
    let second = certify(&installation, &ca, 90, &[])["certificate"].clone();
    assert_ne!(first["key_id"], second["key_id"]);
    assert_ne!(first["x509_hash"], second["x509_hash"]);
    let listed = installation.run_json(&["keys", "list", "--json"])["certificates"].clone();
    assert_eq!((&listed[0], &listed[1]["in_force"]), (&second, &false.into()));
    assert_eq!(listed[1]["x509_hash"], first["x509_hash"]);
    assert!(listed[1]["replaced_at"].is_string());
    // An operator who imported the wrong one can restore the old one.
    let again = import(&installation, &installation.file("again.pem", chain), &[]);
    assert_eq!(again["certificate"]["x509_hash"], first["x509_hash"]);
    let listed = installation.run_json(&["keys", "list", "--json"])["certificates"].clone();
    assert_eq!((&listed[0]["in_force"], &listed[1]["in_force"]), (&true.into(), &false.into()));
}

#[test]
fn a_client_has_a_key_and_a_certificate_of_its_own() {
    let (installation, ca) = (installation(), Ca::new());
    let id = installation.create_client("Ütopia bank", false).client_id;
    let of_client = ["--client", &*id];
    certify(&installation, &ca, 90, &[]);
    let own = certify(&installation, &ca, 90, &of_client)["certificate"].clone();
    let text = |member: &str| own[member].as_str().unwrap();
    assert_eq!((text("client_id"), text("subject")), (&*id, "CN=Ütopia bank"));
    let listed = installation.run_json(&["keys", "list", "--client", &id, "--json"]);
    assert_eq!(listed["certificates"].as_array().unwrap().len(), 1);
    assert_eq!(listed["certificates"][0], own);
    let all = installation.run_json(&["keys", "list", "--json"])["certificates"].clone();
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!((&all[0]["in_force"], &all[1]["in_force"]), (&true.into(), &true.into()));
    // The client's certificate is not the gateway's.
    let chain = ca.path("chain.pem");
    let refused = installation.run(&["keys", "certificate", chain.to_str().unwrap()]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("not for any of the signing keys"), "{refused:?}");
}

#[test]
fn an_unusable_certificate_is_rejected_and_changes_nothing() {
    let (installation, ca) = (installation(), Ca::new());
    let chain = ca.chain_for(csr(&installation, &[])["csr"].as_str().unwrap(), 90);
    let chain = chain.to_str().unwrap();
    let nothing = installation.file("nothing.pem", "no certificate\n");
    let large = installation.file("large.pem", vec![b'-'; (1 << 20) + 1]);
    let nobody = "cli_0000000000000000000000";
    for (arguments, code, says) in [
        (&["keys", "certificate", "no-such-file"][..], 1, "cannot be read"),
        (&["keys", "certificate", nothing.to_str().unwrap()], 1, "neither PEM nor DER"),
        (
            &["keys", "certificate", ca.path("ca.pem").to_str().unwrap()],
            1,
            "not for any of the signing keys",
        ),
        (&["keys", "certificate", large.to_str().unwrap()], 1, "larger than 1 MiB"),
        (&["keys", "certificate", chain, "--client", nobody], 4, nobody),
        (&["keys", "csr", "--client", nobody], 4, nobody),
        (&["keys", "list", "--client", nobody], 4, nobody),
    ] {
        let output = installation.run(arguments);
        assert_eq!(output.code, code, "{arguments:?}: {output:?}");
        assert!(output.stderr.contains(says), "{arguments:?}: {output:?}");
    }
    let listed = installation.run_json(&["keys", "list", "--json"]);
    assert_eq!(listed["certificates"], Value::Array(vec![]));
    let elsewhere = Installation::new()
        .with("IDGATE_BASE_URL", "https://other.example")
        .with("IDGATE_CLIENT_ID", "x509_san_dns");
    elsewhere.create_client("shop", false);
    std::fs::remove_dir_all(elsewhere.data_dir()).unwrap();
    std::fs::rename(installation.data_dir(), elsewhere.data_dir()).unwrap();
    let refused = elsewhere.run(&["keys", "certificate", chain]);
    assert!(
        refused.code == 1 && refused.stderr.contains("no dNSName other.example"),
        "{refused:?}"
    );
}

#[test]
fn doctor_and_metrics_ignore_certificates_of_revoked_clients() {
    let (installation, ca) = (Installation::new(), Ca::new());
    let id = installation.create_client("shop", false).client_id;
    certify(&installation, &ca, 20, &["--client", &id]);
    csr(&installation, &["--client", &id]);
    let told = || {
        let doctor = installation.run_json(&["doctor", "--json"]);
        let checks = doctor["checks"].as_array().unwrap().iter();
        checks.filter(|check| check["check"] == "certificates").count()
    };
    assert_eq!(told(), 1);
    let revoked = installation.run(&["client", "revoke", &id]);
    assert_eq!(revoked.code, 0, "{revoked:?}");
    assert_eq!(told(), 0);
    let listed = installation.run_json(&["keys", "list", "--json"]);
    assert_eq!(listed["certificates"][0]["in_force"], false);
    assert_eq!(listed["requested"], Value::Array(vec![]));
    let server = installation.serve();
    assert!(!metrics(&installation, server.address).contains("{of=\"client\"}"));
}

fn metrics(installation: &Installation, address: std::net::SocketAddr) -> String {
    let token = installation.run_json(&["admin-token", "create", "--json"]);
    let request = Request::get("/metrics").bearer(token["admin_token"].as_str().unwrap());
    String::from_utf8(Http::new(address).send(&request).expect_status(200).body).unwrap()
}

#[test]
fn importing_x509_san_dns_without_a_host_warns() {
    let installation = Installation::new().with("IDGATE_CLIENT_ID", "x509_san_dns");
    installation.create_client("shop", false);
    let output = certify_party(&installation, &Ca::new(), "VATUT-1", &[]);
    assert!(output.stderr.contains("IDGATE_BASE_URL"), "{output:?}");
}

#[test]
fn an_expiring_certificate_is_announced_in_time() {
    let (installation, ca) = (Installation::new(), Ca::new());
    installation.create_client("shop", false);
    certify(&installation, &ca, 20, &[]);
    let doctor = installation.run_json(&["doctor", "--json"]);
    let checks = doctor["checks"].as_array().unwrap();
    let found: Vec<&Value> =
        checks.iter().filter(|check| check["check"] == "certificates").collect();
    assert_eq!((found.len(), &found[0]["status"]), (1, &"warning".into()), "{doctor}");
    let server = installation.serve();
    let body = metrics(&installation, server.address);
    let name = "idgate_certificate_expiry_seconds{of=\"gateway\"} ";
    let seconds = body.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let seconds: i64 = seconds.parse().unwrap();
    assert!((19 * 86_400..=20 * 86_400).contains(&seconds), "{seconds} at {}", now_ms());
    assert!(!body.contains("{of=\"client\"}"), "no client has one");
    let log = installation.log();
    assert!(log.contains("a certificate expires soon"), "{log}");
}
