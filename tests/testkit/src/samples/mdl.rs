//! Erika Mustermann's driving licence, and the root and the signer behind it.

use crate::keys::{Curve, SigningKey};
use crate::mdoc::{Cbor, Document, IssuerSigned, rfc3339};
use crate::time::{DAY_MS, YEAR_MS};
use crate::x509::{CRL_DISTRIBUTION_POINTS, CertificateBuilder, Identity, Name};

/// The name of the sample authority's trust entry.
pub const MDL_ISSUER: &str = "https://iaca.example";

/// A driving licence and the certificates around it.
#[derive(Clone, Debug)]
pub struct SampleMdl {
    /// The root to trust.
    pub root: Identity,
    /// The signer of the licence. It publishes no CRL, which test-mode sessions tolerate.
    pub signer: Identity,
    /// The licence, with its device key.
    pub document: Document,
}

/// A driving licence on P-256, signed at `now_ms`, valid for 30 days.
pub fn issue_mdl(now_ms: u64) -> SampleMdl {
    let root = Identity::iaca(Curve::P256, now_ms);
    let key = SigningKey::from_seed(Curve::P256, "idgate sample document signer");
    let name = Name::new("UT", "Utopia document signer");
    let signer = CertificateBuilder::document_signer(&root, name, &key, now_ms)
        .without(CRL_DISTRIBUTION_POINTS)
        .issue(&root, &key);
    let device = SigningKey::from_seed(Curve::P256, "idgate sample device");
    let chain = [signer.der.clone()];
    let issued = IssuerSigned::mdl(&licence(now_ms), &signer.key, &chain, &device, now_ms);
    SampleMdl { root, signer, document: Document::new(issued, &device) }
}

fn licence(now_ms: u64) -> Vec<(&'static str, Cbor)> {
    let date = |ms| Cbor::full_date(rfc3339(ms).get(..10).unwrap_or_default());
    vec![
        ("family_name", "Mustermann".into()),
        ("given_name", "Erika".into()),
        ("birth_date", Cbor::full_date("1984-08-12")),
        ("issue_date", date(now_ms.saturating_sub(DAY_MS))),
        ("expiry_date", date(now_ms.saturating_add(10 * YEAR_MS))),
        ("issuing_country", "UT".into()),
        ("document_number", "UT-0815-4711".into()),
        ("age_over_16", true.into()),
        ("age_over_21", true.into()),
        ("age_over_65", false.into()),
    ]
}
