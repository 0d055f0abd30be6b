//! SD-JWT VCs signed under a certificate, with the real binary: results, CRLs, status lists, and
//! `idgate verify`.

mod revocation;

use idgate_testkit::codec::HashAlg;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples;
use idgate_testkit::wallet::{KbJwt, Presentation, Wallet, present};
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};
use serde_json::{Value, json};

use crate::server::{Installation, Output};
use crate::tamper::scenario::Trust;
use crate::tenant::{Gateway, Tenant, form, now_ms, request_for, sample_trust};

/// A gateway that trusts a root for SD-JWT VCs, a tenant, and the issuer below that root.
struct Desk {
    gateway: Gateway,
    tenant: Tenant,
    root: Identity,
    signer: CertificateBuilder,
}

impl Desk {
    fn start_on(installation: Installation) -> Self {
        let root = Identity::issuer_root(Curve::P256, now_ms());
        let signer = root.issuer_of_sd_jwts(&issuer_key(), now_ms()).builder;
        let gateway = Gateway::trusting(installation, &trust(&root));
        let tenant = gateway.tenant();
        Self { gateway, tenant, root, signer }
    }

    fn start() -> Self {
        Self::start_on(Installation::new())
    }

    /// The sample credential with the issuer's certificate changed by `change`.
    fn credential(
        &self,
        change: impl FnOnce(CertificateBuilder) -> CertificateBuilder,
    ) -> CredentialBuilder {
        let signer = change(self.signer.clone()).sign(&self.root.key);
        samples::identity(&holder_key(), now_ms()).x5c(&[signer])
    }

    /// The same with a CA between the root and the issuer.
    fn credential_over(
        &self,
        ca: &Identity,
        change: impl FnOnce(CertificateBuilder) -> CertificateBuilder,
    ) -> CredentialBuilder {
        let signer = change(ca.issuer_of_sd_jwts(&issuer_key(), now_ms()).builder).sign(&ca.key);
        samples::identity(&holder_key(), now_ms()).x5c(&[&signer, &ca.der])
    }

    /// A CA below the root, with its certificate changed by `change`.
    fn intermediate(
        &self,
        change: impl FnOnce(CertificateBuilder) -> CertificateBuilder,
    ) -> Identity {
        let key = SigningKey::from_seed(Curve::P256, "intermediate");
        let ca = CertificateBuilder::issuer_root(Name::new("UT", "Between"), &key, now_ms());
        change(ca.under(&self.root)).issue(&self.root, &key)
    }

    /// The session that a wallet answered with this credential.
    fn session_of(&mut self, credential: CredentialBuilder) -> Value {
        let wallet = Wallet::new(holder_key()).with(credential.issue(&issuer_key()));
        let created = self.tenant.create(&request_for(&["given_name"]));
        self.tenant.post_answer(&created.id, &form(&wallet, &created));
        self.tenant.read(&created.id)
    }

    /// `VERIFIED`, or the reason.
    fn outcome_of(&mut self, credential: CredentialBuilder) -> String {
        let session = self.session_of(credential);
        let outcome = session["reason"].as_str().or(session["status"].as_str());
        outcome.unwrap_or_default().into()
    }
}

fn trust(root: &Identity) -> Trust {
    Trust { keys: Vec::new(), sd_jwt_roots: vec![root.der.clone()], ..sample_trust() }
}

fn issuer_key() -> SigningKey {
    samples::issuer_key(Curve::P256)
}

fn holder_key() -> SigningKey {
    samples::holder_key(Curve::P256)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn results_name_the_root_and_the_certificates_subject() {
    let mut desk = Desk::start();
    let credential = desk.credential(|signer| signer).without("iss");
    let session = desk.session_of(credential);
    assert_eq!(session["claims"]["pid"], json!({ "given_name": "Erika" }));
    let details = &session["verification_details"]["credentials"][0];
    assert_eq!(details["trust"], "x5chain");
    assert_eq!(details["trust_anchor_sha256"], hex(&HashAlg::Sha256.hash(&desk.root.der)));
    assert_eq!(details["issuer"], "CN=Utopia registry,C=UT");
    assert_eq!(details["revocation"], "not_published");
    let credential = desk.credential(|signer| signer);
    let session = desk.session_of(credential);
    assert_eq!(session["verification_details"]["credentials"][0]["issuer"], samples::ISSUER);
}

#[test]
fn removing_a_root_applies_to_the_next_request() {
    let mut desk = Desk::start();
    let credential = desk.credential(|signer| signer);
    assert_eq!(desk.outcome_of(credential.clone()), "VERIFIED");
    let created = desk.tenant.create(&request_for(&["given_name"]));
    let installation = &desk.gateway.installation;
    let jwk = installation.file("other.jwk", holder_key().public_jwk().to_string());
    let add = ["trust", "add", samples::ISSUER, "--jwk", jwk.to_str().unwrap()];
    assert_eq!(installation.run(&add).code, 0);
    let hash = hex(&HashAlg::Sha256.hash(&desk.root.der));
    let removed = installation.run(&["trust", "remove", samples::ISSUER, "--sha256", &hash]);
    assert_eq!(removed.code, 0, "{removed:?}");
    let wallet = Wallet::new(holder_key()).with(credential.issue(&issuer_key()));
    desk.tenant.post_answer(&created.id, &form(&wallet, &created));
    desk.tenant.expect_failed(&created, "issuer_signature_invalid");
}

#[test]
fn an_entry_with_sd_jwt_roots_only_serves_no_mdoc() {
    let mut desk = Desk::start();
    let request = json!({ "credentials": [{
        "format": "mso_mdoc", "issuer_id": samples::ISSUER, "claims": ["family_name"],
    }]});
    desk.tenant.post_session(&request).expect_error(400, "unknown_issuer");
}

const NONCE: &str = "the-nonce-of-a-captured-request";
const CLIENT_ID: &str = "redirect_uri:https://gateway.example/r";

/// A captured presentation of this credential in a file.
fn captured(installation: &Installation, credential: CredentialBuilder) {
    let shown = Presentation::whole(&credential.issue(&issuer_key()));
    let request = AuthorizationRequest {
        client_id: CLIENT_ID.into(),
        response_uri: String::new(),
        nonce: NONCE.into(),
        state: String::new(),
        definition_id: String::new(),
        descriptors: Vec::new(),
    };
    let proof = KbJwt::new(&holder_key(), &shown, &request, now_ms()).sign();
    installation.file("presentation", present(&shown, Some(&proof)));
}

fn verify(installation: &Installation, trusted: &[&str]) -> Output {
    let known = ["--nonce", NONCE, "--client-id", CLIENT_ID, "--format", "vc+sd-jwt"];
    installation.run(&[&["verify", "presentation"], &known[..], trusted].concat())
}

#[test]
fn control_characters_in_a_captured_credential_are_escaped() {
    let installation = Installation::new();
    let signer = Identity::issuer_root(Curve::P256, now_ms());
    let signer = signer.issuer_of_sd_jwts(&issuer_key(), now_ms());
    let credential = samples::identity(&holder_key(), now_ms()).x5c(&[&signer.der]);
    captured(&installation, credential.plain("vct", "urn:one\nrefused: \u{1b}[2K"));
    installation.file("signer.der", &signer.der);
    let verified = verify(&installation, &["--pinned-signer", "signer.der"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let last = verified.stdout.lines().last().unwrap();
    assert!(last.starts_with(r"verified: urn:one\nrefused: \u{1b}[2K by "), "{verified:?}");
}

#[test]
fn a_captured_presentation_is_verified_by_a_root() {
    let installation = Installation::new();
    let root = Identity::issuer_root(Curve::P256, now_ms());
    let signer = root.issuer_of_sd_jwts(&issuer_key(), now_ms());
    let credential = samples::identity(&holder_key(), now_ms()).x5c(&[&signer.der]);
    captured(&installation, credential);
    installation.file("root.der", &root.der);
    installation.file("signer.der", &signer.der);
    installation.file("other.der", &Identity::iaca(Curve::P256, now_ms()).der);
    let verify = |trusted: &[&str]| verify(&installation, trusted);
    let verified = verify(&["--root", "root.der"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.stdout.contains("the certificates lead to a trusted root"), "{verified:?}");
    assert_eq!(verify(&["--pinned-signer", "signer.der"]).code, 0);
    assert_eq!(verify(&["--root", "other.der"]).code, 3);
    assert_eq!(verify(&[]).code, 2);
}

#[test]
fn a_check_that_is_switched_off_is_not_shown_as_ok() {
    let installation = Installation::new();
    let root = Identity::issuer_root(Curve::P256, now_ms());
    let signer = root.issuer_of_sd_jwts(&issuer_key(), now_ms());
    captured(&installation, samples::identity(&holder_key(), now_ms()).x5c(&[&signer.der]));
    installation.file("root.der", &root.der);
    let with = |policy: &str, more: &[&str]| {
        let options = [&["--root", "root.der", "--revocation", policy], more].concat();
        verify(&installation, &options)
    };
    let line = |output: &Output| {
        let mut lines = output.stdout.lines();
        lines.find(|line| line.contains("the credential is not revoked")).unwrap().to_owned()
    };
    let off = with("off", &[]);
    assert_eq!(off.code, 0, "{off:?}");
    assert!(line(&off).trim_start().starts_with("not checked "), "{off:?}");
    assert!(!off.stdout.contains("ok     the signer's certificate is not revoked"), "{off:?}");
    let told = with("off", &["--json"]).json();
    let checks = told["checks"].as_array().unwrap().iter();
    let status: Vec<_> =
        checks.filter(|it| it["check"] == "the credential is not revoked").collect();
    assert_eq!((status.len(), &status[0]["passed"]), (1, &Value::Null));
    let asked = with("if_published", &[]);
    assert!(line(&asked).trim_start().starts_with("ok "), "{asked:?}");
}

#[test]
fn a_captured_response_in_padded_base64url_names_the_padding() {
    let installation = Installation::new();
    installation.file("root.der", &Identity::iaca(Curve::P256, now_ms()).der);
    installation.file("response", "o2d2ZXJzaW9u=");
    let known = ["--nonce", NONCE, "--client-id", CLIENT_ID, "--format", "mso_mdoc"];
    let more = ["--response-uri", "https://gateway.example/r", "--root", "root.der"];
    let refused = installation.run(&[&["verify", "response"], &known[..], &more].concat());
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("is padded"), "{refused:?}");
}

#[test]
fn a_captured_presentations_signer_needs_the_usages_in_the_options() {
    let installation = Installation::new();
    let root = Identity::issuer_root(Curve::P256, now_ms());
    let signer = root.issuer_of_sd_jwts(&issuer_key(), now_ms());
    let credential = samples::identity(&holder_key(), now_ms()).x5c(&[&signer.der]);
    captured(&installation, credential);
    installation.file("root.der", &root.der);
    installation.file("signer.der", &signer.der);
    for trusted in [["--root", "root.der"], ["--pinned-signer", "signer.der"]] {
        let with = |ekus: &[&str]| verify(&installation, &[&trusted[..], ekus].concat());
        let refused = with(&["--sd-jwt-eku", "1.2.3"]);
        assert_eq!(refused.code, 3, "{refused:?}");
        assert!(refused.stdout.contains("chain_invalid"), "{refused:?}");
        assert!(refused.stdout.contains("RFC 5280 4.2.1.12"), "{refused:?}");
        assert_eq!(with(&["--sd-jwt-eku", "1.2.3", "--sd-jwt-eku", "2.5.29.37.0"]).code, 0);
        assert_eq!(with(&["--sd-jwt-eku", "x"]).code, 2);
    }
}

/// A web server's certificate below the root cannot sign credentials (RFC 5280 4.2.1.12).
#[test]
fn a_signer_certificate_for_other_uses_is_rejected() {
    let mut desk = Desk::start();
    let usage = |usages: &[&str]| x509::ext_key_usage(usages);
    let tls = usage(&["1.3.6.1.5.5.7.3.1"]);
    let credential = desk.credential(|own| own.set(x509::EXT_KEY_USAGE, true, tls));
    assert_eq!(desk.outcome_of(credential), "chain_invalid");
    let own = || usage(&["1.2.3.4"]);
    let credential = desk.credential(|signer| signer.set(x509::EXT_KEY_USAGE, true, own()));
    assert_eq!(desk.outcome_of(credential), "VERIFIED");
    let demand = ["trust", "add", samples::ISSUER, "--sd-jwt-eku", "1.2.3.4"];
    assert_eq!(desk.gateway.installation.run(&demand).code, 0);
    let credential = desk.credential(|signer| signer);
    assert_eq!(desk.outcome_of(credential), "chain_invalid", "on the next request");
    let credential = desk.credential(|signer| signer.set(x509::EXT_KEY_USAGE, true, own()));
    assert_eq!(desk.outcome_of(credential), "VERIFIED");
}

#[test]
fn doctor_names_an_entry_with_a_rejected_pinned_issuer() {
    let installation = Installation::new();
    let root = Identity::issuer_root(Curve::P256, now_ms());
    let signer = root.issuer_of_sd_jwts(&issuer_key(), now_ms()).builder;
    let tls = x509::ext_key_usage(&["1.3.6.1.5.5.7.3.1"]);
    let signer = signer.set(x509::EXT_KEY_USAGE, true, tls).sign(&root.key);
    let file = installation.file("signer.der", &signer);
    let file = file.to_str().unwrap();
    let add = ["trust", "add", samples::ISSUER, "--sd-jwt-signer", file, "--vct", samples::VCT];
    assert_eq!(installation.run(&add).code, 0);
    for command in [&["doctor"][..], &["trust", "check"]] {
        let told = installation.run(command);
        assert_eq!(told.code, 3, "{told:?}");
        let names = format!("{}: SD-JWT signer CN=Utopia registry", samples::ISSUER);
        assert!(told.stdout.contains(&names), "{told:?}");
        assert!(told.stdout.contains("RFC 5280 4.2.1.12"), "{told:?}");
    }
}

/// A document signer has a root. A pinned issuer is trusted by itself, like a bare key.
#[test]
fn a_pinned_issuer_is_trusted_in_live_mode_in_every_environment() {
    for environment in ["development", "staging", "production"] {
        let root = Identity::issuer_root(Curve::P256, now_ms());
        let signer = root.issuer_of_sd_jwts(&issuer_key(), now_ms());
        let installation = Installation::new().with("IDGATE_ENVIRONMENT", environment);
        let file = installation.file("signer.der", &signer.der);
        let file = file.to_str().unwrap();
        let add = ["trust", "add", samples::ISSUER, "--sd-jwt-signer", file, "--vct", samples::VCT];
        assert_eq!(installation.run(&add).code, 0);
        let client = installation.create_client("shop", false);
        let gateway = Gateway { server: installation.serve(), client, installation };
        let tenant = gateway.tenant();
        let mut desk = Desk { gateway, tenant, root, signer: signer.builder };
        let credential = desk.credential(|signer| signer);
        assert_eq!(desk.outcome_of(credential), "VERIFIED", "{environment}");
    }
}
