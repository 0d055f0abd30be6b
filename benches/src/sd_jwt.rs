//! SD-JWT VC cases: the data set's presentations with every check on, both back ends.

use idgate_core::crypto::{aws_lc_rs, rustcrypto};
use idgate_core::shell::{ExpectedSdJwtVc, TrustEntry, TrustedKey, verify_sd_jwt_vc};
use idgate_core::verify::CredentialReport;
use idgate_core::{ClaimPath, CryptoProvider, IssuerId, UnixMillis};

use crate::data::{self, Input};
use crate::floor::{self, Backend};
use crate::measure::Case;

const FIXED: &[&str] = &[
    "sdjwt_es256_10of30",
    "sdjwt_es384_10of30",
    "sdjwt_es512_10of30",
    "sdjwt_es256_10of1000",
    "sdjwt_es256_10of10",
    "sdjwt_es256_100of100",
    "sdjwt_es256_1000of1000",
];

/// The cases whose name contains `only`.
pub(crate) fn cases(only: &str) -> Result<Vec<Case>, String> {
    let mut inputs = Vec::new();
    for name in FIXED {
        inputs.push(data::load(name)?);
    }
    for count in [2000, 4000] {
        inputs.push(crate::grown::presentation(count)?);
    }
    let mut cases = Vec::new();
    for input in inputs.into_iter().filter(|input| input.name.contains(only)) {
        let input: &'static Input = Box::leak(Box::new(input));
        for (provider, backend) in
            [(aws_lc_rs::PROVIDER, Backend::AwsLcRs), (rustcrypto::PROVIDER, Backend::RustCrypto)]
        {
            cases.push(case(&input.name, input, Asked::default(), provider, backend));
        }
    }
    Ok(cases)
}

/// The parts of a request in addition to claim names.
#[derive(Default)]
pub(crate) struct Asked {
    /// The paths of claims that are not members of the payload under their names.
    pub(crate) paths: Vec<(String, ClaimPath)>,
    /// The accepted types. Empty: any type.
    pub(crate) vct: Vec<String>,
}

/// One presentation that discloses all requested claims.
pub(crate) fn case(
    name: &str,
    input: &'static Input,
    asked: Asked,
    provider: CryptoProvider,
    backend: Backend,
) -> Case {
    let mut issuer = TrustEntry::new(IssuerId::new(&*input.iss));
    issuer.keys.push(TrustedKey::new(input.issuer_key));
    let now = UnixMillis::from_secs(input.presented_at);
    let idgate = move || {
        let mut expected = ExpectedSdJwtVc::new(&issuer, &input.audience, &input.nonce, now, now);
        (expected.claims, expected.claim_paths) = (&input.claims, &asked.paths);
        expected.vct = &asked.vct;
        let mut report = CredentialReport::default();
        let verified = verify_sd_jwt_vc(&provider, &input.presentation, &expected, &mut report);
        assert!(verified.is_ok_and(|v| v.claims().names().count() == input.claims.len()));
    };
    let floor = move || {
        let key = input.issuer_key.sec1();
        assert!(floor::verify(backend, &input.presentation, key, &input.nonce, &input.audience));
    };
    Case {
        name: name.into(),
        backend: provider.name,
        idgate: Box::new(idgate),
        floor: Box::new(floor),
    }
}
