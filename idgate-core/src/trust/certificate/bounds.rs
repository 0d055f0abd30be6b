//! Size limits for certificates. They are checked in one pass over the bytes, before parsing: a
//! certificate is untrusted until a signature on it is verified.

use super::CertificateError;
use crate::codec::der::{self, Reader};
use crate::limits::{MAX_CERTIFICATE_ELEMENTS, MAX_EXTENSIONS, MAX_NAME_BYTES};

const LONG_NAME: CertificateError = CertificateError::limit("has a name of more than 1 KiB");
const MANY_EXTENSIONS: CertificateError = CertificateError::limit("has more than 32 extensions");
const MANY_ELEMENTS: CertificateError =
    CertificateError::limit("has more than 1024 elements of DER");

/// Whether a TBSCertificate (RFC 5280 4.1) is within the limits. `None`: the bytes are not one.
pub(super) fn check(tbs: &[u8]) -> Option<Result<(), CertificateError>> {
    let mut fields = Reader::within(tbs, der::SEQUENCE)?;
    fields.optional(der::context(0));
    fields.element(der::INTEGER)?;
    fields.element(der::SEQUENCE)?;
    let issuer = fields.element(der::SEQUENCE)?;
    fields.element(der::SEQUENCE)?;
    let subject = fields.element(der::SEQUENCE)?;
    fields.element(der::SEQUENCE)?;
    if issuer.raw.len().max(subject.raw.len()) > MAX_NAME_BYTES {
        return Some(Err(LONG_NAME));
    }
    let mut elements = count(tbs);
    while !fields.is_empty() {
        let field = fields.next()?;
        if field.tag != der::context(3) {
            continue;
        }
        let mut extensions = Reader::within(field.content, der::SEQUENCE)?;
        let mut seen = 0;
        while !extensions.is_empty() {
            if seen == MAX_EXTENSIONS {
                return Some(Err(MANY_EXTENSIONS));
            }
            seen += 1;
            elements = elements.saturating_add(count_in_value(extensions.enter(der::SEQUENCE)?));
        }
    }
    Some(if elements > MAX_CERTIFICATE_ELEMENTS { Err(MANY_ELEMENTS) } else { Ok(()) })
}

/// The elements in an extension's value, which is in an OCTET STRING at its end.
fn count_in_value(mut extension: Reader<'_>) -> usize {
    let mut value: &[u8] = &[];
    while let Some(field) = extension.next() {
        value = field.content;
    }
    count(value)
}

/// The elements in `bytes`, including nested ones. Unreadable bytes count as if they were full of
/// the shortest elements.
fn count(bytes: &[u8]) -> usize {
    const CONSTRUCTED: u8 = 0x20;
    let mut elements = 0usize;
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some(element) = Reader::new(rest).next() else {
            return elements.saturating_add(rest.len() / 2);
        };
        elements = elements.saturating_add(1);
        let inside = element.tag & CONSTRUCTED != 0;
        let step = element.raw.len() - if inside { element.content.len() } else { 0 };
        rest = rest.get(step..).unwrap_or_default();
    }
    elements
}

#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use idgate_testkit::der::{oid, sequence, tlv};
    use idgate_testkit::keys::Curve;
    use idgate_testkit::time::SAMPLE_NOW_MS;
    use idgate_testkit::x509::{
        CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, distribution_points,
    };

    use super::super::{Certificate, TOO_LARGE};
    use super::*;

    fn root() -> Identity {
        Identity::iaca(Curve::P256, SAMPLE_NOW_MS)
    }

    fn parse(builder: &CertificateBuilder) -> Result<(), CertificateError> {
        Certificate::parse(&builder.sign(&root().key)).map(drop)
    }

    /// A sample with enough unknown extensions for `count` in total.
    fn with_extensions(count: usize) -> CertificateBuilder {
        let own = root().builder.extensions.len();
        (own..count).fold(root().builder, |builder, at| {
            builder.set(&format!("1.2.3.{at}"), false, sequence(&[]))
        })
    }

    #[test]
    fn a_certificate_has_at_most_16_kib() {
        let padded = |bytes| root().builder.set("1.2.3.4", false, tlv(4, &[&vec![0; bytes]]));
        let overhead = padded(0x1000).sign(&root().key).len() - 0x1000;
        // The length of ECDSA signatures varies by a few bytes.
        assert_eq!(parse(&padded(16 * 1024 - overhead - 8)), Ok(()));
        assert_eq!(parse(&padded(16 * 1024 - overhead + 8)), Err(TOO_LARGE));
    }

    #[test]
    fn a_certificate_has_at_most_32_extensions() {
        assert_eq!(parse(&with_extensions(MAX_EXTENSIONS)), Ok(()));
        assert_eq!(parse(&with_extensions(MAX_EXTENSIONS + 1)), Err(MANY_EXTENSIONS));
    }

    #[test]
    fn a_name_has_at_most_1_kib() {
        let named = |chars: usize| Name::new("UT", &"n".repeat(chars));
        let name_bytes = named(900).der().len() - 900;
        for (chars, expected) in [
            (MAX_NAME_BYTES - name_bytes, Ok(())),
            (MAX_NAME_BYTES - name_bytes + 1, Err(LONG_NAME)),
        ] {
            let subject = root().builder.with(|builder| builder.subject = named(chars));
            assert_eq!(parse(&subject), expected, "{chars}");
            let issuer = root().builder.with(|builder| builder.issuer = named(chars));
            assert_eq!(parse(&issuer), expected, "{chars}");
        }
    }

    #[test]
    fn a_certificate_has_at_most_1024_elements() {
        let names = |count: usize| {
            let names: Vec<u8> = tlv(0x82, &[]).repeat(count);
            root().builder.set(SUBJECT_ALT_NAME, false, sequence(&[&names]))
        };
        assert_eq!(parse(&names(800)), Ok(()));
        assert_eq!(parse(&names(MAX_CERTIFICATE_ELEMENTS)), Err(MANY_ELEMENTS));
        let points = distribution_points(&["http://a/"; 300]);
        let points = root().builder.set("2.5.29.31", false, points);
        assert_eq!(parse(&points), Err(MANY_ELEMENTS));
    }

    #[test]
    fn unreadable_bytes_count_as_full_of_elements() {
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&sequence(&[&oid("1.2.3"), &sequence(&[])])), 3);
        assert_eq!(count(&[0x30, 0x80, 0, 0]), 2);
        assert_eq!(count(&[[0x04, 0x81, 0x00]; 100].concat()), 150);
        assert_eq!(count(&[0x1f; 100]), 50);
    }
}
