//! What the sample issuers publish: CRLs, status lists, and the trusted lists that name them.

use idgate_testkit::der::UTF8_STRING;
use idgate_testkit::jws;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::status::{Crl, StatusCwt, StatusJwt, StatusList};
use idgate_testkit::time::{DAY_MS, MINUTE_MS, compact_utc, numeric_date};
use idgate_testkit::trusted_list::{Kind, ORGANIZATION, TrustedList, provider};
use idgate_testkit::x509::{
    BASIC_CONSTRAINTS, CertificateBuilder, EXT_KEY_USAGE, Identity, KEY_USAGE, Name,
    SUBJECT_KEY_IDENTIFIER, basic_constraints, ext_key_usage, key_identifier, key_usage,
    subject_key_identifier,
};
use serde_json::json;

use super::issuers::{Provider, REVOKED};

/// The operator of the trusted lists.
const OPERATOR: &str = "idgate sandbox";
const PLACES: usize = 1024;
/// Extended key usage of trusted-list signers (ETSI TS 119 612 5.7.1).
const TSL_SIGNING: &str = "0.4.0.2231.3.0";
const DIGITAL_SIGNATURE: u8 = 0b1000_0000;
/// 10 years
const DAYS: u64 = 3650;

impl Provider {
    /// A CRL without revoked certificates.
    pub(super) fn crl(&self, now_ms: u64) -> Vec<u8> {
        let (name, identifier) = (self.root.builder.subject.der(), key_identifier(&self.root.key));
        let made = compact_utc(now_ms.saturating_sub(MINUTE_MS));
        let next = compact_utc(now_ms.saturating_add(DAY_MS));
        Crl::new(&name, &identifier, &made, &next).sign(&self.root.key)
    }

    /// The status list of its SD-JWT VCs.
    pub(super) fn status_jwt(&self, now_ms: u64) -> String {
        StatusJwt::new(&statuses(), &self.status_uri("jwt"), issued(now_ms))
            .with_header("x5c", jws::x5c(&[&self.signer.der]))
            .sign(&self.key)
    }

    /// The status list of its mdocs.
    pub(super) fn status_cwt(&self, now_ms: u64) -> Vec<u8> {
        let (uri, chain) = (self.status_uri("cwt"), [&*self.signer.der]);
        StatusCwt::new(&statuses(), &uri, issued(now_ms), &chain).sign(&self.signer.key)
    }
}

fn statuses() -> StatusList {
    let revoked = usize::try_from(REVOKED).unwrap_or(0);
    StatusList::new(1, PLACES).with(revoked, 1)
}

fn issued(now_ms: u64) -> u64 {
    numeric_date(now_ms.saturating_sub(MINUTE_MS))
}

/// The certificate that signs the trusted lists. Gateways trust it directly as signer.
pub(super) fn list_signer(seed: &str, made_at: u64) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, format!("{seed} trusted lists"));
    let name = Name::new("UT", OPERATOR).with(ORGANIZATION, UTF8_STRING, OPERATOR);
    CertificateBuilder::new(name.clone(), name, &key, made_at, DAYS)
        .set(BASIC_CONSTRAINTS, true, basic_constraints(false, None))
        .set(KEY_USAGE, true, key_usage(DIGITAL_SIGNATURE))
        .set(SUBJECT_KEY_IDENTIFIER, false, subject_key_identifier(&key))
        .set(EXT_KEY_USAGE, false, ext_key_usage(&[TSL_SIGNING]))
        .self_sign(&key)
}

/// The list of this kind and number with these providers.
pub(super) fn trusted_list<'p>(
    kind: Kind,
    providers: impl Iterator<Item = &'p Provider>,
    sequence: u64,
    signer: &Identity,
    now_ms: u64,
) -> String {
    let operator = json!([{ "lang": "en", "value": OPERATOR }]);
    let list =
        TrustedList::new(kind, now_ms).numbered(sequence).scheme("SchemeOperatorName", operator);
    let with = |list: TrustedList, one: &Provider| {
        let services = [kind.issuance(&[&one.root.der])];
        list.with(provider(one.is.name, one.is.identifier, one.is.country, &services))
    };
    providers.fold(list, with).sign(signer)
}
