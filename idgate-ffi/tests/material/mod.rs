//! The input of the C programs: trust, a stored session, a wallet's answer to it. One folder for each case.

#![allow(dead_code, reason = "each test uses a part of it")]

#[allow(clippy::indexing_slicing)]
mod iso_mdoc;
#[allow(clippy::indexing_slicing)]
mod offers;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{Es256Key, SoftwareSigner};
use idgate_core::shell::discovery::{PublishedKey, did_document_json, did_web, key_id};
use idgate_core::shell::{Jwk, TrustEntry, TrustSnapshot, TrustedKey, roots_from_file};
use idgate_core::{
    Asked, Entropy, EntropyUnavailable, IssuerId, NewSession, Request, TenantId, Trust, UnixMillis,
    Verifier,
};
use idgate_testkit::keys::Curve;
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::samples::{self, ISSUER, MDL_ISSUER};
use idgate_testkit::status::{StatusJwt, StatusList, status_claim};
use idgate_testkit::time::{SAMPLE_NOW_MS, numeric_date};
use idgate_testkit::wallet::{KbJwt, Presentation, Transcript, Wallet, present};
use serde_json::{Value, json};

const BASE_URL: &str = "https://gateway.example";
const STATUS_URI: &str = "https://status.example/1";

/// Writes every case below a folder of that name, and returns the folder.
pub(crate) fn write(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("material-{name}"));
    sd_jwt(&root.join("sd_jwt"), false);
    sd_jwt(&root.join("status"), true);
    mdoc(&root.join("mdoc"));
    jar(&root.join("jar"));
    offers::write(&root.join("offers"));
    iso_mdoc::write(&root.join("iso_mdoc"));
    root
}

/// The nonce of the files that [`presentation`] writes.
pub(crate) const NONCE: &str = "the nonce";

/// Writes a presentation made now and the key of its issuer, for the example. Returns the folder.
#[allow(clippy::disallowed_methods, reason = "the example reads the clock of the system")]
pub(crate) fn presentation(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("material-{name}"));
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = u64::try_from(since.as_millis()).unwrap();
    let sample = samples::issue_sample(now);
    let shown = Presentation::disclosing(&sample.credential, &["given_name".to_owned()]);
    let request = AuthorizationRequest {
        client_id: "redirect_uri:https://shop.example/answer".into(),
        nonce: NONCE.into(),
        ..AuthorizationRequest::default()
    };
    let proof = KbJwt::new(&sample.holder_key, &shown, &request, now).sign();
    write_file(&dir, "key.json", sample.issuer_key.public_jwk().to_string().as_bytes());
    write_file(&dir, "presentation", format!("{}\n", present(&shown, Some(&proof))).as_bytes());
    dir
}

/// A stored session in the jar profile, and an encrypted answer with both formats, the mdoc proved
/// with a MAC.
fn jar(dir: &Path) {
    let now = UnixMillis(SAMPLE_NOW_MS);
    let (issuer, holder) = (samples::issuer_key(Curve::P256), samples::holder_key(Curve::P256));
    let mdl = samples::issue_mdl(SAMPLE_NOW_MS);
    let credential = samples::identity(&holder, SAMPLE_NOW_MS).issue(&issuer);
    let wallet = Wallet::new(holder).with(credential).with_mdoc(mdl.document);
    let mut pid = TrustEntry::new(IssuerId::new(ISSUER));
    let jwk = Jwk::parse(issuer.public_jwk().to_string().as_bytes()).unwrap();
    pid.keys.push(TrustedKey::new(jwk.key));
    let mut dmv = TrustEntry::new(IssuerId::new(MDL_ISSUER));
    dmv.roots = roots_from_file(&PROVIDER, &mdl.root.der).unwrap();
    let trust = Arc::new(TrustSnapshot::new(1, [pid, dmv]));
    let request = json!({ "credentials": [
        { "id": "pid", "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"] },
        { "id": "mdl", "format": "mso_mdoc", "issuer_id": MDL_ISSUER, "claims": ["family_name"] },
    ]});
    let body = request.to_string();
    let asked = Request::from_json(body.as_bytes()).unwrap();
    let key = Es256Key::from_scalar(&[7; 32]).unwrap();
    let did = did_web(BASE_URL).unwrap();
    let id = key_id(&PROVIDER, &did, key.public_key());
    let document = did_document_json(&did, &[PublishedKey::new(&*id, *key.public_key())]);
    let signer = Arc::new(SoftwareSigner::new(key, id));
    let verifier = Verifier::builder(Trust::of_snapshot(PROVIDER, trust))
        .profiles([idgate_core::Profile::Draft])
        .signed(BASE_URL, signer)
        .build()
        .unwrap();
    let new = NewSession::test().tenant(TenantId::new("cli_1"));
    let session = verifier.create_session(&asked, new, &mut Ones, now).unwrap().session;
    let link = JarLink::parse(&session.invitation().qr_code_url).unwrap();
    let jwt =
        verifier.request_object(&session, &Asked::get(session.id().as_str()), now).unwrap().jwt;
    let document = serde_json::from_str(&document).unwrap();
    let asked = JarRequest::verify(&link, jwt.as_str(), &document, SAMPLE_NOW_MS).unwrap();
    let answer = wallet.answer_jar(&asked, Transcript::Iso180137, true, SAMPLE_NOW_MS).unwrap();
    let form = answer.form_body();
    write_file(dir, "key.json", issuer.public_jwk().to_string().as_bytes());
    write_file(dir, "root.der", &mdl.root.der);
    write_file(dir, "request.json", body.as_bytes());
    write_file(dir, "session", &session.to_bytes());
    write_file(dir, "content_type", form.content_type.as_bytes());
    write_file(dir, "body", &form.bytes);
}

fn sd_jwt(dir: &Path, with_status: bool) {
    let (issuer, holder) = (samples::issuer_key(Curve::P256), samples::holder_key(Curve::P256));
    let mut credential = samples::identity(&holder, SAMPLE_NOW_MS);
    if with_status {
        credential = credential.plain("status", status_claim(3, STATUS_URI));
        let list = StatusList::new(1, 8);
        let token = StatusJwt::new(&list, STATUS_URI, numeric_date(SAMPLE_NOW_MS)).sign(&issuer);
        write_file(dir, "list.jwt", token.as_bytes());
    }
    let wallet = Wallet::new(holder).with(credential.issue(&issuer));
    write_file(dir, "key.json", issuer.public_jwk().to_string().as_bytes());
    let mut entry = TrustEntry::new(IssuerId::new(ISSUER));
    let jwk = Jwk::parse(issuer.public_jwk().to_string().as_bytes()).unwrap();
    entry.keys.push(TrustedKey::new(jwk.key));
    let request = json!({ "credentials": [
        { "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"] },
    ]});
    session(dir, entry, &request, &wallet);
}

fn mdoc(dir: &Path) {
    let (entry, wallet, request) = licence(dir);
    session(dir, entry, &request, &wallet);
}

/// The issuer of a driving licence, whose root is written to a file, a wallet that holds one, and the
/// verifier.
fn licence(dir: &Path) -> (TrustEntry, Wallet, Value) {
    let sample = samples::issue_mdl(SAMPLE_NOW_MS);
    let device = sample.document.device_key.clone();
    let wallet = Wallet::new(device).with_mdoc(sample.document);
    write_file(dir, "root.der", &sample.root.der);
    let mut entry = TrustEntry::new(IssuerId::new(MDL_ISSUER));
    entry.roots = roots_from_file(&PROVIDER, &sample.root.der).unwrap();
    let request = json!({ "credentials": [
        { "format": "mso_mdoc", "issuer_id": MDL_ISSUER, "claims": ["family_name"] },
    ]});
    (entry, wallet, request)
}

/// A stored session that asks for this, and the wallet's answer.
fn session(dir: &Path, entry: TrustEntry, request: &Value, wallet: &Wallet) {
    let now = UnixMillis(SAMPLE_NOW_MS);
    let trust = Arc::new(TrustSnapshot::new(1, [entry]));
    let body = request.to_string();
    let asked = Request::from_json(body.as_bytes()).unwrap();
    let builder = Verifier::builder(Trust::of_snapshot(PROVIDER, trust))
        .profiles([idgate_core::Profile::Draft])
        .unsigned(BASE_URL);
    let verifier = builder.build().unwrap();
    let new = NewSession::test().tenant(TenantId::new("cli_1"));
    let session = verifier.create_session(&asked, new, &mut Ones, now).unwrap().session;
    let answer = wallet.answer_uri(&session.invitation().qr_code_url, SAMPLE_NOW_MS).unwrap();
    let form = answer.form_body();
    write_file(dir, "request.json", body.as_bytes());
    write_file(dir, "session", &session.to_bytes());
    write_file(dir, "content_type", form.content_type.as_bytes());
    write_file(dir, "body", &form.bytes);
}

fn write_file(dir: &Path, name: &str, bytes: &[u8]) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(name), bytes).unwrap();
}

struct Ones;

impl Entropy for Ones {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        out.fill(1);
        Ok(())
    }
}
