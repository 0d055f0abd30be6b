//! Attacks on trusted lists, and interrupted imports.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idgate_testkit::codec::base64url;
use idgate_testkit::time::numeric_date;
use serde_json::json;

use super::{Desk, Lists, import, mdl_list, production, the_signer, token};
use crate::at_rest::is_at_rest;
use crate::killed::{restore, run_killed};
use crate::mdoc_tamper::{Authority, ISSUER_ID, VERIFIED};
use crate::server::{Installation, Output, eventually};
use crate::tenant::now_ms;

/// A signer of lists with an RSA key that OpenSSL made.
struct RsaSigner {
    dir: tempfile::TempDir,
}

impl RsaSigner {
    fn new(bits: u32) -> Self {
        let signer = Self { dir: tempfile::tempdir().unwrap() };
        signer.openssl(&format!(
            "req -x509 -newkey rsa:{bits} -noenc -keyout key.pem -out cert.pem -days 400 -subj \
             /C=EU/O=Example\u{a0}Operator -addext basicConstraints=critical,CA:FALSE \
             -addext keyUsage=critical,digitalSignature -addext extendedKeyUsage=0.4.0.2231.3.0"
        ));
        signer.openssl("x509 -in cert.pem -outform DER -out cert.der");
        signer
    }

    fn openssl(&self, arguments: &str) {
        let mut command = Command::new("openssl");
        let arguments = arguments.split_ascii_whitespace().map(|one| one.replace('\u{a0}', " "));
        let output = command.args(arguments).current_dir(self.dir.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn der(&self) -> Vec<u8> {
        fs::read(self.dir.path().join("cert.der")).unwrap()
    }

    /// A list with this `alg` in its header, signed with this padding.
    fn sign(&self, alg: &str, padding: &str) -> String {
        let chain = idgate_testkit::jws::x5c(&[&self.der()]);
        // The certificate was made just before, so the list is not signed before it is valid.
        let iat = numeric_date(now_ms());
        let header = json!({ "alg": alg, "x5c": chain, "iat": iat }).to_string();
        let payload = mdl_list(7, &[]).payload.to_string();
        let input = format!("{}.{}", base64url(header.as_bytes()), base64url(payload.as_bytes()));
        fs::write(self.dir.path().join("input"), &input).unwrap();
        self.openssl(&format!("dgst -sha256 -sign key.pem {padding} -out signature input"));
        let signature = fs::read(self.dir.path().join("signature")).unwrap();
        format!("{input}.{}", base64url(&signature))
    }
}

const PSS: &str = "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32";

#[test]
fn a_list_signed_by_rsa_needs_2048_bits_and_the_padding_of_its_alg() {
    let (signer, short) = (RsaSigner::new(2048), RsaSigner::new(1024));
    let refused = |why| (3, why);
    for (signer, alg, padding, (code, why)) in [
        (&signer, "RS256", "", (0, "")),
        (&signer, "PS256", PSS, (0, "")),
        (&signer, "RS256", PSS, refused("signature")),
        (&signer, "PS256", "", refused("signature")),
        (&signer, "ES256", "", refused("has an alg that does not fit its signer's key")),
        (&short, "RS256", "", (1, "not an RSA key of 2048 to 8192 bits")),
    ] {
        let installation = Installation::new();
        let file = installation.file("list.jwt", signer.sign(alg, padding));
        let anchor = installation.file("anchor.der", signer.der());
        let [file, anchor] = [&file, &anchor].map(|path| path.to_str().unwrap());
        let add = ["trust", "add", ISSUER_ID, "--trusted-list", file, "--list-signer-ca", anchor];
        let taken = installation.run(&add);
        assert_eq!(taken.code, code, "{alg} {padding}: {taken:?}");
        assert!(taken.stderr.contains(why), "{alg} {padding}: {taken:?}");
    }
}

/// After a killed import, the new list is stored with its issuers and its number, or nothing
/// changed.
#[test]
fn an_import_killed_at_any_write_leaves_the_old_or_the_new_list() {
    let installation = Installation::in_directory();
    let authority = Authority::new(now_ms());
    let first = installation.file("first.jwt", token(&mdl_list(7, &[&authority.root.der])));
    let second = installation.file("second.jwt", token(&mdl_list(8, &[])));
    assert_eq!(import(&installation, first.to_str().unwrap(), &[]).code, 0);
    let (dir, kept) = (installation.data_dir(), installation.file("kept", ""));
    fs::remove_file(&kept).unwrap();
    restore(&dir, &kept);
    let anchor = installation.file("list-signer.der", the_signer().der);
    let (second, anchor) = (second.to_str().unwrap(), anchor.to_str().unwrap());
    let add = ["trust", "add", ISSUER_ID, "--trusted-list", second, "--list-signer-ca", anchor];
    let (mut before, mut after) = (0, 0);
    for at in 1..500 {
        restore(&kept, &dir);
        let output = run_killed(&installation, &add, at);
        if output.code == 0 {
            break;
        }
        assert_eq!(output.code, -1, "{output:?}");
        let shown = installation.run_json(&["trust", "show", ISSUER_ID, "--json"]);
        let list = &shown["trusted_list"];
        let providers = list["providers"].as_array().unwrap().len();
        let intact = installation.run(&["audit", "verify"]);
        assert_eq!(intact.code, 0, "killed at {at}: {intact:?}");
        match list["sequence"].as_u64().unwrap() {
            7 => {
                before += 1;
                assert_eq!(providers, 1);
                // The number 8 was not stored as seen.
                assert_eq!(import(&installation, first.to_str().unwrap(), &[]).code, 0);
            }
            8 => {
                after += 1;
                assert_eq!(providers, 0);
                assert_eq!(import(&installation, first.to_str().unwrap(), &[]).code, 3);
            }
            other => panic!("killed at {at}: {other}"),
        }
    }
    assert!(before > 3, "{before} {after}");
}

#[test]
fn an_expired_list_trusts_no_issuer_until_a_new_one_is_imported() {
    let installation = production().with_machine();
    let machine = installation.machine().clone();
    machine.freeze();
    let client = installation.create_client("shop", false);
    let authority = Authority::new(now_ms());
    let short = |number, ms| {
        let next = json!(idgate_testkit::mdoc::rfc3339(machine.now_ms() + ms));
        token(&mdl_list(number, &[&authority.root.der]).scheme("NextUpdate", next))
    };
    let file = installation.file("list.jwt", short(7, 4000));
    assert_eq!(import(&installation, file.to_str().unwrap(), &[]).code, 0);
    let next = short(8, 600_000);
    let mut desk = Desk::serve(installation, client, authority);
    assert_eq!(desk.outcome(), VERIFIED);
    let open = desk.tenant.create(&crate::mdoc_tamper::mdl_request());
    machine.jump(Duration::from_secs(5));
    // A new request is refused with the reason, and so is an answer to an earlier request.
    let refused = desk.tenant.post_session(&crate::mdoc_tamper::mdl_request());
    assert_eq!((refused.status, refused.error()), (400, "unknown_issuer".into()));
    assert!(String::from_utf8_lossy(&refused.body).contains("list"), "{refused:?}");
    assert_eq!(desk.answer(&open), "untrusted_issuer");
    let installation = &desk.gateway.installation;
    let checked = installation.run(&["trust", "check"]);
    assert!(checked.stdout.contains("the trusted list expired on"), "{checked:?}");
    let file = installation.file("list.jwt", next);
    assert_eq!(import(installation, file.to_str().unwrap(), &[]).code, 0);
    assert_eq!(desk.outcome(), VERIFIED);
}

/// The server sends byte by byte, for longer than a fetch may take.
#[test]
fn a_fetch_of_a_slow_list_ends_after_30_seconds() {
    let lists = Lists::start();
    let installation = lists.installation().with_machine();
    let good = token(&mdl_list(7, &[]));
    lists.give("200 OK", good.as_bytes());
    assert_eq!(import(&installation, &lists.url, &[]).code, 0);
    let (machine, asking) = (installation.machine().clone(), Arc::new(AtomicU32::new(0)));
    machine.freeze();
    let begun = machine.now_ms();
    let (clock, client) = (machine.clone(), asking.clone());
    // The clock advances by a second whenever the command waits for the next byte, until the time
    // for a fetch is over.
    let mut passed = 0;
    lists.drip(move || {
        let is_over = |pid| pid != 0 && !Path::new(&format!("/proc/{pid}/task")).exists();
        eventually("the command has read the last byte", || {
            let pid = client.load(Ordering::SeqCst);
            pid != 0 && (is_at_rest(pid) || is_over(pid))
        });
        if passed < 31 {
            clock.jump(Duration::from_secs(1));
            passed += 1;
        }
    });
    let mut refresh = installation.command(&["trust", "refresh", "--json"]);
    let mut refresh = refresh.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    asking.store(refresh.id(), Ordering::SeqCst);
    eventually("the command ends", || refresh.try_wait().unwrap().is_some());
    let took = machine.now_ms() - begun;
    let refreshed = Output::of(refresh.wait_with_output().unwrap());
    let told = &refreshed.json()["lists"][0];
    assert_eq!(
        (&told["outcome"], &told["why"]),
        (&json!("fetch_failed"), &json!("it did not answer within 30 s (timeout)"))
    );
    assert!(took >= 29_000, "{took} ms");
}
