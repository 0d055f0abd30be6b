//! The extended key usages of certificates that may sign SD-JWT VCs (RFC 5280 4.2.1.12).

#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
#[allow(clippy::unwrap_used)]
mod tests;

use x509_parser::oid_registry::OID_X509_EXT_EXTENDED_KEY_USAGE;

use super::certificate::Certificate;
use super::oid::Oid;
use super::profile::Broken;

/// Whether the certificate is for signing SD-JWT VCs. With `ekus` it must have one of them. A
/// certificate without extended key usage or with anyExtendedKeyUsage is for every purpose, and
/// then needs 2.5.29.37.0 among `ekus`. Without `ekus` any certificate is accepted, unless all its
/// usages are for other purposes.
pub(crate) fn check_sd_jwt_usage(signer: &Certificate<'_>, ekus: &[Oid]) -> Result<(), Broken> {
    let extension = signer.extension(&OID_X509_EXT_EXTENDED_KEY_USAGE);
    let usages = signer.extended_key_usages();
    if extension.is_some() && usages.is_none() {
        return Err("has an extended key usage that cannot be read");
    }
    if ekus.is_empty() {
        let is_other = |usages: &[&[u8]]| usages.iter().all(|usage| FOR_OTHERS.contains(usage));
        return match usages.as_deref() {
            Some(usages) if is_other(usages) => Err(FOR_OTHER_THINGS),
            _ => Ok(()),
        };
    }
    let is_demanded = |usage: &[u8]| ekus.iter().any(|eku| eku.as_der() == usage);
    match usages.as_deref() {
        None if is_demanded(ANY) => Ok(()),
        Some(usages) if usages.iter().any(|usage| is_demanded(usage)) => Ok(()),
        None | Some(_) => Err(NOT_DEMANDED),
    }
}

/// Whether the certificate has one of `ekus`.
pub(super) fn has_one_of(signer: &Certificate<'_>, ekus: &[Oid]) -> bool {
    let usages = signer.extended_key_usages().unwrap_or_default();
    usages.iter().any(|usage| ekus.iter().any(|eku| eku.as_der() == *usage))
}

const FOR_OTHER_THINGS: Broken =
    "has only extended key usages that are not for signing credentials (RFC 5280 4.2.1.12)";
const NOT_DEMANDED: Broken =
    "has none of the extended key usages that the trust entry demands (RFC 5280 4.2.1.12)";

/// anyExtendedKeyUsage, 2.5.29.37.0
const ANY: &[u8] = b"\x55\x1d\x25\x00";

/// serverAuth, clientAuth, codeSigning, emailProtection, timeStamping, OCSPSigning (RFC 5280
/// 4.2.1.12), and mdoc reader authentication, 1.0.18013.5.1.6 (ISO/IEC 18013-5 B.1.7).
const FOR_OTHERS: [&[u8]; 7] = [
    b"\x2b\x06\x01\x05\x05\x07\x03\x01",
    b"\x2b\x06\x01\x05\x05\x07\x03\x02",
    b"\x2b\x06\x01\x05\x05\x07\x03\x03",
    b"\x2b\x06\x01\x05\x05\x07\x03\x04",
    b"\x2b\x06\x01\x05\x05\x07\x03\x08",
    b"\x2b\x06\x01\x05\x05\x07\x03\x09",
    b"\x28\x81\x8c\x5d\x05\x01\x06",
];
