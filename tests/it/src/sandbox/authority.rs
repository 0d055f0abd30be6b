//! The CA that phones install: other programs accept it, and its key is limited.

use std::sync::Arc;

use idgate_testkit::keys::{Curve, SigningKey, pem};
use idgate_testkit::x509::{
    BASIC_CONSTRAINTS, CertificateBuilder, KEY_USAGE, Name, SUBJECT_ALT_NAME, basic_constraints,
    dns_names, ip_names, key_usage,
};
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use super::*;
use crate::tenant::now_ms;

fn openssl(arguments: &[&str]) -> Output {
    output(Command::new("openssl").args(arguments).stdin(Stdio::null()))
}

#[test]
fn openssl_and_curl_accept_https_with_the_printed_ca() {
    let sandbox = Sandbox::with(&["--lan=127.0.0.2", "--name", "laptop.example"]);
    let installed = |path: &str, name: &str| {
        let file = sandbox.installation.file(name, sandbox.get(path).body);
        file.to_str().unwrap().to_owned()
    };
    let own = installed("/files/ca.pem", "ca.pem");
    let for_phones = installed("/files/phone-ca.pem", "phone-ca.pem");
    let (_, port) = sandbox.text("https_url").rsplit_once(':').unwrap();
    for (file, at, name) in [
        (&own, "127.0.0.1", "-verify_hostname=localhost"),
        (&own, "127.0.0.1", "-verify_ip=127.0.0.1"),
        (&for_phones, "127.0.0.2", "-verify_ip=127.0.0.2"),
        (&for_phones, "127.0.0.2", "-verify_hostname=laptop.example"),
    ] {
        let (option, name) = name.split_once('=').unwrap();
        let to = format!("{at}:{port}");
        let strict = ["-CAfile", file, "-no-CApath", "-x509_strict", "-verify_return_error"];
        let said = openssl(&[&["s_client", "-connect", &to, option, name], &strict[..]].concat());
        assert_eq!(said.code, 0, "{option} {name}: {said:?}");
        assert!(said.stdout.contains("Verify return code: 0 (ok)"), "{said:?}");
    }
    let to = format!("laptop.example:{port}:127.0.0.2:{port}");
    for (file, url) in [
        (&own, format!("https://localhost:{port}")),
        (&for_phones, format!("https://laptop.example:{port}")),
    ] {
        let url = format!("{url}/lists/pid.jwt");
        let curl = ["-sSf", "--cacert", file, "--connect-to", &to, "--noproxy", "*", &url];
        let said = output(Command::new("curl").args(curl));
        assert_eq!(said.code, 0, "{url}: {said:?}");
    }
    let days = |count: u64| (count * 24 * 60 * 60).to_string();
    for (file, told) in [(&own, "ca_sha256"), (&for_phones, "phone_ca_sha256")] {
        let said = openssl(&["x509", "-in", file, "-noout", "-fingerprint", "-sha256"]);
        let fingerprint = said.stdout.trim().rsplit_once('=').unwrap().1;
        assert_eq!(sandbox.text(told), fingerprint);
        let text = openssl(&["x509", "-in", file, "-noout", "-text"]).stdout;
        for part in ["X509v3 Name Constraints: critical", "CA:TRUE, pathlen:0", "TLS Web Server"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        let ends = openssl(&["x509", "-in", file, "-noout", "-checkend", &days(30)]).code;
        assert_eq!(ends, 1, "it is over in 30 days: {text}");
    }
    let text = openssl(&["x509", "-in", &for_phones, "-noout", "-text"]).stdout;
    let (_, permitted) = text.split_once("Permitted:").unwrap();
    let permitted = permitted.split("X509v3").next().unwrap();
    let permitted: Vec<&str> = permitted.split_whitespace().collect();
    assert_eq!(permitted, ["DNS:laptop.example", "IP:127.0.0.2/255.255.255.255"], "exactly these");
}

/// The folder contains the key. TLS clients reject certificates that it signs for any other address
/// or name.
#[test]
fn the_phone_cas_key_cannot_sign_for_other_names_or_addresses() {
    let parent = tempfile::TempDir::new().unwrap();
    let folder = parent.path().join("sandbox");
    let flags = ["--data-dir", folder.to_str().unwrap(), "--name", "laptop.example"];
    let sandbox = Sandbox::with(&[&flags[..], &["--lan=127.0.0.2"]].concat());
    let kept = std::fs::read(folder.join("sandbox.json")).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    let seed = format!("{} https for phones", kept["seed"].as_str().unwrap());
    let ca_key = SigningKey::from_seed(Curve::P256, seed);
    let ca_name = Name::new("UT", "idgate sandbox CA for phones (TEST)");
    let ca_pem = sandbox.get("/files/phone-ca.pem").body;
    let ca_file = sandbox.installation.file("ca.pem", &ca_pem);
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = verifier.build().unwrap();
    let key = SigningKey::generate(Curve::P256).unwrap();
    let leaf = |issuer: &Name, signer: &SigningKey, names: Vec<u8>| {
        CertificateBuilder::new(issuer.clone(), Name::new("UT", "a leaf"), &key, now_ms(), 30)
            .set(KEY_USAGE, true, key_usage(0b1000_0000))
            .set(SUBJECT_ALT_NAME, false, names)
            .sign(signer)
    };
    // The verdicts of rustls and OpenSSL.
    let accepted = |leaf: &[u8], between: Option<&[u8]>, name: &str| {
        let der: Vec<_> = between.iter().map(|der| CertificateDer::from(der.to_vec())).collect();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let end = CertificateDer::from(leaf.to_vec());
        let by_rustls =
            verifier.verify_server_cert(&end, &der, &name, &[], UnixTime::now()).is_ok();
        let leaf = sandbox.installation.file("leaf.pem", pem("CERTIFICATE", leaf));
        let between = pem("CERTIFICATE", between.unwrap_or_default());
        let between = sandbox.installation.file("between.pem", between);
        let mut arguments = vec!["verify", "-CAfile", ca_file.to_str().unwrap(), "-no-CApath"];
        if !der.is_empty() {
            arguments.extend(["-untrusted", between.to_str().unwrap()]);
        }
        arguments.push(leaf.to_str().unwrap());
        [by_rustls, openssl(&arguments).code == 0]
    };
    for (name, good) in [
        ("laptop.example", true),
        ("localhost", false),
        ("laptop.local", false),
        ("shop.example", false),
        ("example", false),
        ("laptop.example.net", false),
        ("accounts.google.com", false),
    ] {
        let leaf = leaf(&ca_name, &ca_key, dns_names(&[name]));
        assert_eq!(accepted(&leaf, None, name), [good; 2], "{name}");
    }
    for (address, good) in [
        ([127, 0, 0, 2], true),
        ([127, 0, 0, 1], false),
        ([10, 1, 2, 3], false),
        ([192, 168, 7, 7], false),
        ([169, 254, 1, 1], false),
        ([203, 0, 113, 7], false),
        ([8, 8, 8, 8], false),
    ] {
        let leaf = leaf(&ca_name, &ca_key, ip_names(address));
        let name = std::net::Ipv4Addr::from(address).to_string();
        assert_eq!(accepted(&leaf, None, &name), [good; 2], "{name}");
    }
    // Nor by a CA below it.
    let between = Name::new("UT", "between");
    let below = CertificateBuilder::new(ca_name.clone(), between.clone(), &key, now_ms(), 30)
        .set(BASIC_CONSTRAINTS, true, basic_constraints(true, None))
        .set(KEY_USAGE, true, key_usage(0b0000_0110))
        .sign(&ca_key);
    let other = leaf(&between, &key, dns_names(&["shop.example"]));
    assert_eq!(accepted(&other, Some(&below), "shop.example"), [false; 2]);
    let own = leaf(&between, &key, dns_names(&["laptop.example"]));
    let [_, by_openssl] = accepted(&own, Some(&below), "laptop.example");
    // For a root, rustls checks the names but not the path length.
    assert!(!by_openssl);
}
