//! mdoc cases: the data set's DeviceResponses with every check on but revocation, both back ends.
//! The floor is always AWS-LC's.

use idgate_core::crypto::{CryptoProvider, aws_lc_rs, rustcrypto};
use idgate_core::formats::mdoc::Handover;
use idgate_core::ids::IssuerId;
use idgate_core::time::UnixMillis;
use idgate_core::trust::{RevocationPolicy, RootOrigin, TrustAnchor, TrustEntry};
use idgate_core::verify::{CredentialReport, ExpectedMdoc, MdocRequest, verify_mdoc};
use serde_json::Value;

use crate::data;
use crate::floor_mdoc;
use crate::measure::Case;

/// Name, root, and whether the chain is as short as live sessions want it.
const FIXED: &[(&str, &str, bool)] = &[
    ("6of25_chain1", "iaca_root1.der", true),
    ("6of25_chain2", "iaca_root2.der", false),
    ("10of10_chain1", "iaca_root1.der", true),
    ("100of100_chain1", "iaca_root1.der", true),
    ("1000of1000_chain1", "iaca_root1.der", true),
];

const DOC_TYPE: &str = "org.iso.18013.5.1.mDL";
const NAME_SPACE: &str = "org.iso.18013.5.1";
/// 2026-12-01, within every date of the data set.
const NOW: UnixMillis = UnixMillis::from_secs(1_796_083_200);

struct Input {
    name: String,
    response: Vec<u8>,
    transcript: Vec<u8>,
    root_key: Vec<u8>,
    issuer: TrustEntry,
    livemode: bool,
    client_id: String,
    nonce: String,
    response_uri: String,
    mdoc_generated_nonce: String,
    claims: Vec<String>,
}

/// The cases whose name contains `only`.
pub(crate) fn cases(only: &str) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (name, root, livemode) in FIXED {
        let input = load(name, root, *livemode)?;
        if !input.name.contains(only) {
            continue;
        }
        let input: &'static Input = Box::leak(Box::new(input));
        cases.push(case(input, aws_lc_rs::PROVIDER));
        cases.push(case(input, rustcrypto::PROVIDER));
    }
    Ok(cases)
}

fn load(name: &str, root: &str, livemode: bool) -> Result<Input, String> {
    let manifest = data::manifest()?;
    let text = |key: &str| manifest.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let root = data::read_bytes(root)?;
    let mut issuer = TrustEntry::new(IssuerId::new("bench"));
    let anchor = TrustAnchor::from_der(&root, RootOrigin::RootFile);
    issuer.roots.push(anchor.map_err(|error| error.to_string())?);
    issuer.revocation = RevocationPolicy::Off;
    let claims = ["family_name", "given_name", "birth_date", "age_over_18"];
    Ok(Input {
        name: format!("mdoc_es256_{name}"),
        response: data::read_bytes(&format!("mdoc_{name}.cbor"))?,
        transcript: data::read_bytes("session_transcript_18013_7.cbor")?,
        root_key: floor_mdoc::point(&root),
        issuer,
        livemode,
        client_id: text("aud"),
        nonce: text("nonce"),
        response_uri: text("response_uri"),
        mdoc_generated_nonce: text("mdoc_generated_nonce"),
        claims: claims.map(str::to_owned).into(),
    })
}

fn case(input: &'static Input, provider: CryptoProvider) -> Case {
    let request = MdocRequest {
        client_id: &input.client_id,
        nonce: &input.nonce,
        response_uri: &input.response_uri,
    };
    let idgate = move || {
        let mdoc_generated_nonce = &input.mdoc_generated_nonce;
        let handovers = [Handover::Iso180137 { mdoc_generated_nonce }];
        let mut expected = ExpectedMdoc::new(&input.issuer, DOC_TYPE, NAME_SPACE, request, NOW);
        expected.livemode = input.livemode;
        expected.handovers = &handovers;
        expected.claims = &input.claims;
        let mut report = CredentialReport::default();
        let verified = verify_mdoc(&provider, &input.response, &expected, &mut report);
        assert!(verified.is_ok_and(|v| v.claims().names().count() == input.claims.len()));
    };
    let floor = move || {
        assert!(floor_mdoc::verify(&input.response, &input.transcript, &input.root_key));
    };
    Case {
        name: input.name.clone(),
        backend: provider.name,
        idgate: Box::new(idgate),
        floor: Box::new(floor),
    }
}
