//! The specifications' own examples. The data belongs to third parties and is not in the
//! repository: `IDGATE_VECTORS`, otherwise `../shared/vectors` next to the repository. If it is
//! absent, these tests print that and check nothing.

use std::path::PathBuf;

use serde_json::Value as Json;

use super::super::CredentialReport;
use super::super::evaluate::verify_sd_jwt_vc;
use super::super::expected::ExpectedSdJwtVc;
use super::super::key_binding::bind_holder;
use crate::codec::json::Tape;
use crate::crypto::{CryptoProvider, HashAlg, PublicKey, aws_lc_rs, rustcrypto};
use crate::error::Reason;
use crate::formats::sd_jwt_vc::{DisclosureIndex, ParsedSdJwt, ProcessedPayload, SplitSdJwt};
use crate::ids::IssuerId;
use crate::jose::decode_signature;
use crate::time::UnixMillis;
use crate::trust::{TrustEntry, TrustedKey};

const PROVIDERS: [CryptoProvider; 2] = [aws_lc_rs::PROVIDER, rustcrypto::PROVIDER];

fn folder(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("IDGATE_VECTORS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/vectors")),
        PathBuf::from,
    );
    let folder = root.join(name);
    if !folder.is_dir() {
        println!("skipped: no third-party data in {}", folder.display());
        return None;
    }
    Some(folder)
}

fn json(path: PathBuf) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn public_key(jwk: &Json) -> PublicKey {
    let coordinate =
        |name: &str| crate::codec::base64url::decode(jwk[name].as_str().unwrap()).unwrap();
    let curve = crate::crypto::Curve::from_name(jwk["crv"].as_str().unwrap()).unwrap();
    PublicKey::from_coordinates(curve, &coordinate("x"), &coordinate("y")).unwrap()
}

/// Processes `text` with the given keys, and checks the holder's proof if there is one.
fn process(provider: &CryptoProvider, text: &str, keys: &Json) -> Json {
    let split = SplitSdJwt::split(text).unwrap();
    let octets = split.decode().unwrap();
    let mut tape = Tape::default();
    let parsed = ParsedSdJwt::parse(split, &octets, &mut tape).unwrap();
    let mut signature = [0; 132];
    let signature = decode_signature(parsed.issuer.signature, &mut signature).unwrap();
    let message = parsed.issuer.signing_input.as_bytes();
    provider.verify(&public_key(&keys["issuer"]), message, signature).unwrap();
    let index = DisclosureIndex::new(&parsed.disclosures, HashAlg::Sha256, provider).unwrap();
    let payload = ProcessedPayload::bind(&tape, parsed.issuer_payload, index).unwrap();
    if let Some(proof) = &parsed.key_binding {
        let iat = tape.value(proof.payload).get("iat").unwrap().as_u64().unwrap();
        let issuer = TrustEntry::new(IssuerId::new("any"));
        let (nonce, audience) = (&keys["nonce"], &keys["verifier_aud"]);
        let now = UnixMillis::from_secs(iat);
        let (nonce, audience) = (nonce.as_str().unwrap(), audience.as_str().unwrap());
        let expected = ExpectedSdJwtVc::new(&issuer, audience, nonce, now, now);
        let mut report = CredentialReport::default();
        bind_holder(provider, &parsed, &tape, &payload, HashAlg::Sha256, &expected, &mut report)
            .unwrap();
    }
    let mut out = String::new();
    payload.write_all(&mut out);
    serde_json::from_str(&out).unwrap()
}

fn run_folder(name: &str) -> usize {
    let Some(folder) = folder(name) else { return 0 };
    let keys = json(folder.join("keys.json"));
    let mut verified = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let example = json(path.clone());
        for member in ["issuance", "presentation", "presentation_kb"] {
            let Some(text) = example.get(member).and_then(Json::as_str) else { continue };
            for provider in &PROVIDERS {
                let processed = process(provider, text, &keys);
                let expected = &example["processed"];
                if member != "issuance" && !expected.is_null() {
                    assert_eq!(&processed, expected, "{} {member}", path.display());
                }
            }
            verified += 1;
        }
    }
    assert!(verified > 0);
    verified
}

#[test]
fn examples_of_rfc_9901() {
    let verified = run_folder("spec/sd-jwt-rfc9901");
    println!("{verified} examples of RFC 9901");
}

#[test]
fn examples_of_sd_jwt_vc() {
    let verified = run_folder("spec/sd-jwt-vc");
    println!("{verified} examples of SD-JWT VC");
}

#[test]
fn json_serialization_is_refused() {
    let Some(folder) = folder("spec/sd-jwt-rfc9901") else { return };
    for name in ["json_flattened.json", "json_general.json"] {
        let example = json(folder.join(name));
        let text = example["presentation_kb"].to_string();
        let reason = SplitSdJwt::split(&text).err().map(|error| error.reason);
        assert_eq!(reason, Some(Reason::MalformedPresentation));
    }
}

#[test]
fn disclosure_hashes_of_rfc_9901() {
    let Some(folder) = folder("spec/sd-jwt-rfc9901") else { return };
    let examples = json(folder.join("disclosure_hashes.json"));
    let examples = examples.as_array().unwrap();
    assert!(!examples.is_empty());
    for example in examples {
        for provider in &PROVIDERS {
            let hash =
                provider.hash(HashAlg::Sha256, example["disclosure"].as_str().unwrap().as_bytes());
            let text = crate::codec::base64url::encode(hash.as_bytes());
            assert_eq!(text, example["sha256"].as_str().unwrap());
        }
    }
}

/// Drafts 20 and 21 have a valid example; 23 and 24 changed the credential but kept the holder's
/// proof over the old one.
#[test]
fn examples_of_openid4vp() {
    let Some(vectors) = folder("spec") else { return };
    let keys = json(vectors.join("sd-jwt-rfc9901/keys.json"));
    let mut issuer = TrustEntry::new(IssuerId::new("https://example.com/issuer"));
    issuer.keys.push(TrustedKey::new(public_key(&keys["issuer"])));
    issuer.vct.push("https://credentials.example.com/identity_credential".into());
    let now = UnixMillis::from_secs(1_709_838_604);
    let expected =
        ExpectedSdJwtVc::new(&issuer, "https://example.com/verifier", "n-0S6_WzA2Mj", now, now);
    for (draft, reason) in [
        ("draft-20", None),
        ("draft-21", None),
        ("draft-23", Some(Reason::SdHashMismatch)),
        ("draft-24", Some(Reason::SdHashMismatch)),
    ] {
        let file = format!("openid4vp/{draft}/response/token_response_vp_token_sd_jwt_vc.txt");
        let text = std::fs::read_to_string(vectors.join(file)).unwrap();
        for provider in &PROVIDERS {
            let mut report = CredentialReport::default();
            let result = verify_sd_jwt_vc(provider, text.trim(), &expected, &mut report);
            assert_eq!(result.err().map(|error| error.reason), reason, "{draft}");
        }
    }
}

/// Its status list cannot be fetched, and an unknown status does not count as good. With the check
/// switched off the credential is refused for another reason: there is no holder's proof.
#[test]
fn referenced_token_of_the_status_list_draft() {
    let Some(vectors) = folder("spec") else { return };
    let example = json(vectors.join("token-status-list/referenced_sd_jwt.json"));
    let keys = json(vectors.join("sd-jwt-rfc9901/keys.json"));
    let processed = process(&aws_lc_rs::PROVIDER, example["sd_jwt"].as_str().unwrap(), &keys);
    assert!(processed["status"]["status_list"]["uri"].is_string());
}
