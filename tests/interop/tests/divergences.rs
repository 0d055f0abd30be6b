//! Cases where sd-jwt-rs 0.7.1 and idgate disagree, and which is right. Both verdicts are asserted,
//! so a new release of the peer, or a change here, fails a test if a verdict changes.

use std::panic::catch_unwind;

use idgate_core::Reason;
use idgate_interop::gate::Gate;
use idgate_interop::{AUDIENCE, ISSUER, NONCE, VCT, now_secs, peer};
use idgate_testkit::claim::Claim;
use idgate_testkit::codec::HashAlg;
use idgate_testkit::disclosure::Disclosure;
use idgate_testkit::issuer::{CredentialBuilder, Issued};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use serde_json::json;

struct Sample {
    issuer: SigningKey,
    holder: SigningKey,
}

impl Sample {
    fn new(curve: Curve) -> Self {
        let key = |seed| SigningKey::from_seed(curve, seed);
        Self { issuer: key("interop issuer"), holder: key("interop holder") }
    }

    /// A good credential, one hour old, that a test can change.
    fn credential(&self) -> CredentialBuilder {
        let now = now_secs();
        CredentialBuilder::new()
            .plain("iss", ISSUER)
            .plain("vct", VCT)
            .plain("iat", now - 3600)
            .plain("exp", now + 3600)
            .holder(&self.holder)
            .sd("given_name", "Erika")
    }

    fn issue(&self, credential: CredentialBuilder) -> Issued {
        credential.issue(&self.issuer)
    }

    /// All of `credential`, with a proof that `change` has edited.
    fn present(&self, credential: &Issued, change: impl FnOnce(&mut KbJwt)) -> String {
        self.prove(&Presentation::whole(credential), change)
    }

    fn prove(&self, shown: &Presentation, change: impl FnOnce(&mut KbJwt)) -> String {
        let request = AuthorizationRequest {
            client_id: AUDIENCE.into(),
            response_uri: AUDIENCE.trim_start_matches("redirect_uri:").into(),
            nonce: NONCE.into(),
            state: String::new(),
            definition_id: String::new(),
            descriptors: Vec::new(),
        };
        let mut proof = KbJwt::new(&self.holder, shown, &request, now_secs() * 1000);
        change(&mut proof);
        present(shown, Some(&proof.sign()))
    }

    fn idgate(&self, presentation: &str) -> Result<String, Reason> {
        Gate::new(&self.issuer.public_jwk(), &["given_name"]).verdict(presentation)
    }

    fn peer(&self, presentation: &str) -> Result<serde_json::Value, String> {
        peer::verdict(presentation, &self.issuer.public_jwk())
    }

    fn peer_accepts_idgate_refuses(&self, presentation: &str, reason: Reason) {
        assert!(self.peer(presentation).is_ok(), "the peer has learned: {reason}");
        assert_eq!(self.idgate(presentation), Err(reason));
    }

    fn peer_refuses_idgate_accepts(&self, presentation: &str) {
        assert!(self.peer(presentation).is_err(), "the peer has learned");
        assert_eq!(self.idgate(presentation), Ok(r#"{"given_name":"Erika"}"#.into()));
    }
}

/// The base of all cases below: without a change both agree.
#[test]
fn both_verify_what_the_testkit_presents() {
    for curve in [Curve::P256, Curve::P384] {
        let sample = Sample::new(curve);
        let shown = sample.present(&sample.issue(sample.credential().decoys(3)), |_| ());
        assert_eq!(sample.peer(&shown).unwrap()["given_name"], "Erika", "{curve:?}");
        assert_eq!(sample.idgate(&shown), Ok(r#"{"given_name":"Erika"}"#.into()), "{curve:?}");
    }
}

/// RFC 9901 7.1 step 5: unreferenced disclosures are refused.
#[test]
fn a_disclosure_that_nothing_references() {
    let sample = Sample::new(Curve::P256);
    let mut shown = Presentation::whole(&sample.issue(sample.credential()));
    shown.disclosures.push(Disclosure::of_text(r#"["salt","family_name","Eve"]"#).text);
    let shown = sample.prove(&shown, |_| ());
    sample.peer_accepts_idgate_refuses(&shown, Reason::DigestMismatch);
}

/// RFC 9901 7.1 step 3: `_sd` and `...` are not claim names.
#[test]
fn a_disclosed_claim_with_a_reserved_name() {
    let sample = Sample::new(Curve::P256);
    let mut credential = sample.credential().build();
    credential.add_disclosure(r#"["salt","...","x"]"#);
    let shown = sample.present(&credential.sign(&sample.issuer), |_| ());
    sample.peer_accepts_idgate_refuses(&shown, Reason::MalformedPresentation);
}

/// RFC 7519 4.1.5.
#[test]
fn a_credential_whose_time_has_not_begun() {
    let sample = Sample::new(Curve::P256);
    let credential = sample.issue(sample.credential().plain("nbf", now_secs() + 1800));
    let shown = sample.present(&credential, |_| ());
    sample.peer_accepts_idgate_refuses(&shown, Reason::CredentialNotYetValid);
}

/// RFC 9901 7.3 step 5e: the proof's `iat` must lie in the session's time.
#[test]
fn a_proof_from_ten_years_ago() {
    let sample = Sample::new(Curve::P256);
    let long_ago = now_secs() - 10 * 365 * 86_400;
    let credential = sample.issue(sample.credential());
    let shown = sample.present(&credential, |proof| proof.set("iat", long_ago));
    sample.peer_accepts_idgate_refuses(&shown, Reason::KbJwtStale);
}

/// RFC 9901 4.3: `aud` of the proof is a single string.
#[test]
fn a_proof_for_several_audiences() {
    let sample = Sample::new(Curve::P256);
    let credential = sample.issue(sample.credential());
    let audiences = json!(["https://elsewhere.example", AUDIENCE]);
    let shown = sample.present(&credential, |proof| proof.set("aud", audiences));
    sample.peer_accepts_idgate_refuses(&shown, Reason::AudienceMismatch);
}

/// `exp` is optional (SD-JWT VC 2.2.2.1).
#[test]
fn a_credential_without_an_end() {
    let sample = Sample::new(Curve::P256);
    let credential = sample.issue(sample.credential().without("exp"));
    sample.peer_refuses_idgate_accepts(&sample.present(&credential, |_| ()));
}

/// An empty array is a value like any other.
#[test]
fn a_credential_with_an_empty_array() {
    let sample = Sample::new(Curve::P256);
    let credential = sample.issue(sample.credential().plain("nationalities", Claim::array()));
    sample.peer_refuses_idgate_accepts(&sample.present(&credential, |_| ()));
}

/// RFC 9901 4.1.1: other registered hashes may be used.
#[test]
fn a_credential_hashed_with_sha_384() {
    let sample = Sample::new(Curve::P256);
    let credential = sample.issue(sample.credential().hash(HashAlg::Sha384));
    sample.peer_refuses_idgate_accepts(&sample.present(&credential, |_| ()));
}

/// `iss` is optional (SD-JWT VC 2.2.2.1); the peer panics without it, before any signature.
#[test]
fn a_credential_without_an_issuer_name() {
    let sample = Sample::new(Curve::P256);
    let credential = sample.issue(sample.credential().without("iss"));
    let shown = sample.present(&credential, |_| ());
    assert!(catch_unwind(|| sample.peer(&shown)).is_err(), "the peer has learned");
    assert_eq!(sample.idgate(&shown), Ok(r#"{"given_name":"Erika"}"#.into()));
}
