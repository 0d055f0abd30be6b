//! A certification request (PKCS #10, RFC 2986) for a key, from which a CA issues a certificate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{GatewayKey, KeyUnusable};

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const UTF8_STRING: u8 = 0x0c;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// `[0]`, constructed
const ATTRIBUTES: u8 = 0xa0;
/// `[2]` of GeneralName
const DNS_NAME: u8 = 0x82;

/// commonName, 2.5.4.3
const COMMON_NAME: &[u8] = b"\x06\x03\x55\x04\x03";
/// extensionRequest, 1.2.840.113549.1.9.14
const EXTENSION_REQUEST: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x0e";
/// keyUsage, critical: digitalSignature
const KEY_USAGE: &[u8] = b"\x30\x0e\x06\x03\x55\x1d\x0f\x01\x01\xff\x04\x04\x03\x02\x07\x80";
/// subjectAltName, 2.5.29.17
const SUBJECT_ALT_NAME: &[u8] = b"\x06\x03\x55\x1d\x11";
/// AlgorithmIdentifier of ecdsa-with-SHA256
const ECDSA_WITH_SHA256: &[u8] = b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02";
/// ub-common-name (RFC 5280 A.1)
const LONGEST_NAME: usize = 64;

/// The request in PEM: subject `CN=name` (cut to the 64 characters allowed in a CN), key usage
/// digitalSignature and, if there is a host, its dNSName.
///
/// # Errors
/// The random number generator failed.
pub fn certification_request(
    key: &GatewayKey,
    name: &str,
    host: Option<&str>,
) -> Result<String, KeyUnusable> {
    let name: String = name.chars().take(LONGEST_NAME).collect();
    let attribute = sequence(&[COMMON_NAME, &tlv(UTF8_STRING, &[name.as_bytes()])]);
    let subject = sequence(&[&tlv(SET, &[&attribute])]);
    let alt_names = host.map_or_else(Vec::new, |host| {
        let names = sequence(&[&tlv(DNS_NAME, &[host.as_bytes()])]);
        sequence(&[SUBJECT_ALT_NAME, &tlv(OCTET_STRING, &[&names])])
    });
    let extensions = sequence(&[KEY_USAGE, &alt_names]);
    let attribute = sequence(&[EXTENSION_REQUEST, &tlv(SET, &[&extensions])]);
    let info = sequence(&[
        &tlv(INTEGER, &[&[0]]),
        &subject,
        &key.public().spki_der(),
        &tlv(ATTRIBUTES, &[&attribute]),
    ]);
    let signature = ecdsa_signature(&key.sign(&info)?)?;
    let bits = tlv(BIT_STRING, &[&[0], &signature]);
    Ok(pem("CERTIFICATE REQUEST", &sequence(&[&info, ECDSA_WITH_SHA256, &bits])))
}

/// The ECDSA-Sig-Value (RFC 3279 2.2.3) of r‖s.
fn ecdsa_signature(raw: &[u8]) -> Result<Vec<u8>, KeyUnusable> {
    let (r, s) = raw.split_at_checked(raw.len() / 2).ok_or(KeyUnusable)?;
    Ok(sequence(&[&unsigned(r), &unsigned(s)]))
}

fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let number = bytes.get(zeros..).unwrap_or_default();
    let sign: &[u8] = if number.first().is_none_or(|first| *first >= 0x80) { &[0] } else { &[] };
    tlv(INTEGER, &[sign, number])
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tlv(SEQUENCE, parts)
}

/// One DER element, whose contents are the concatenated parts.
fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len().to_be_bytes();
    let zeros = length.iter().take_while(|byte| **byte == 0).count();
    let length = length.get(zeros..).unwrap_or_default();
    let is_short = content.len() < 0x80;
    let count = u8::try_from(length.len()).unwrap_or(u8::MAX);
    let prefix: &[u8] = if is_short { &[] } else { &[0x80 | count] };
    let length: &[u8] = if content.is_empty() { &[0] } else { length };
    [&[tag], prefix, length, &content].concat()
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&[u8]> = text.as_bytes().chunks(64).collect();
    let body = String::from_utf8_lossy(&lines.join(&b'\n')).into_owned();
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use x509_parser::certification_request::X509CertificationRequest;
    use x509_parser::extensions::{GeneralName, ParsedExtension};
    use x509_parser::pem::parse_x509_pem;
    use x509_parser::prelude::FromDer as _;

    use super::*;

    fn read(pem: &str, check: impl FnOnce(&X509CertificationRequest<'_>)) {
        let (_, block) = parse_x509_pem(pem.as_bytes()).unwrap();
        assert_eq!(block.label, "CERTIFICATE REQUEST");
        let (rest, request) = X509CertificationRequest::from_der(&block.contents).unwrap();
        assert!(rest.is_empty());
        check(&request);
    }

    #[test]
    fn a_request_names_key_subject_usage_and_host() {
        let (key, _) = GatewayKey::generate().unwrap();
        let pem = certification_request(&key, "Ütopia shop", Some("gateway.example")).unwrap();
        read(&pem, |request| {
            let info = &request.certification_request_info;
            assert_eq!(info.subject.to_string(), "CN=Ütopia shop");
            assert_eq!(info.subject_pki.raw, key.public().spki_der());
            let extensions: Vec<_> = request.requested_extensions().unwrap().collect();
            let [ParsedExtension::KeyUsage(usage), ParsedExtension::SubjectAlternativeName(names)] =
                extensions[..]
            else {
                panic!("{extensions:?}")
            };
            assert_eq!(usage.flags, 1);
            assert_eq!(names.general_names, [GeneralName::DNSName("gateway.example")]);
        });
    }

    #[test]
    fn a_request_without_a_host_names_none_and_a_long_name_is_cut() {
        let (key, _) = GatewayKey::generate().unwrap();
        let name = "n".repeat(LONGEST_NAME + 1);
        read(&certification_request(&key, &name, None).unwrap(), |request| {
            let subject = request.certification_request_info.subject.to_string();
            assert_eq!(subject, format!("CN={}", &name[..LONGEST_NAME]));
            assert_eq!(request.requested_extensions().unwrap().count(), 1);
        });
    }

    #[test]
    fn elements_have_the_shortest_lengths() {
        for (len, header) in
            [(0, &[4, 0][..]), (127, &[4, 127]), (128, &[4, 0x81, 128]), (256, &[4, 0x82, 1, 0])]
        {
            let element = tlv(OCTET_STRING, &[&vec![7; len]]);
            assert_eq!((&element[..header.len()], element.len()), (header, header.len() + len));
        }
        assert_eq!(unsigned(&[0, 0, 0x7f]), [2, 1, 0x7f]);
        assert_eq!(unsigned(&[0, 0x80]), [2, 2, 0, 0x80]);
        assert_eq!(unsigned(&[0, 0]), [2, 1, 0]);
    }
}
