//! Files of certificates or CRLs: PEM (RFC 7468) or DER, one or many.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::anchors::TrustMaterialError;
use crate::codec::der::{self, Reader};

/// Returns every block of `label` in a PEM file, whatever text surrounds it, or every element of a
/// DER file. `label` is `CERTIFICATE` or `X509 CRL`.
///
/// # Errors
/// The file has none, is damaged, or has a private key.
pub fn pem_or_der(file: &[u8], label: &str) -> Result<Vec<Vec<u8>>, TrustMaterialError> {
    let blocks = match core::str::from_utf8(file) {
        Ok(text) if text.contains("-----BEGIN ") => pem_blocks(text, label)?,
        _ => der_elements(file).ok_or_else(|| error("is neither PEM nor DER"))?,
    };
    if blocks.is_empty() {
        return Err(error(format!("has no block {label}")));
    }
    Ok(blocks)
}

fn error(why: impl Into<Cow<'static, str>>) -> TrustMaterialError {
    TrustMaterialError(why.into())
}

fn pem_blocks(text: &str, label: &str) -> Result<Vec<Vec<u8>>, TrustMaterialError> {
    if text.contains("PRIVATE KEY-----") {
        return Err(error(format!("is a private key; give a file with {label} only")));
    }
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(&begin) {
        let (body, after) =
            after.split_once(&end).ok_or_else(|| error(format!("has a {label} without end")))?;
        let body: String = body.split_ascii_whitespace().collect();
        let der = STANDARD.decode(body);
        blocks.push(der.map_err(|_| error(format!("has a {label} that is not base64")))?);
        rest = after;
    }
    Ok(blocks)
}

fn der_elements(file: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut reader = Reader::new(file);
    let mut elements = Vec::new();
    while !reader.is_empty() {
        elements.push(reader.element(der::SEQUENCE)?.raw.to_vec());
    }
    Some(elements)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const BLOCK: &str = "-----BEGIN CERTIFICATE-----\nMAMC\r\nAQU=\n-----END CERTIFICATE-----\n";
    const DER: &[u8] = b"\x30\x03\x02\x01\x05";

    #[test]
    fn reads_one_or_many_in_both_forms() {
        let file = format!("subject: CN=a\n{BLOCK}some text\n{BLOCK}");
        assert_eq!(pem_or_der(file.as_bytes(), "CERTIFICATE").unwrap(), [DER, DER]);
        assert_eq!(pem_or_der(&[DER, DER, DER].concat(), "CERTIFICATE").unwrap().len(), 3);
    }

    #[test]
    fn refuses_files_without_the_label() {
        assert!(pem_or_der(BLOCK.as_bytes(), "X509 CRL").is_err());
        for file in [&b""[..], b"text", b"\x30\x03\x02\x01", b"\x30\x03\x02\x01\x05\x00"] {
            assert!(pem_or_der(file, "CERTIFICATE").is_err());
        }
        let damaged = [BLOCK.replace("-----END", ""), BLOCK.replace("MAMC", "M!MC")];
        for file in damaged {
            assert!(pem_or_der(file.as_bytes(), "CERTIFICATE").is_err());
        }
    }

    #[test]
    fn refuses_private_keys_and_says_so() {
        let file = format!("{BLOCK}-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n");
        let error = pem_or_der(file.as_bytes(), "CERTIFICATE").unwrap_err();
        assert!(error.0.contains("private key"));
    }
}
