//! A CRL (RFC 5280 5), written element by element.

use crate::der::{self, tlv};
use crate::keys::SigningKey;
use crate::x509::{signature_algorithm, signed};

/// 2.5.29.20
const CRL_NUMBER: &[u8] = b"\x55\x1d\x14";

/// A CRL before it is signed. Names, times and extensions are encoded DER.
#[derive(Clone, Debug)]
pub struct Crl {
    /// `version`; absent in version 1.
    pub version: Option<u8>,
    /// The issuer's Name.
    pub issuer: Vec<u8>,
    /// `thisUpdate`
    pub this_update: Vec<u8>,
    /// `nextUpdate`
    pub next_update: Option<Vec<u8>>,
    /// The revoked certificates.
    pub entries: Vec<CrlEntry>,
    /// The list's extensions; without any, the field is absent.
    pub extensions: Vec<Vec<u8>>,
}

/// One revoked certificate.
#[derive(Clone, Debug)]
pub struct CrlEntry {
    /// Content of the serial number's INTEGER.
    pub serial: Vec<u8>,
    /// Its extensions; without any, the field is absent.
    pub extensions: Vec<Vec<u8>>,
}

impl Crl {
    /// A list of version 2 with CRLNumber 1 and the issuer's key identifier. Times are
    /// `YYYYMMDDHHMMSSZ`.
    pub fn new(issuer: &[u8], key_identifier: &[u8], this_update: &str, next_update: &str) -> Self {
        Self {
            version: Some(1),
            issuer: issuer.to_vec(),
            this_update: generalized_time(this_update),
            next_update: Some(generalized_time(next_update)),
            entries: Vec::new(),
            extensions: vec![
                authority_key_identifier(key_identifier),
                extension(CRL_NUMBER, false, &der::unsigned(&[1])),
            ],
        }
    }

    /// Revokes a certificate.
    #[must_use]
    pub fn revoke(self, serial: &[u8]) -> Self {
        self.entry(CrlEntry { serial: serial.to_vec(), extensions: Vec::new() })
    }

    /// With an entry.
    #[must_use]
    pub fn entry(mut self, entry: CrlEntry) -> Self {
        self.entries.push(entry);
        self
    }

    /// With an extension.
    #[must_use]
    pub fn extension(mut self, extension: Vec<u8>) -> Self {
        self.extensions.push(extension);
        self
    }

    /// The signed list in DER.
    pub fn sign(&self, key: &SigningKey) -> Vec<u8> {
        let algorithm = signature_algorithm(key.curve(), None);
        let mut tbs = Vec::new();
        tbs.extend(
            self.version.map(|version| tlv(der::INTEGER, &[&[version]])).unwrap_or_default(),
        );
        tbs.extend_from_slice(&algorithm);
        tbs.extend_from_slice(&self.issuer);
        tbs.extend_from_slice(&self.this_update);
        tbs.extend_from_slice(self.next_update.as_deref().unwrap_or_default());
        if !self.entries.is_empty() {
            let entries: Vec<u8> =
                self.entries.iter().flat_map(|entry| entry.der(&self.this_update)).collect();
            tbs.extend(der::sequence(&[&entries]));
        }
        if !self.extensions.is_empty() {
            let extensions = der::sequence(&[&self.extensions.concat()]);
            tbs.extend(tlv(0xa0, &[&extensions]));
        }
        signed(&der::sequence(&[&tbs]), key, None)
    }
}

impl CrlEntry {
    fn der(&self, revoked_at: &[u8]) -> Vec<u8> {
        let serial = tlv(der::INTEGER, &[&self.serial]);
        let extensions = match self.extensions.is_empty() {
            true => Vec::new(),
            false => der::sequence(&[&self.extensions.concat()]),
        };
        der::sequence(&[&serial, revoked_at, &extensions])
    }
}

/// A GeneralizedTime, `YYYYMMDDHHMMSSZ`.
pub fn generalized_time(text: &str) -> Vec<u8> {
    tlv(0x18, &[text.as_bytes()])
}

/// An extension: the content of its OBJECT IDENTIFIER, and the DER of its value.
pub fn extension(oid: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let critical = if critical { tlv(0x01, &[&[0xff]]) } else { Vec::new() };
    der::sequence(&[&tlv(der::OID, &[oid]), &critical, &tlv(der::OCTET_STRING, &[value])])
}

/// The extension AuthorityKeyIdentifier with `keyIdentifier` alone.
pub fn authority_key_identifier(key_identifier: &[u8]) -> Vec<u8> {
    let value = der::sequence(&[&tlv(0x80, &[key_identifier])]);
    extension(b"\x55\x1d\x23", false, &value)
}
