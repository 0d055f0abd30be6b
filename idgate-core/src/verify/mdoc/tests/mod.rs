//! The standards' own examples and the fixed data set. The data belongs to third parties and is not
//! in the repository: `IDGATE_VECTORS` and `IDGATE_PERF_DATA`, otherwise `../shared` next to the
//! repository. If it is absent, these tests print that and check nothing.

use std::path::PathBuf;

use alloc::string::String;

use serde_json::Value as Json;

use super::*;
use crate::codec::cbor::NodeId;
use crate::crypto::{Curve, EcdhPrivateKey, Jwk, PublicKey, aws_lc_rs, rustcrypto};
use crate::formats::mdoc::{DeviceAuth, DeviceAuthentication, Handover};
use crate::ids::IssuerId;
use crate::time::UnixMillis;
use crate::trust::anchors::RootOrigin;
use crate::trust::{PinnedSigner, RevocationPolicy, TrustAnchor, TrustEntry};

const PROVIDERS: [CryptoProvider; 2] = [aws_lc_rs::PROVIDER, rustcrypto::PROVIDER];

fn shared(variable: &str, default: &str, file: &str) -> Option<PathBuf> {
    let root = std::env::var_os(variable).map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")).join(default),
        PathBuf::from,
    );
    let path = root.join(file);
    if !path.exists() {
        std::println!("skipped: no third-party data in {}", path.display());
        return None;
    }
    Some(path)
}

fn vectors(file: &str) -> Option<Json> {
    let path = shared("IDGATE_VECTORS", "vectors", file)?;
    Some(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

fn perf(file: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(shared("IDGATE_PERF_DATA", "perf/data", file)?).unwrap())
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

fn p256(x: &[u8], y: &[u8]) -> PublicKey {
    PublicKey::from_coordinates(Curve::P256, x, y).unwrap()
}

/// ISO/IEC 18013-5 Annex D in both extractions.
struct AnnexD {
    json: Json,
}

impl AnnexD {
    fn all() -> impl Iterator<Item = Self> {
        ["iso18013-annex-d/vectors.json", "spec/iso18013-5/annex-d.json"]
            .into_iter()
            .filter_map(vectors)
            .map(|json| Self { json })
    }

    fn get(&self, name: &str) -> Vec<u8> {
        unhex(self.json[std::format!("ISO_18013_5_ANNEX_D_{name}")].as_str().unwrap())
    }
}

fn only_document<'t, 'a>(tape: &'t mut Tape<'a>, bytes: &'a [u8]) -> Document<'t, 'a> {
    let id: NodeId = tape.parse(bytes).unwrap();
    let response = DeviceResponse::read(tape.value(id)).unwrap();
    assert_eq!((&*response.version, response.status), ("1.0", 0));
    let mut documents = response.documents();
    let document = documents.next().unwrap().unwrap();
    assert!(documents.next().is_none());
    document
}

#[test]
fn annex_d_issuer_signature_and_digests() {
    for vectors in AnnexD::all() {
        let bytes = vectors.get("DEVICE_RESPONSE");
        let mut tape = Tape::default();
        let document = only_document(&mut tape, &bytes);
        let issuer_auth = Sign1::read(document.issuer_auth).unwrap();
        let ds_cert = vectors.get("DS_CERT");
        assert_eq!(issuer_auth.headers.x5chain().unwrap(), [&*ds_cert]);

        let now = UnixMillis::parse_rfc3339("2021-01-01T00:00:00Z").unwrap();
        let mut issuer = TrustEntry::new(IssuerId::new("annex-d"));
        issuer.pinned_signers.push(PinnedSigner::from_der(&PROVIDERS[0], &ds_cert).unwrap());
        let request = MdocRequest { client_id: "c", nonce: "n", response_uri: "r" };
        let expected =
            ExpectedMdoc::new(&issuer, "org.iso.18013.5.1.mDL", MDL_NAME_SPACE, request, now);
        let payload = issuer_auth.payload.as_deref().unwrap();
        for provider in PROVIDERS {
            let report = &mut CredentialReport::default();
            let (path, _) =
                authenticate_issuer(&provider, &issuer_auth, payload, &expected, report).unwrap();
            let mso_bytes = encoded_mso(payload).unwrap();
            let mut mso_tape = Tape::default();
            let mso = mso_tape.parse(&mso_bytes).unwrap();
            let mso = MobileSecurityObject::read(mso_tape.value(mso)).unwrap();
            check_mso_doc_type(&mso, &document, report).unwrap();
            check_validity(mso.validity, &path, &expected, report).unwrap();
            let hash_alg = digest_algorithm(&mso, report).unwrap();

            let digests = mso.value_digests;
            let items = Items::bind(&provider, document.name_spaces, digests, hash_alg).unwrap();
            assert_eq!(items.elements(MDL_NAME_SPACE).count(), 6);
            let portrait = items.get(MDL_NAME_SPACE, "portrait").unwrap();
            let portrait = cbor::decode(portrait, |value| value.as_bytes().unwrap().into_owned());
            assert_eq!(portrait.unwrap(), vectors.get("DEVICE_RESPONSE_PORTRAIT_DATA"));
            check_issuing_country(&items, &path, &expected, report).unwrap();

            // The proximity transcript is not one of OpenID4VP's.
            let refused = verify_mdoc(&provider, &bytes, &expected, report).unwrap_err();
            assert_eq!(refused.reason, Reason::DeviceAuthInvalid);
        }
    }
}

#[test]
fn annex_d_device_mac() {
    for vectors in AnnexD::all() {
        let bytes = vectors.get("DEVICE_RESPONSE");
        let mut tape = Tape::default();
        let document = only_document(&mut tape, &bytes);
        let proof = DeviceAuth::read(document.device_auth).unwrap();
        assert!(matches!(proof, DeviceAuth::Mac(_)));
        let device_key =
            p256(&vectors.get("STATIC_DEVICE_KEY_X"), &vectors.get("STATIC_DEVICE_KEY_Y"));
        let scalar = vectors.get("EPHEMERAL_READER_KEY_D");
        let reader_key = EcdhPrivateKey::from_scalar(Curve::P256, &scalar).unwrap();
        let wrapped = vectors.get("SESSION_TRANSCRIPT_BYTES");
        let mut transcript_tape = Tape::default();
        let id = transcript_tape.parse(&wrapped).unwrap();
        let transcript = transcript_tape.value(id).encoded_cbor().unwrap();
        let authentication = DeviceAuthentication {
            doc_type: &document.doc_type,
            device_name_spaces: document.device_name_spaces.raw(),
            device_key: &device_key,
            reader_key: Some(&reader_key),
        };
        for provider in PROVIDERS {
            assert!(proof.fits(&device_key));
            assert!(authentication.verify(&provider, &proof, &transcript));
            let keyless = DeviceAuthentication { reader_key: None, ..authentication };
            assert!(!keyless.verify(&provider, &proof, &transcript));
            let other_type = DeviceAuthentication { doc_type: "other", ..authentication };
            assert!(!other_type.verify(&provider, &proof, &transcript));
            assert!(!authentication.verify(&provider, &proof, b"\x83\xf6\xf6\xf6"));
        }
    }
}

#[test]
fn openid4vp_transcripts_are_those_of_the_standard_byte_for_byte() {
    let Some(vector) = vectors("spec/openid4vp/1.0-final/handover.json") else { return };
    let vector = &vector["redirect"];
    let text = |name: &str| vector[name].as_str().unwrap();
    let jwk = &vector["encryption_jwk"];
    let member = |name: &str| jwk[name].as_str().unwrap();
    let canonical = std::format!(
        r#"{{"crv":"{}","kty":"{}","x":"{}","y":"{}"}}"#,
        member("crv"),
        member("kty"),
        member("x"),
        member("y")
    );
    assert!(Jwk::parse(canonical.as_bytes()).is_ok());
    for provider in PROVIDERS {
        let thumbprint = provider.hash(HashAlg::Sha256, canonical.as_bytes());
        let thumbprint = thumbprint.as_bytes().first_chunk().unwrap();
        let handover = Handover::OpenId4Vp { jwk_thumbprint: Some(thumbprint) };
        let (client_id, nonce) = (text("client_id"), text("nonce"));
        let transcript =
            handover.session_transcript(&provider, client_id, nonce, text("response_uri"));
        assert_eq!(transcript, unhex(text("session_transcript_hex")));
    }
    let Some(other) = vectors("oid4vp/handover-vectors.json") else { return };
    assert_eq!(other["vectors"][2]["hex"], vector["session_transcript_hex"]);
}

/// The hash input of the 1.0 handover without encryption, written out.
#[test]
fn a_null_thumbprint_is_inline() {
    let info = b"\x84\x62id\x65nonce\xf6\x63uri";
    for provider in PROVIDERS {
        let hash = provider.hash(HashAlg::Sha256, info);
        let transcript = Handover::OpenId4Vp { jwk_thumbprint: None }
            .session_transcript(&provider, "id", "nonce", "uri");
        let expected = [b"\x83\xf6\xf6\x82\x71OpenID4VPHandover\x58\x20", hash.as_bytes()].concat();
        assert_eq!(transcript, expected);
    }
}

struct PerfData {
    manifest: Json,
    issuer: TrustEntry,
    claims: Vec<String>,
}

impl PerfData {
    fn load(root: &str) -> Option<Self> {
        let manifest = serde_json::from_slice(&perf("manifest.json")?).unwrap();
        let mut issuer = TrustEntry::new(IssuerId::new("perf"));
        issuer.roots.push(
            TrustAnchor::from_der(&PROVIDERS[0], &perf(root)?, RootOrigin::RootFile).unwrap(),
        );
        issuer.revocation = RevocationPolicy::Off;
        let claims = ["family_name", "given_name", "birth_date", "age_over_18"];
        Some(Self { manifest, issuer, claims: claims.map(String::from).into() })
    }

    fn text(&self, name: &str) -> &str {
        self.manifest[name].as_str().unwrap()
    }

    fn expected<'e>(&'e self, handovers: &'e [Handover<'e>]) -> ExpectedMdoc<'e> {
        let request = MdocRequest {
            client_id: self.text("aud"),
            nonce: self.text("nonce"),
            response_uri: self.text("response_uri"),
        };
        let now = UnixMillis::parse_rfc3339("2026-12-01T00:00:00Z").unwrap();
        ExpectedMdoc {
            handovers,
            claims: &self.claims,
            ..ExpectedMdoc::new(&self.issuer, "org.iso.18013.5.1.mDL", MDL_NAME_SPACE, request, now)
        }
    }
}

const FILES: [(&str, &str, bool); 5] = [
    ("mdoc_6of25_chain1.cbor", "iaca_root1.der", true),
    ("mdoc_10of10_chain1.cbor", "iaca_root1.der", true),
    ("mdoc_100of100_chain1.cbor", "iaca_root1.der", true),
    ("mdoc_1000of1000_chain1.cbor", "iaca_root1.der", true),
    ("mdoc_6of25_chain2.cbor", "iaca_root2.der", false),
];

#[test]
fn the_data_set_verifies_with_the_annex_b_transcript() {
    for (file, root, livemode) in FILES {
        let (Some(bytes), Some(data)) = (perf(file), PerfData::load(root)) else { return };
        let handovers = [
            Handover::OpenId4Vp { jwk_thumbprint: None },
            Handover::Iso180137 { mdoc_generated_nonce: data.text("mdoc_generated_nonce") },
        ];
        let expected = ExpectedMdoc { livemode, ..data.expected(&handovers) };
        for provider in PROVIDERS {
            let mut report = CredentialReport::default();
            let verified = verify_mdoc(&provider, &bytes, &expected, &mut report);
            let verified = verified.unwrap_or_else(|error| panic!("{file}: {error}"));
            assert_eq!(
                verified.claims().as_json(),
                r#"{"family_name":"Mustermann","given_name":"Erika","birth_date":"1984-01-26","age_over_18":true}"#
            );
            let facts = verified.facts();
            assert_eq!(facts.session_transcript, Some("iso18013-7"));
            assert_eq!(facts.holder_binding.name(), "device_signature");
            assert_eq!(facts.trust.name(), "x5chain");
            assert!(report.checks().all(|(_, passed)| passed));
            // Every bit of the signed data matters, whichever check notices it.
            for at in (0..bytes.len()).step_by(bytes.len() / 97) {
                let mut other = bytes.clone();
                other[at] ^= 1;
                let refused = verify_mdoc(&provider, &other, &expected, &mut report);
                assert!(refused.is_err(), "{file} at {at}");
            }
        }
    }
}

#[test]
fn a_proof_for_another_request_is_refused() {
    let (Some(bytes), Some(data)) = (perf(FILES[0].0), PerfData::load(FILES[0].1)) else { return };
    let nonce = data.text("mdoc_generated_nonce");
    let handovers = [Handover::Iso180137 { mdoc_generated_nonce: nonce }];
    let good = data.expected(&handovers).request;
    for request in [
        MdocRequest { client_id: "x509_san_dns:other.example.com", ..good },
        MdocRequest { nonce: "another", ..good },
        MdocRequest { nonce: "", ..good },
        MdocRequest { response_uri: "https://verifier.example.com/other", ..good },
    ] {
        let expected = ExpectedMdoc { request, ..data.expected(&handovers) };
        let mut report = CredentialReport::default();
        let refused = verify_mdoc(&PROVIDERS[0], &bytes, &expected, &mut report).unwrap_err();
        assert_eq!(
            (refused.reason, refused.check),
            (Reason::DeviceAuthInvalid, Check::SessionTranscript)
        );
    }
    for handovers in [
        &[][..],
        &[Handover::OpenId4Vp { jwk_thumbprint: None }],
        &[Handover::Iso180137 { mdoc_generated_nonce: "another" }],
    ] {
        let expected = data.expected(handovers);
        let mut report = CredentialReport::default();
        assert!(verify_mdoc(&PROVIDERS[0], &bytes, &expected, &mut report).is_err());
    }
}
