//! Ready-made people and credentials, modelled on the European person identification data.

mod mdl;

use serde_json::json;

pub use self::mdl::{MDL_ISSUER, SampleMdl, issue_mdl};

use crate::claim::Claim;
use crate::issuer::{CredentialBuilder, Issued};
use crate::keys::{Curve, SigningKey};
use crate::time::{DAY_MS, YEAR_MS, numeric_date};

/// The sample issuer.
pub const ISSUER: &str = "https://issuer.example";
/// The type of the sample credential.
pub const VCT: &str = "urn:eudi:pid:1";

/// A credential and the keys around it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The key that signed it. Trust its public half.
    pub issuer_key: SigningKey,
    /// The key that it is bound to.
    pub holder_key: SigningKey,
    /// The credential.
    pub credential: Issued,
}

/// Erika Mustermann's identity credential on P-256, valid at `now_ms`.
pub fn issue_sample(now_ms: u64) -> Sample {
    issue_sample_on(Curve::P256, now_ms)
}

/// Erika Mustermann's identity credential with keys on `curve`, valid at `now_ms`.
pub fn issue_sample_on(curve: Curve, now_ms: u64) -> Sample {
    let (issuer_key, holder_key) = (issuer_key(curve), holder_key(curve));
    let credential = identity(&holder_key, now_ms).issue(&issuer_key);
    Sample { issuer_key, holder_key, credential }
}

/// The sample issuer's key on `curve`: the same one on every run.
pub fn issuer_key(curve: Curve) -> SigningKey {
    let kid = format!("issuer-{}", curve.alg());
    SigningKey::from_seed(curve, "idgate sample issuer").with_kid(kid)
}

/// The sample holder's key on `curve`: the same one on every run.
pub fn holder_key(curve: Curve) -> SigningKey {
    SigningKey::from_seed(curve, "idgate sample holder")
}

/// Erika Mustermann's identity before it is signed, with flat, nested, recursive and array claims. Issued
/// yesterday, valid for a year.
pub fn identity(holder: &SigningKey, now_ms: u64) -> CredentialBuilder {
    let issued_ms = now_ms.saturating_sub(DAY_MS);
    CredentialBuilder::new()
        .salt_seed(format!("identity {now_ms}"))
        .plain("iss", ISSUER)
        .plain("vct", VCT)
        .plain("iat", numeric_date(issued_ms))
        .plain("nbf", numeric_date(issued_ms))
        .plain("exp", numeric_date(issued_ms.saturating_add(YEAR_MS)))
        .holder(holder)
        .sd("given_name", "Erika")
        .sd("family_name", "Mustermann")
        .sd("birthdate", "1984-08-12")
        .plain("age_equal_or_over", ages())
        .sd("nationalities", Claim::array().sd_element("DE").sd_element("FR"))
        .sd("address", address())
        .sd("place_of_birth", json!({ "locality": "Berlin", "country": "DE" }))
}

fn ages() -> Claim {
    Claim::object().sd("12", true).sd("16", true).sd("18", true).sd("21", true).sd("65", false)
}

fn address() -> Claim {
    Claim::object()
        .sd("street_address", "Heidestraße 17")
        .sd("locality", "Köln")
        .sd("postal_code", "51147")
        .sd("country", "DE")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jws;

    #[test]
    fn the_sample_is_valid_now_and_bound_to_its_holder() {
        let now_ms = crate::time::SAMPLE_NOW_MS;
        for curve in Curve::ALL {
            let sample = issue_sample_on(curve, now_ms);
            let payload = sample.credential.payload();
            assert_eq!(payload["cnf"]["jwk"], sample.holder_key.public_jwk());
            assert!(payload["nbf"].as_u64() < Some(now_ms / 1000));
            assert!(payload["exp"].as_u64() > Some(now_ms / 1000));
            let header = jws::header(&sample.credential.jwt).unwrap_or_default();
            assert_eq!(header["alg"], curve.alg());
        }
    }

    #[test]
    fn no_selective_value_is_visible() {
        let payload = issue_sample(0).credential.payload().to_string();
        for value in ["Erika", "Mustermann", "1984-08-12", "Köln", "FR"] {
            assert!(!payload.contains(value));
        }
    }
}
