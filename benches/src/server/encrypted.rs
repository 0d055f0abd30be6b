//! The cost of TLS in the gateway for a flow: on a persistent connection, and with a connection for each
//! flow, whose handshake resumes an earlier one or not.

use std::fs;
use std::sync::Arc;

use idgate_testkit::keys::{Curve, SigningKey, pem};
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};
use serde_json::json;
use tempfile::TempDir;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::flow::{Profile, now_ms};
use super::gateway::{self, Setup};
use super::{Driven, ROUNDS, ServerOptions};

const SERVER_AUTH: &str = "1.3.6.1.5.5.7.3.1";

/// How its clients connect.
struct Kind {
    name: &'static str,
    tls: bool,
    reconnects: bool,
    resumes: bool,
}

const KINDS: [Kind; 5] = [
    Kind { name: "plain, kept", tls: false, reconnects: false, resumes: false },
    Kind { name: "plain, one each", tls: false, reconnects: true, resumes: false },
    Kind { name: "TLS, kept", tls: true, reconnects: false, resumes: false },
    Kind { name: "TLS, one each, resumed", tls: true, reconnects: true, resumes: true },
    Kind { name: "TLS, one each, new", tls: true, reconnects: true, resumes: false },
];

/// A private authority and its certificates.
struct Site {
    root: CertificateDer<'static>,
    folder: TempDir,
}

/// Prints a line for each kind.
///
/// # Errors
/// A gateway does not start, or gives an unexpected answer.
pub(super) async fn run(options: &ServerOptions, json: bool) -> Result<(), String> {
    let site = Site::new().map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for kind in &KINDS {
        all.push(start(options, &site, kind).await?);
    }
    let share = options.flows().div_ceil(ROUNDS);
    for _ in 0..ROUNDS {
        for driven in &mut all {
            driven.round(share).await?;
        }
    }
    if !json {
        println!("{:<24} {:>12} {:>8} {:>9}", "connections", "us CPU/flow", "times", "resumed");
    }
    let mut first = None;
    for (kind, driven) in KINDS.iter().zip(all) {
        let resumed: usize = driven.clients.iter().map(super::Client::resumed).sum();
        let us = driven.finish()?.cpu_us();
        let (times, name) = (us / *first.get_or_insert(us), kind.name);
        if json {
            println!(
                "{}",
                json!({ "case": name, "cpu_us_per_flow": us, "ratio": times, "resumed": resumed })
            );
        } else {
            println!("{name:<24} {us:>12.1} {times:>8.2} {resumed:>9}");
        }
    }
    Ok(())
}

async fn start(options: &ServerOptions, site: &Site, kind: &Kind) -> Result<Driven, String> {
    let path = |name| site.folder.path().join(name).to_string_lossy().into_owned();
    let (cert, key) = (path("tls.pem"), path("tls.key"));
    let given = [("IDGATE_TLS_CERT", &*cert), ("IDGATE_TLS_KEY", &*key)];
    let setup = Setup { given: if kind.tls { &given } else { &[] }, ..Setup::DEFAULT };
    let tls = kind.tls.then(|| site.connector(kind.resumes)).transpose()?;
    let servers = vec![gateway::start_over(&setup, tls).await?];
    let mut driven = Driven::with(servers, Profile::Inline, options.connections()).await?;
    for client in driven.clients.iter_mut().filter(|_| kind.reconnects) {
        client.reconnect_each();
        if kind.tls {
            // Each client remembers its own TLS sessions.
            client.set_tls(Some(site.connector(kind.resumes)?));
        }
    }
    Ok(driven)
}

impl Site {
    fn new() -> std::io::Result<Self> {
        let folder = TempDir::new()?;
        let key = SigningKey::from_seed(Curve::P256, "tls root");
        let name = Name::new("UT", "Utopia TLS root");
        let root = CertificateBuilder::iaca_root(name, &key, now_ms()).self_sign(&key);
        let leaf = certificate(&root);
        fs::write(folder.path().join("tls.key"), leaf.key.private_pem())?;
        fs::write(folder.path().join("tls.pem"), pem("CERTIFICATE", &leaf.der))?;
        Ok(Self { root: CertificateDer::from(root.der), folder })
    }

    fn connector(&self, resumes: bool) -> Result<TlsConnector, String> {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).map_err(|error| error.to_string())?;
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        if !resumes {
            config.resumption = Resumption::disabled();
        }
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

fn certificate(root: &Identity) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, "tls leaf");
    let name = Name::new("UT", "tls leaf");
    CertificateBuilder::new(name.clone(), name, &key, now_ms(), 30)
        .set(x509::SUBJECT_ALT_NAME, false, x509::ip_names([127, 0, 0, 1]))
        .set(x509::EXT_KEY_USAGE, false, x509::ext_key_usage(&[SERVER_AUTH]))
        .under(root)
        .issue(root, &key)
}
