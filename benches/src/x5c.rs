//! SD-JWT VCs signed by a certificate in `x5c`, including the path to its root, with both back ends;
//! and the same with a known signer.

use idgate_core::crypto::{aws_lc_rs, rustcrypto};
use idgate_core::shell::{
    ExpectedSdJwtVc, RootOrigin, TrustAnchor, TrustEntry, TrustSnapshot, verify_sd_jwt_vc,
};
use idgate_core::trust::RevocationPolicy;
use idgate_core::verify::CredentialReport;
use idgate_core::{CryptoProvider, IssuerId, UnixMillis};
use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};

use crate::floor::{self, Backend};
use crate::grown::{self, Shown};
use crate::measure::Case;

/// The path from the issuer to its root.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Kind {
    /// Directly below the root.
    Direct,
    /// The same with a known signer. The floor verifies no certificate either.
    Known,
    /// Through an intermediate.
    Longer,
}

const KINDS: [(&str, Kind); 3] = [
    ("sd_jwt_es256_x5c_10of30", Kind::Direct),
    ("sd_jwt_es256_x5c_10of30_known", Kind::Known),
    ("sd_jwt_es256_x5c_10of30_chain2", Kind::Longer),
];

struct Input {
    name: &'static str,
    shown: Shown,
    root_key: Vec<u8>,
    trust: TrustSnapshot,
    kind: Kind,
}

/// The cases whose name contains `only`.
pub(crate) fn cases(only: &str) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (name, kind) in KINDS.into_iter().filter(|(name, _)| name.contains(only)) {
        let input: &'static Input = Box::leak(Box::new(make(name, kind)?));
        cases.push(case(input, aws_lc_rs::PROVIDER, Backend::AwsLcRs)?);
        cases.push(case(input, rustcrypto::PROVIDER, Backend::RustCrypto)?);
    }
    Ok(cases)
}

fn make(name: &'static str, kind: Kind) -> Result<Input, String> {
    let now_ms = grown::PRESENTED_AT * 1000;
    let root = Identity::issuer_root(Curve::P256, now_ms);
    let key = grown::issuer_key();
    let chain = match kind {
        Kind::Direct | Kind::Known => vec![root.issuer_of_sd_jwts(&key, now_ms).der],
        Kind::Longer => {
            let name = Name::new("UT", "Bench CA");
            let ca = CertificateBuilder::issuer_root(name, &root.key, now_ms).under(&root);
            let ca = ca.issue(&root, &root.key);
            vec![ca.issuer_of_sd_jwts(&key, now_ms).der, ca.der]
        }
    };
    let shown = grown::shown(30, 10, |credential| credential.x5c(&chain));
    let mut issuer = TrustEntry::new(IssuerId::new(samples::ISSUER));
    let anchor = TrustAnchor::from_der(&aws_lc_rs::PROVIDER, &root.der, RootOrigin::RootFile);
    issuer.sd_jwt_roots.push(anchor.map_err(|error| error.to_string())?);
    issuer.revocation = RevocationPolicy::Off;
    let trust = TrustSnapshot::new(1, [issuer]);
    Ok(Input { name, shown, root_key: root.key.public_sec1(), trust, kind })
}

fn case(input: &'static Input, provider: CryptoProvider, backend: Backend) -> Result<Case, String> {
    let issuer = input.trust.entry(&IssuerId::new(samples::ISSUER)).ok_or("no trust entry")?;
    let now = UnixMillis::from_secs(grown::PRESENTED_AT);
    let shown = &input.shown;
    let idgate = move || {
        let mut expected = ExpectedSdJwtVc::new(issuer, &shown.audience, &shown.nonce, now, now);
        if input.kind == Kind::Known {
            expected = expected.remembering(&input.trust);
        }
        expected.claims = &shown.claims;
        let mut report = CredentialReport::default();
        let verified = verify_sd_jwt_vc(&provider, &shown.presentation, &expected, &mut report);
        assert!(verified.is_ok_and(|v| v.claims().names().count() == shown.claims.len()));
    };
    let floor = move || {
        let root_key = (input.kind != Kind::Known).then_some(&*input.root_key);
        let key = floor::certified_key(backend, &shown.presentation, root_key);
        assert!(floor::verify(backend, &shown.presentation, &key, &shown.nonce, &shown.audience));
    };
    Ok(Case {
        name: input.name.into(),
        backend: provider.name,
        idgate: Box::new(idgate),
        floor: Box::new(floor),
    })
}
