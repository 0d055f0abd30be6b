//! The mark of sample certificates: a certificate policy that `idgate sandbox` puts into the roots
//! and signers of its issuers. Live sessions trust no certificate that has it, wherever it comes
//! from.

use x509_parser::oid_registry::OID_X509_EXT_CERTIFICATE_POLICIES;

use super::certificate::Certificate;
use crate::codec::der::{self, Reader};

/// The content bytes of 2.25.4256656499847039292397888995468663693, a UUID generated for idgate as
/// an object identifier (Rec. ITU-T X.667 7).
const SAMPLE_POLICY: [u8; 19] = [
    0x69, 0x86, 0xb3, 0xe6, 0xd7, 0xcc, 0xd1, 0xda, 0xb3, 0xf7, 0xaa, 0xae, 0xa7, 0xee, 0xaa, 0xd3,
    0x89, 0xb7, 0x0d,
];

/// Why a live session refuses a credential signed by a marked certificate.
pub(crate) const SAMPLE_REFUSED: &str =
    "the issuer's certificate has the policy of sandbox samples, which live sessions do not trust";

/// Whether the certificate is a sandbox's: one of its policies is the mark (RFC 5280 4.2.1.4).
pub(super) fn is_sample(certificate: &Certificate<'_>) -> bool {
    let Some(extension) = certificate.extension(&OID_X509_EXT_CERTIFICATE_POLICIES) else {
        return false;
    };
    let Some(mut policies) = Reader::within(extension.value, der::SEQUENCE) else { return false };
    while let Some(mut policy) = policies.enter(der::SEQUENCE) {
        if policy.element(der::OID).is_some_and(|id| id.content == SAMPLE_POLICY) {
            return true;
        }
    }
    false
}
