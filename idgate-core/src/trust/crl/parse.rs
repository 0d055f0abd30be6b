//! A CRL as received: structure and extensions, unauthenticated. The entries are read only after
//! the signature is verified. The strict reader reads the whole list, except the two time formats,
//! which x509-parser reads. That crate's own CRL parser treats an unreadable list of revoked
//! certificates as absent.

use alloc::vec::Vec;

use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

use super::CrlError;
use crate::codec::der::{self, Reader, Tlv};
use crate::limits::{MAX_CRL_SCOPE_URIS, MAX_EXTENSIONS};
use crate::time::UnixMillis;

const CRL_NUMBER: &[u8] = b"\x55\x1d\x14";
const REASON_CODE: &[u8] = b"\x55\x1d\x15";
const INVALIDITY_DATE: &[u8] = b"\x55\x1d\x18";
const DELTA_CRL_INDICATOR: &[u8] = b"\x55\x1d\x1b";
const ISSUING_DISTRIBUTION_POINT: &[u8] = b"\x55\x1d\x1c";
const AUTHORITY_KEY_IDENTIFIER: &[u8] = b"\x55\x1d\x23";

const ENUMERATED: u8 = 0x0a;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// `[6]`, primitive: uniformResourceIdentifier of a GeneralName.
const URI: u8 = 0x86;
const NOT_A_CRL: CrlError = CrlError("is not a CRL in DER");
const UNKNOWN_CRITICAL: CrlError = CrlError("has a critical extension that is not known");

/// A well-formed CRL.
#[derive(Debug)]
pub(super) struct ParsedCrl<'a> {
    pub(super) tbs: &'a [u8],
    /// The issuer's Name as a whole element.
    pub(super) issuer: &'a [u8],
    pub(super) this_update: UnixMillis,
    pub(super) next_update: UnixMillis,
    /// The OID of the signature's algorithm.
    pub(super) algorithm: &'a [u8],
    /// Its parameters as a whole element.
    pub(super) parameters: Option<&'a [u8]>,
    pub(super) signature: &'a [u8],
    /// The key identifier inside the authority key identifier.
    pub(super) authority_key: &'a [u8],
    /// Whether it has a CRLNumber.
    pub(super) numbered: bool,
    /// The URIs of the issuing distribution point.
    pub(super) scope: Vec<&'a str>,
    /// The entries, one after another.
    entries: &'a [u8],
}

struct Extension<'a> {
    oid: &'a [u8],
    critical: bool,
    value: &'a [u8],
}

/// The extensions of the list that matter here.
struct ListExtensions<'a> {
    authority_key: &'a [u8],
    numbered: bool,
    scope: Vec<&'a str>,
}

impl<'a> ParsedCrl<'a> {
    /// CertificateList (RFC 5280 5.1).
    pub(super) fn parse(der: &'a [u8]) -> Result<Self, CrlError> {
        let mut outer = Reader::within(der, der::SEQUENCE).ok_or(NOT_A_CRL)?;
        let tbs = outer.element(der::SEQUENCE).ok_or(NOT_A_CRL)?;
        let algorithm = outer.element(der::SEQUENCE).ok_or(NOT_A_CRL)?;
        let signature = outer.element(der::BIT_STRING).ok_or(NOT_A_CRL)?;
        let signature = der::whole_bytes(signature.content).ok_or(NOT_A_CRL)?;
        if !outer.is_empty() {
            return Err(NOT_A_CRL);
        }

        let mut list = Reader::new(tbs.content);
        // Absent in version 1.
        let version = list.optional(der::INTEGER).ok_or(CrlError("is not of version 2"))?;
        if version.content != [1] {
            return Err(CrlError("is not of version 2"));
        }
        if list.element(der::SEQUENCE).ok_or(NOT_A_CRL)?.raw != algorithm.raw {
            return Err(CrlError("names two different signature algorithms"));
        }
        let issuer = list.element(der::SEQUENCE).ok_or(NOT_A_CRL)?.raw;
        let this_update = list.next().and_then(time).ok_or(NOT_A_CRL)?;
        let next_update = next_update(&mut list)?;
        let entries = list.optional(der::SEQUENCE).map_or(&[][..], |entries| entries.content);
        let ListExtensions { authority_key, numbered, scope } = list_extensions(&mut list)?;
        if !list.is_empty() {
            return Err(NOT_A_CRL);
        }

        let mut algorithm = Reader::new(algorithm.content);
        Ok(Self {
            tbs: tbs.raw,
            issuer,
            this_update,
            next_update,
            algorithm: algorithm.element(der::OID).ok_or(NOT_A_CRL)?.content,
            parameters: algorithm.next().map(|parameters| parameters.raw),
            signature,
            authority_key,
            numbered,
            scope,
            entries,
        })
    }

    /// The serial numbers of its entries (RFC 5280 5.1.2.6), without leading zeros.
    pub(super) fn revoked(&self) -> Result<Vec<&'a [u8]>, CrlError> {
        let mut entries = Reader::new(self.entries);
        let mut serials = Vec::new();
        while !entries.is_empty() {
            serials.push(serial(entries.enter(der::SEQUENCE).ok_or(NOT_A_CRL)?)?);
        }
        Ok(serials)
    }
}

fn time(tlv: Tlv<'_>) -> Option<UnixMillis> {
    if !matches!(tlv.tag, UTC_TIME | GENERALIZED_TIME) {
        return None;
    }
    let (_, time) = ASN1Time::from_der(tlv.raw).ok()?;
    u64::try_from(time.timestamp()).ok().map(UnixMillis::from_secs)
}

/// RFC 5280 5.1.2.5 requires it, and without it a list would be valid forever.
fn next_update(list: &mut Reader<'_>) -> Result<UnixMillis, CrlError> {
    let found = match list.optional(UTC_TIME) {
        None => list.optional(GENERALIZED_TIME),
        some => some,
    };
    found.ok_or(CrlError("has no nextUpdate")).and_then(|tlv| time(tlv).ok_or(NOT_A_CRL))
}

/// The serial number of one entry.
fn serial<'a>(mut entry: Reader<'a>) -> Result<&'a [u8], CrlError> {
    let serial = entry.element(der::INTEGER).ok_or(NOT_A_CRL)?.content;
    if serial.is_empty() {
        return Err(NOT_A_CRL);
    }
    entry.next().and_then(time).ok_or(NOT_A_CRL)?;
    if !entry.is_empty() {
        check_entry_extensions(entry.element(der::SEQUENCE).ok_or(NOT_A_CRL)?)?;
    }
    if entry.is_empty() { Ok(der::without_leading_zeros(serial)) } else { Err(NOT_A_CRL) }
}

/// An unknown critical extension in an entry makes the whole list unusable: it could change the
/// meaning of other entries, as certificateIssuer does (RFC 5280 5.3). The reason code is ignored.
/// removeFromCRL has a meaning in delta CRLs only (5.3.1), and being on a complete list never makes
/// a certificate good.
fn check_entry_extensions(found: Tlv<'_>) -> Result<(), CrlError> {
    for extension in extensions(found)? {
        match extension.oid {
            REASON_CODE => {
                sole(extension.value, ENUMERATED)?;
            }
            INVALIDITY_DATE => {}
            _ if extension.critical => return Err(UNKNOWN_CRITICAL),
            _ => {}
        }
    }
    Ok(())
}

/// The list's own extensions (RFC 5280 5.2): AuthorityKeyIdentifier and CRLNumber must not be
/// critical, and the first is required.
fn list_extensions<'a>(list: &mut Reader<'a>) -> Result<ListExtensions<'a>, CrlError> {
    let (mut authority_key, mut numbered, mut scope) = (None, false, Vec::new());
    let tagged = list.optional(der::context(0)).ok_or(CrlError("has no extensions"))?;
    for extension in extensions(sole(tagged.content, der::SEQUENCE)?)? {
        match extension.oid {
            AUTHORITY_KEY_IDENTIFIER | CRL_NUMBER if extension.critical => {
                return Err(CrlError("has a critical CRLNumber or authority key identifier"));
            }
            AUTHORITY_KEY_IDENTIFIER => authority_key = key_identifier(extension.value)?,
            CRL_NUMBER => {
                Reader::new(extension.value).unsigned().ok_or(NOT_A_CRL)?;
                numbered = true;
            }
            ISSUING_DISTRIBUTION_POINT => scope = issuing_distribution_point(extension.value)?,
            DELTA_CRL_INDICATOR => return Err(CrlError("is a delta CRL")),
            _ if extension.critical => return Err(UNKNOWN_CRITICAL),
            _ => {}
        }
    }
    let authority_key = authority_key.ok_or(CrlError("has no authority key identifier"))?;
    Ok(ListExtensions { authority_key, numbered, scope })
}

/// Extensions, each type once (RFC 5280 4.2). `found` is their SEQUENCE.
fn extensions<'a>(found: Tlv<'a>) -> Result<Vec<Extension<'a>>, CrlError> {
    let mut reader = Reader::new(found.content);
    let mut all: Vec<Extension<'a>> = Vec::new();
    while !reader.is_empty() {
        if all.len() == MAX_EXTENSIONS {
            return Err(CrlError("has more than 32 extensions in one place"));
        }
        let extension =
            reader.enter(der::SEQUENCE).and_then(|inner| extension(inner)).ok_or(NOT_A_CRL)?;
        if all.iter().any(|other| other.oid == extension.oid) {
            return Err(CrlError("has a duplicate extension"));
        }
        all.push(extension);
    }
    Ok(all)
}

fn extension<'a>(mut inner: Reader<'a>) -> Option<Extension<'a>> {
    let oid = inner.element(der::OID)?.content;
    let critical = match inner.optional(der::BOOLEAN) {
        None => false,
        Some(flag) => *flag.content.first()? != 0,
    };
    let value = inner.element(der::OCTET_STRING)?.content;
    inner.is_empty().then_some(Extension { oid, critical, value })
}

/// The only element in `input`.
fn sole(input: &[u8], tag: u8) -> Result<Tlv<'_>, CrlError> {
    let mut reader = Reader::new(input);
    reader.element(tag).filter(|_| reader.is_empty()).ok_or(NOT_A_CRL)
}

/// `keyIdentifier [0]` (RFC 5280 4.2.1.1).
fn key_identifier(value: &[u8]) -> Result<Option<&[u8]>, CrlError> {
    let mut identifier = Reader::new(sole(value, der::SEQUENCE)?.content);
    Ok(identifier.optional(0x80).map(|tlv| tlv.content))
}

/// IssuingDistributionPoint (RFC 5280 5.2.5): a complete list of one issuer, for the distribution
/// points that it names.
fn issuing_distribution_point(value: &[u8]) -> Result<Vec<&str>, CrlError> {
    const ONLY_USER_CERTS: u8 = 0x81;
    const INDIRECT: u8 = 0x84;
    let mut fields = Reader::new(sole(value, der::SEQUENCE)?.content);
    let mut scope = Vec::new();
    while !fields.is_empty() {
        let field = fields.next().ok_or(NOT_A_CRL)?;
        match (field.tag, field.content) {
            (0xa0, point) => scope = full_name(point)?,
            (ONLY_USER_CERTS, _) | (0x82 | INDIRECT | 0x85, [0]) => {}
            (INDIRECT, _) => return Err(CrlError("is an indirect CRL")),
            _ => return Err(CrlError("is a partial CRL")),
        }
    }
    Ok(scope)
}

/// `fullName [0]`: only its URIs can be compared.
fn full_name(point: &[u8]) -> Result<Vec<&str>, CrlError> {
    let mut names = Reader::new(sole(point, der::context(0))?.content);
    let mut uris = Vec::new();
    while !names.is_empty() {
        let name = names.next().ok_or(NOT_A_CRL)?;
        if uris.len() == MAX_CRL_SCOPE_URIS {
            return Err(CrlError("names more than 32 URIs as its distribution point"));
        }
        if name.tag == URI {
            uris.push(core::str::from_utf8(name.content).map_err(|_| NOT_A_CRL)?);
        }
    }
    if uris.is_empty() { Err(CrlError("names no URI as its distribution point")) } else { Ok(uris) }
}
