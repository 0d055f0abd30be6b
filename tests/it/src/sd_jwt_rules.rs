//! The rules of an SD-JWT VC presentation (RFC 9901 4 and 7, SD-JWT VC 2) that the table in
//! `tamper` cannot express: trust and request, limits, and the contents of a result. Each runs on
//! both back ends, next to the good presentation that differs only in that point.

mod claims;
mod disclosures;
mod issuer_jwt;
mod key_binding;
mod structure;
mod x5c;

use std::sync::Arc;

use idgate_core::crypto::{Alg, aws_lc_rs, rustcrypto};
use idgate_core::shell::{
    ExpectedSdJwtVc, Jwk, TrustEntry, TrustSnapshot, TrustedKey, VerifiedCredential,
    verify_sd_jwt_vc,
};
use idgate_core::trust::RevocationPolicy;
use idgate_core::verify::CredentialReport;
use idgate_core::{CryptoProvider, IssuerId, Reason, Refused, Sent, Trust, UnixMillis};
use idgate_testkit::claim::Claim;
use idgate_testkit::codec::{HashAlg, base64url};
use idgate_testkit::disclosure::{Disclosure, Segment};
use idgate_testkit::issuer::{CredentialBuilder, Issued, Unsigned};
use idgate_testkit::jws;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{ISSUER, VCT};
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use serde_json::{Value, json};

const NOW: u64 = 1_800_000_000;
const AUDIENCE: &str = "redirect_uri:https://gateway.example/v1/oid4vp/response/ses_1";
const NONCE: &str = "n-0S6_WzA2Mj";
const PROVIDERS: [CryptoProvider; 2] = [aws_lc_rs::PROVIDER, rustcrypto::PROVIDER];

/// A presentation in the making, and the expectation.
struct Case {
    issuer: SigningKey,
    holder: SigningKey,
    trust: TrustEntry,
    claims: Vec<String>,
    alg: Option<Alg>,
}

type Verdict = Result<VerifiedCredential, Reason>;

impl Case {
    fn new() -> Self {
        Self::on(Curve::P256)
    }

    fn on(curve: Curve) -> Self {
        let issuer = SigningKey::from_seed(curve, "issuer");
        let mut trust = TrustEntry::new(IssuerId::new(ISSUER));
        trust.keys.push(trusted(&issuer));
        trust.vct.push(VCT.into());
        let holder = SigningKey::from_seed(curve, "holder");
        Self { issuer, holder, trust, claims: vec!["given_name".into()], alg: None }
    }

    fn credential(&self) -> CredentialBuilder {
        CredentialBuilder::new()
            .plain("iss", ISSUER)
            .plain("vct", VCT)
            .plain("iat", NOW - 1000)
            .plain("exp", NOW + 1000)
            .holder(&self.holder)
            .sd("given_name", "Erika")
            .sd("family_name", "Mustermann")
    }

    fn unsigned(&self, change: impl FnOnce(&mut Unsigned)) -> Issued {
        let mut unsigned = self.credential().build();
        change(&mut unsigned);
        unsigned.sign(&self.issuer)
    }

    fn proof(&self, shown: &Presentation) -> KbJwt {
        let request = AuthorizationRequest {
            client_id: AUDIENCE.into(),
            response_uri: String::new(),
            nonce: NONCE.into(),
            state: String::new(),
            definition_id: String::new(),
            descriptors: Vec::new(),
        };
        KbJwt::new(&self.holder, shown, &request, NOW * 1000)
    }

    /// Presents everything with a good key binding JWT.
    fn present(&self, credential: &Issued) -> Verdict {
        self.verify(&self.text(credential))
    }

    fn text(&self, credential: &Issued) -> String {
        let shown = Presentation::whole(credential);
        present(&shown, Some(&self.proof(&shown).sign()))
    }

    /// Presents the disclosures that `choose` picks, with a good key binding JWT.
    fn present_choosing(
        &self,
        credential: &Issued,
        choose: impl Fn(&Disclosure) -> bool,
    ) -> Verdict {
        let shown = Presentation::choosing(credential, choose);
        self.verify(&present(&shown, Some(&self.proof(&shown).sign())))
    }

    /// The verdict, which is the same on both back ends, and again once a signer is remembered.
    fn verify(&self, text: &str) -> Verdict {
        let trust = TrustSnapshot::new(1, [self.trust.clone()]);
        let entry = trust.entry(&self.trust.issuer_id).unwrap();
        let expected = self.expected(entry);
        let verdict_of = |provider: CryptoProvider, expected: &ExpectedSdJwtVc<'_>| {
            let mut report = CredentialReport::default();
            let verdict = verify_sd_jwt_vc(&provider, text, expected, &mut report);
            assert_eq!(verdict.is_err(), report.failed.is_some());
            verdict.map_err(|error| error.reason)
        };
        let [first, second] = PROVIDERS.map(|provider| verdict_of(provider, &expected));
        assert_eq!(first.as_ref().err(), second.as_ref().err());
        let expected = expected.remembering(&trust);
        for _ in 0..2 {
            let again = verdict_of(PROVIDERS[0], &expected);
            assert_eq!(first.as_ref().err(), again.as_ref().err(), "with a known signer");
        }
        self.is_the_same_by_the_front_door(&first, text, trust);
        first
    }

    /// A program that verifies a single presentation gets the same verdict and the same claims.
    fn is_the_same_by_the_front_door(&self, verdict: &Verdict, text: &str, trust: TrustSnapshot) {
        let now = UnixMillis::from_secs(NOW);
        let claims: Vec<&str> = self.claims.iter().map(String::as_str).collect();
        let sent = Sent { client_id: AUDIENCE, nonce: NONCE, at: now };
        let expected = idgate_core::Expected::sd_jwt_vc(self.trust.issuer_id.as_str(), sent);
        let mut expected = expected.claims(&claims);
        if let Some(alg) = self.alg {
            expected = expected.alg(alg);
        }
        let trust = Trust::of_snapshot(PROVIDERS[0], Arc::new(trust));
        let door = trust.verify(text, &expected, now);
        assert_eq!(verdict.as_ref().err().copied(), door.as_ref().err().map(Refused::reason));
        if let (Ok(verdict), Ok(door)) = (verdict, &door) {
            assert_eq!(verdict.claims().as_json(), door.claims_json());
        }
    }

    /// The report on that presentation.
    fn report(&self, text: &str) -> CredentialReport {
        let mut report = CredentialReport::default();
        let expected = self.expected(&self.trust);
        verify_sd_jwt_vc(&PROVIDERS[0], text, &expected, &mut report).unwrap();
        report
    }

    fn expected<'e>(&'e self, entry: &'e TrustEntry) -> ExpectedSdJwtVc<'e> {
        let now = UnixMillis::from_secs(NOW);
        let mut expected = ExpectedSdJwtVc::new(entry, AUDIENCE, NONCE, now, now);
        expected.claims = &self.claims;
        expected.alg = self.alg;
        expected
    }
}

fn trusted(key: &SigningKey) -> TrustedKey {
    let jwk = Jwk::parse(key.public_jwk().to_string().as_bytes()).unwrap();
    let trusted = TrustedKey::new(jwk.key);
    match key.kid() {
        Some(kid) => trusted.with_kid(kid),
        None => trusted,
    }
}

#[track_caller]
fn refused(verdict: Verdict, reason: Reason) {
    assert_eq!(verdict.err(), Some(reason));
}

#[track_caller]
fn malformed(verdict: Verdict) {
    refused(verdict, Reason::MalformedPresentation);
}

#[track_caller]
fn accepted(verdict: Verdict) -> VerifiedCredential {
    verdict.unwrap()
}
