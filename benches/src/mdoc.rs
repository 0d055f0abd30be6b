//! mdoc cases: the data set's DeviceResponses with all checks except revocation, with both back ends.
//! The floor always uses AWS-LC.

use idgate_core::crypto::{aws_lc_rs, rustcrypto};
use idgate_core::shell::{
    ExpectedMdoc, Handover, MdocRequest, RootOrigin, TrustAnchor, TrustEntry, TrustSnapshot,
    verify_mdoc,
};
use idgate_core::trust::RevocationPolicy;
use idgate_core::verify::CredentialReport;
use idgate_core::{CryptoProvider, IssuerId, UnixMillis};
use serde_json::Value;

use crate::data;
use crate::floor_mdoc;
use crate::measure::Case;

/// Name, root, and kind.
const FIXED: &[(&str, &str, Kind)] = &[
    ("6of25_chain1", "iaca_root1.der", Kind::Live),
    ("6of25_chain1", "iaca_root1.der", Kind::Known),
    ("6of25_chain2", "iaca_root2.der", Kind::Longer),
    ("10of10_chain1", "iaca_root1.der", Kind::Live),
    ("100of100_chain1", "iaca_root1.der", Kind::Live),
    ("1000of1000_chain1", "iaca_root1.der", Kind::Live),
];

#[derive(Clone, Copy, Eq, PartialEq)]
enum Kind {
    /// A chain as short as live sessions require.
    Live,
    /// The same with a known signer. The floor verifies no certificate either.
    Known,
    /// A chain with an intermediate.
    Longer,
}

const ISSUER: &str = "bench";
const DOC_TYPE: &str = "org.iso.18013.5.1.mDL";
const NAME_SPACE: &str = "org.iso.18013.5.1";
/// 2026-12-01, within every date of the data set.
const NOW: UnixMillis = UnixMillis::from_secs(1_796_083_200);

struct Input {
    name: String,
    response: Vec<u8>,
    transcript: Vec<u8>,
    root_key: Vec<u8>,
    trust: TrustSnapshot,
    kind: Kind,
    client_id: String,
    nonce: String,
    response_uri: String,
    mdoc_generated_nonce: String,
    claims: Vec<String>,
}

/// The cases whose name contains `only`.
pub(crate) fn cases(only: &str) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (name, root, kind) in FIXED {
        let input = load(name, root, *kind)?;
        if !input.name.contains(only) {
            continue;
        }
        let input: &'static Input = Box::leak(Box::new(input));
        cases.push(case(input, aws_lc_rs::PROVIDER)?);
        cases.push(case(input, rustcrypto::PROVIDER)?);
    }
    Ok(cases)
}

fn load(name: &str, root: &str, kind: Kind) -> Result<Input, String> {
    let manifest = data::manifest()?;
    let text = |key: &str| manifest.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let root = data::read_bytes(root)?;
    let mut issuer = TrustEntry::new(IssuerId::new(ISSUER));
    let anchor = TrustAnchor::from_der(&aws_lc_rs::PROVIDER, &root, RootOrigin::RootFile);
    issuer.roots.push(anchor.map_err(|error| error.to_string())?);
    issuer.revocation = RevocationPolicy::Off;
    let claims = ["family_name", "given_name", "birth_date", "age_over_18"];
    Ok(Input {
        name: format!("mdoc_es256_{name}{}", if kind == Kind::Known { "_known" } else { "" }),
        response: data::read_bytes(&format!("mdoc_{name}.cbor"))?,
        transcript: data::read_bytes("session_transcript_18013_7.cbor")?,
        root_key: floor_mdoc::point(&root),
        trust: TrustSnapshot::new(1, [issuer]),
        kind,
        client_id: text("aud"),
        nonce: text("nonce"),
        response_uri: text("response_uri"),
        mdoc_generated_nonce: text("mdoc_generated_nonce"),
        claims: claims.map(str::to_owned).into(),
    })
}

fn case(input: &'static Input, provider: CryptoProvider) -> Result<Case, String> {
    let issuer = input.trust.entry(&IssuerId::new(ISSUER)).ok_or("no trust entry")?;
    let request = MdocRequest {
        client_id: &input.client_id,
        nonce: &input.nonce,
        response_uri: &input.response_uri,
    };
    let idgate = move || {
        let mdoc_generated_nonce = &input.mdoc_generated_nonce;
        let handovers = [Handover::Iso180137 { mdoc_generated_nonce }];
        let mut expected = ExpectedMdoc::new(issuer, DOC_TYPE, NAME_SPACE, request, NOW);
        if input.kind == Kind::Known {
            expected = expected.remembering(&input.trust);
        }
        expected.livemode = input.kind != Kind::Longer;
        expected.handovers = &handovers;
        expected.claims = &input.claims;
        let mut report = CredentialReport::default();
        let verified = verify_mdoc(&provider, &input.response, &expected, &mut report);
        assert!(verified.is_ok_and(|v| v.claims().names().count() == input.claims.len()));
    };
    let floor = move || {
        let root_key = (input.kind != Kind::Known).then_some(&*input.root_key);
        assert!(floor_mdoc::verify(&input.response, &input.transcript, root_key));
    };
    Ok(Case {
        name: input.name.clone(),
        backend: provider.name,
        idgate: Box::new(idgate),
        floor: Box::new(floor),
    })
}
