//! idgate's verdict on one presentation.

use idgate_core::crypto::aws_lc_rs;
use idgate_core::shell::{ExpectedSdJwtVc, Jwk, TrustEntry, TrustedKey, verify_sd_jwt_vc};
use idgate_core::verify::CredentialReport;
use idgate_core::{IssuerId, Reason, UnixMillis};
use serde_json::Value;

use crate::{AUDIENCE, ISSUER, NONCE, VCT, now_secs};

/// A verifier that trusts one key and asks for some claims.
pub struct Gate {
    issuer: TrustEntry,
    claims: Vec<String>,
}

impl Gate {
    /// Trusts the public key in `jwk` and asks for `claims`.
    ///
    /// # Panics
    /// `jwk` is not a usable key.
    pub fn new(jwk: &Value, claims: &[&str]) -> Self {
        let key = Jwk::parse(jwk.to_string().as_bytes()).expect("a public EC key").key;
        let mut issuer = TrustEntry::new(IssuerId::new(ISSUER));
        issuer.vct.push(VCT.to_owned());
        issuer.keys.push(TrustedKey::new(key));
        Self { issuer, claims: claims.iter().map(|claim| (*claim).to_owned()).collect() }
    }

    /// The requested claims as JSON text, or the reason of the refusal.
    ///
    /// # Errors
    /// The presentation is refused.
    pub fn verdict(&self, presentation: &str) -> Result<String, Reason> {
        let now = UnixMillis::from_secs(now_secs());
        let mut expected = ExpectedSdJwtVc::new(&self.issuer, AUDIENCE, NONCE, now, now);
        expected.claims = &self.claims;
        let mut report = CredentialReport::default();
        verify_sd_jwt_vc(&aws_lc_rs::PROVIDER, presentation, &expected, &mut report)
            .map(|credential| credential.claims().as_json().to_owned())
            .map_err(|error| error.reason)
    }
}
