//! sd-jwt-rs issues and presents; idgate decides.

use idgate_core::Reason;
use idgate_core::shell::base64url;
use idgate_interop::gate::Gate;
use idgate_interop::peer::{self, PeerKey};
use idgate_interop::{AUDIENCE, NONCE};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

const NAMES: &[&str] = &["$.given_name", "$.family_name"];

struct Case {
    issuer: PeerKey,
    holder: PeerKey,
    credential: String,
}

impl Case {
    fn new(alg: Algorithm) -> Self {
        let claims = json!({"given_name": "Erika", "family_name": "Mustermann"});
        Self::with(alg, claims, NAMES)
    }

    fn with(alg: Algorithm, claims: Value, disclosable: &[&str]) -> Self {
        let (issuer, holder) = (PeerKey::generate(alg), PeerKey::generate(alg));
        let issued = peer::issue(&issuer, &holder, claims, disclosable);
        let credential = peer::with_typ(&issued, &issuer, "dc+sd-jwt");
        Self { issuer, holder, credential }
    }

    fn gate(&self) -> Gate {
        Gate::new(&self.issuer.jwk(), &["given_name"])
    }

    fn present(&self) -> String {
        peer::present(&self.credential, &self.holder, json!({"given_name": true}))
    }

    fn verdict(&self, presentation: &str) -> Result<String, Reason> {
        self.gate().verdict(presentation)
    }
}

#[test]
fn es256_and_es384_presentations_are_verified() {
    for alg in [Algorithm::ES256, Algorithm::ES384] {
        let case = Case::new(alg);
        assert_eq!(
            case.verdict(&case.present()),
            Ok(r#"{"given_name":"Erika"}"#.into()),
            "{alg:?}"
        );
    }
}

#[test]
fn both_types_of_credential_are_verified() {
    let case = Case::new(Algorithm::ES256);
    for typ in ["dc+sd-jwt", "vc+sd-jwt"] {
        let credential = peer::with_typ(&case.credential, &case.issuer, typ);
        let shown = peer::present(&credential, &case.holder, json!({"given_name": true}));
        assert!(case.verdict(&shown).is_ok(), "{typ}");
    }
}

#[test]
fn nested_members_and_array_elements_are_verified() {
    let claims = json!({
        "address": {"locality": "Köln", "country": "DE"},
        "nationalities": ["DE", "FR", "AT"],
    });
    let disclosable =
        ["$.address", "$.address.locality", "$.nationalities[0]", "$.nationalities[1]"];
    let case = Case::with(Algorithm::ES256, claims, &disclosable);
    let disclose = json!({"address": {"locality": true}, "nationalities": [false, true]});
    let shown = peer::present(&case.credential, &case.holder, disclose);

    let gate = Gate::new(&case.issuer.jwk(), &["address", "nationalities"]);
    let claims: Value = serde_json::from_str(&gate.verdict(&shown).unwrap()).unwrap();
    assert_eq!(claims["address"], json!({"locality": "Köln", "country": "DE"}));
    assert_eq!(claims["nationalities"], json!(["FR", "AT"]));

    let peers = peer::verdict(&shown, &case.issuer.jwk()).unwrap();
    assert_eq!(claims["address"], peers["address"]);
    assert_eq!(claims["nationalities"], peers["nationalities"]);
}

#[test]
fn the_default_type_of_the_peer_is_refused() {
    let (issuer, holder) =
        (PeerKey::generate(Algorithm::ES256), PeerKey::generate(Algorithm::ES256));
    let issued = peer::issue(&issuer, &holder, json!({"given_name": "Erika"}), &["$.given_name"]);
    let shown = peer::present(&issued, &holder, json!({"given_name": true}));
    let gate = Gate::new(&issuer.jwk(), &["given_name"]);
    assert_eq!(gate.verdict(&shown), Err(Reason::MalformedPresentation));
}

#[test]
fn another_request_is_refused() {
    let case = Case::new(Algorithm::ES256);
    let shown = |nonce: &str, audience: &str| {
        let disclose = json!({"given_name": true});
        peer::present_for(&case.credential, &case.holder, disclose, nonce, audience)
    };
    assert!(case.verdict(&shown(NONCE, AUDIENCE)).is_ok());
    assert_eq!(case.verdict(&shown("another", AUDIENCE)), Err(Reason::NonceMismatch));
    assert_eq!(case.verdict(&shown(NONCE, "another")), Err(Reason::AudienceMismatch));
}

#[test]
fn tampered_presentations_are_refused() {
    for alg in [Algorithm::ES256, Algorithm::ES384] {
        let case = Case::new(alg);
        let shown = case.present();
        let (bound, proof) = shown.rsplit_once('~').unwrap();
        let (jwt, disclosures) = bound.split_once('~').unwrap();
        let (name, value) = (base64url::encode(br#"["c2FsdA","given_name","Eve"]"#), "~");

        let refused = [
            ("no proof", format!("{bound}~"), Reason::HolderBindingMissing),
            ("no disclosure", format!("{jwt}~{proof}"), Reason::SdHashMismatch),
            ("forged disclosure", format!("{jwt}~{name}{value}{proof}"), Reason::DigestMismatch),
            ("repeated", format!("{bound}~{disclosures}~{proof}"), Reason::MalformedPresentation),
            ("payload", change_payload(&shown), Reason::IssuerSignatureInvalid),
            ("issuer signature", flip_signature(jwt, &shown), Reason::IssuerSignatureInvalid),
            ("proof signature", flip_signature(proof, &shown), Reason::HolderBindingInvalid),
        ];
        for (what, presentation, reason) in refused {
            assert_eq!(case.verdict(&presentation), Err(reason), "{alg:?}, {what}");
            let peers = peer::verdict(&presentation, &case.issuer.jwk());
            assert!(peers.is_err(), "{alg:?}, {what}: the peer accepts it");
        }
    }
}

#[test]
fn a_proof_by_another_key_is_refused() {
    let case = Case::new(Algorithm::ES256);
    let thief = PeerKey::generate(Algorithm::ES256);
    let shown = peer::present(&case.credential, &thief, json!({"given_name": true}));
    assert_eq!(case.verdict(&shown), Err(Reason::HolderBindingInvalid));
}

#[test]
fn a_credential_by_another_issuer_is_refused() {
    let (case, other) = (Case::new(Algorithm::ES256), Case::new(Algorithm::ES256));
    assert_eq!(other.gate().verdict(&case.present()), Err(Reason::IssuerSignatureInvalid));
    let other = Case::new(Algorithm::ES384);
    assert_eq!(other.gate().verdict(&case.present()), Err(Reason::AlgorithmNotAllowed));
}

/// `presentation` with the signature of `jws` changed in one bit.
fn flip_signature(jws: &str, presentation: &str) -> String {
    let (input, signature) = jws.rsplit_once('.').unwrap();
    let mut bytes = base64url::decode(signature).unwrap();
    bytes[7] ^= 1;
    let changed = format!("{input}.{}", base64url::encode(&bytes));
    presentation.replacen(jws, &changed, 1)
}

/// `presentation` with another `exp` in the issuer's payload.
fn change_payload(presentation: &str) -> String {
    let payload = presentation.split('.').nth(1).unwrap();
    let mut claims: Value = serde_json::from_slice(&base64url::decode(payload).unwrap()).unwrap();
    claims["exp"] = json!(4_000_000_000_u64);
    presentation.replacen(payload, &base64url::encode(claims.to_string().as_bytes()), 1)
}
