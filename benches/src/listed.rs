//! Trusted lists of 2,000 providers: an SD-JWT VC of one of them, compared with the only provider of a short
//! list, and the import of such a list. For the first case the floor is idgate with the short list, so the ratio
//! is the cost of a long one. For the second the floor reads the same JSON, and the time must be below 100 ms.

use idgate_core::crypto::aws_lc_rs;
use idgate_core::shell::{
    ExpectedSdJwtVc, ListAnchors, ListRules, ListTerms, TrustEntry, TrustSnapshot,
    import_trusted_list, verify_sd_jwt_vc,
};
use idgate_core::trust::RevocationPolicy;
use idgate_core::verify::CredentialReport;
use idgate_core::{CryptoProvider, IssuerId, UnixMillis};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::samples;
use idgate_testkit::trusted_list::{
    Kind, QC_STATEMENTS, TrustedList, list_signer, provider, qc_type_pid,
};
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};
use serde_json::Value;

use crate::grown::{self, Shown};
use crate::measure::Case;

const VERIFIED: &str = "sd_jwt_es256_x5c_10of30_listed_2000";
const TAKEN: &str = "trusted_list_2000_taken";
const NOW_MS: u64 = grown::PRESENTED_AT * 1000;

struct Input {
    shown: Shown,
    /// By the length of the list.
    short: TrustSnapshot,
    long: TrustSnapshot,
}

/// The cases whose names contain `only`.
pub(crate) fn cases(only: &str) -> Result<Vec<Case>, String> {
    let provider = aws_lc_rs::PROVIDER;
    let mut cases = Vec::new();
    if VERIFIED.contains(only) {
        let input: &'static Input = Box::leak(Box::new(make()?));
        cases.push(Case {
            name: VERIFIED.into(),
            backend: provider.name,
            idgate: Box::new(move || verify(&provider, &input.shown, &input.long)),
            floor: Box::new(move || verify(&provider, &input.shown, &input.short)),
        });
    }
    if TAKEN.contains(only) {
        let list = list((0..2000).map(other).collect());
        let signer = list_signer(NOW_MS);
        let (token, payload) = (list.sign(&signer), list.payload.to_string());
        taken(&token, &signer.der)?;
        cases.push(Case {
            name: TAKEN.into(),
            backend: provider.name,
            idgate: Box::new(move || drop(taken(&token, &signer.der))),
            floor: Box::new(move || drop(serde_json::from_str::<Value>(&payload))),
        });
    }
    Ok(cases)
}

fn make() -> Result<Input, String> {
    let root = Identity::issuer_root(Curve::P256, NOW_MS);
    let key = grown::issuer_key();
    let signer = root.issuer_of_sd_jwts(&key, NOW_MS).builder;
    let signer = signer.set(QC_STATEMENTS, false, qc_type_pid()).sign(&root.key);
    let shown = grown::shown(30, 10, |credential| credential.x5c(&[&signer]));
    let own = provider("P", "NTRUT-0", "UT", &[Kind::Pid.issuance(&[&root.der])]);
    let others = (1..2000).map(other);
    let long: Vec<Value> = others.chain([own.clone()]).collect();
    let list_signer = list_signer(NOW_MS);
    let trust = |providers| taken(&list(providers).sign(&list_signer), &list_signer.der);
    Ok(Input { shown, short: trust(vec![own])?, long: trust(long)? })
}

fn other(n: usize) -> Value {
    let key = SigningKey::from_seed(Curve::P256, format!("listed root {n}"));
    let name = Name::new("UT", &format!("Provider {n}"));
    let root = CertificateBuilder::issuer_root(name, &key, NOW_MS).sign(&key);
    provider("P", &format!("NTRUT-{n}"), "UT", &[Kind::Pid.issuance(&[&root])])
}

fn list(providers: Vec<Value>) -> TrustedList {
    let mut list = TrustedList::new(Kind::Pid, NOW_MS);
    if let Some(all) = list.payload.pointer_mut("/LoTE/TrustedEntitiesList") {
        *all = Value::Array(providers);
    }
    list
}

/// The trust of an entry that imports this list.
fn taken(token: &str, signer: &[u8]) -> Result<TrustSnapshot, String> {
    let anchors = ListAnchors::from_file(&aws_lc_rs::PROVIDER, signer);
    let anchors = anchors.map_err(|error| error.to_string())?;
    let rules = ListRules::new(&anchors);
    let now = UnixMillis(NOW_MS);
    let read = import_trusted_list(&aws_lc_rs::PROVIDER, token.as_bytes(), &rules, now);
    let mut entry = TrustEntry::new(IssuerId::new(samples::ISSUER));
    entry.vct.push(samples::VCT.into());
    entry.revocation = RevocationPolicy::Off;
    entry.take_list(&read.map_err(|error| error.to_string())?, &ListTerms::default());
    Ok(TrustSnapshot::new(1, [entry]))
}

fn verify(provider: &CryptoProvider, shown: &Shown, trust: &TrustSnapshot) {
    let now = UnixMillis::from_secs(grown::PRESENTED_AT);
    let entry = trust.entry(&IssuerId::new(samples::ISSUER));
    let verified = entry.map(|entry| {
        let expected = ExpectedSdJwtVc::new(entry, &shown.audience, &shown.nonce, now, now);
        let mut expected = expected.remembering(trust);
        expected.claims = &shown.claims;
        let mut report = CredentialReport::default();
        verify_sd_jwt_vc(provider, &shown.presentation, &expected, &mut report)
    });
    assert!(verified.is_some_and(|verified| verified.is_ok()));
}
