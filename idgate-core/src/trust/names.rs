//! Distinguished names: compared by RFC 5280 7.1, printed by RFC 4514.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use unicode_normalization::UnicodeNormalization as _;

use super::oid::dotted;
use crate::codec::der::{self, Reader, Tlv};
use crate::codec::is_bidi_control;
use crate::limits::MAX_NAME_BYTES;
use crate::work;

/// 2.5.4.6
pub(crate) const COUNTRY_NAME: &[u8] = b"\x55\x04\x06";
/// 2.5.4.8
pub(crate) const STATE_OR_PROVINCE_NAME: &[u8] = b"\x55\x04\x08";

/// 2.5.4.10
pub(crate) const ORGANIZATION_NAME: &[u8] = b"\x55\x04\x0a";
/// 2.5.4.11
pub(crate) const ORGANIZATIONAL_UNIT_NAME: &[u8] = b"\x55\x04\x0b";
/// 2.5.4.97
pub(crate) const ORGANIZATION_IDENTIFIER: &[u8] = b"\x55\x04\x61";

/// The name in a form in which equal names are equal bytes. String type, case and runs of white
/// space are ignored in text; other values are compared as they are. The order of RDNs matters, the
/// order inside an RDN does not. `None`: not a Name, or longer than [`MAX_NAME_BYTES`]. A short
/// name may become that long, because one character has a compatibility form of eighteen.
pub(crate) fn canonical(name: &[u8]) -> Option<Vec<u8>> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let mut out = Vec::with_capacity(name.len());
    let mut rdns = Reader::within(name, der::SEQUENCE)?;
    while !rdns.is_empty() {
        let mut attributes: Vec<Vec<u8>> = Vec::new();
        for attribute in Rdn(rdns.enter(der::SET)?) {
            attributes.push(canonical_attribute(&attribute?)?);
        }
        attributes.sort_unstable();
        push_length(&mut out, attributes.len());
        out.extend(attributes.into_iter().flatten());
    }
    Some(out)
}

/// The texts of every attribute of this type, in order.
pub(crate) fn attribute_texts<'a>(name: &'a [u8], oid: &[u8]) -> Vec<Cow<'a, str>> {
    let mut texts = Vec::new();
    let Some(mut rdns) = Reader::within(name, der::SEQUENCE) else { return texts };
    while let Some(rdn) = rdns.enter(der::SET) {
        let values = Rdn(rdn).flatten().filter(|attribute| attribute.oid == oid);
        texts.extend(values.filter_map(|attribute| text(&attribute.value)));
    }
    texts
}

/// The name as RFC 4514 text, with the last RDN first. Empty if the bytes are not a Name.
pub(crate) fn rfc4514(name: &[u8]) -> String {
    let mut rdns = Vec::new();
    if let Some(mut reader) = Reader::within(name, der::SEQUENCE) {
        while let Some(rdn) = reader.enter(der::SET) {
            let attributes: Vec<String> = Rdn(rdn).flatten().map(|a| attribute_text(&a)).collect();
            rdns.push(attributes.join("+"));
        }
    }
    rdns.reverse();
    rdns.join(",")
}

struct Attribute<'a> {
    oid: &'a [u8],
    value: Tlv<'a>,
}

/// The attributes of one RDN; a `None` ends them at unreadable bytes.
struct Rdn<'a>(Reader<'a>);

impl<'a> Iterator for Rdn<'a> {
    type Item = Option<Attribute<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let attribute = self.0.enter(der::SEQUENCE).and_then(|mut attribute| {
            let oid = attribute.element(der::OID)?.content;
            let value = attribute.next()?;
            attribute.is_empty().then_some(Attribute { oid, value })
        });
        if attribute.is_none() {
            self.0 = Reader::new(&[]);
        }
        Some(attribute)
    }
}

/// Lengths precede the values, so no two lists of attributes give the same bytes.
fn canonical_attribute(attribute: &Attribute<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(attribute.oid.len() + attribute.value.raw.len() + 9);
    push_length(&mut out, attribute.oid.len());
    out.extend(attribute.oid);
    match text(&attribute.value) {
        Some(text) => {
            let folded = folded(&text, MAX_NAME_BYTES)?;
            out.push(1);
            push_length(&mut out, folded.len());
            out.extend(folded.as_bytes());
        }
        None => {
            out.push(0);
            push_length(&mut out, attribute.value.raw.len());
            out.extend(attribute.value.raw);
        }
    }
    Some(out)
}

fn push_length(out: &mut Vec<u8>, len: usize) {
    out.extend(u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes());
}

/// The text of a DirectoryString, IA5String or the like.
fn text<'a>(value: &Tlv<'a>) -> Option<Cow<'a, str>> {
    const UTF8: u8 = 0x0c;
    const NUMERIC: u8 = 0x12;
    const PRINTABLE: u8 = 0x13;
    const TELETEX: u8 = 0x14;
    const IA5: u8 = 0x16;
    const BMP: u8 = 0x1e;
    match value.tag {
        UTF8 | NUMERIC | PRINTABLE | IA5 => {
            core::str::from_utf8(value.content).ok().map(Cow::Borrowed)
        }
        // In practice, issuers put Latin-1 there.
        TELETEX => Some(value.content.iter().copied().map(char::from).collect()),
        BMP => {
            let (units, rest) = value.content.as_chunks::<2>();
            let units = units.iter().map(|unit| u16::from_be_bytes(*unit));
            let text: Result<String, _> = char::decode_utf16(units).collect();
            text.ok().filter(|_| rest.is_empty()).map(Cow::Owned)
        }
        _ => None,
    }
}

/// The text without case, compatibility forms and superfluous white space (RFC 4518 2). `None`: the
/// result is longer than `limit` bytes.
fn folded(text: &str, limit: usize) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        work::steps(8 + word.len());
        if !out.is_empty() {
            out.push(' ');
        }
        if word.is_ascii() {
            out.extend(word.chars().map(|c| c.to_ascii_lowercase()));
        } else {
            // Each character takes at least a byte, so text that is cut off here is over the limit
            // below.
            let composed: String = word.nfkc().take(limit.saturating_add(1)).collect();
            out.push_str(&caseless::default_case_fold_str(&composed));
        }
        if out.len() > limit {
            return None;
        }
    }
    Some(out)
}

/// Whether two texts are equal, ignoring case, compatibility forms and superfluous white space.
pub(crate) fn is_same_text(one: &str, other: &str) -> bool {
    let folded = |text| folded(text, MAX_NAME_BYTES);
    folded(one).is_some_and(|one| folded(other) == Some(one))
}

/// `CN=text`, or the type in dots and the value in hex where RFC 4514 has no name (2.3, 2.4).
fn attribute_text(attribute: &Attribute<'_>) -> String {
    let mut out = String::new();
    match (keyword(attribute.oid), text(&attribute.value)) {
        (Some(keyword), Some(text)) => {
            out.push_str(keyword);
            out.push('=');
            push_escaped(&mut out, &text);
        }
        (keyword, _) => {
            out.push_str(&keyword.map_or_else(|| dotted(attribute.oid), String::from));
            out.push_str("=#");
            for byte in attribute.value.raw {
                let written = write!(out, "{byte:02x}");
                debug_assert!(written.is_ok());
            }
        }
    }
    out
}

/// RFC 4514 3
fn keyword(oid: &[u8]) -> Option<&'static str> {
    Some(match oid {
        b"\x55\x04\x03" => "CN",
        b"\x55\x04\x07" => "L",
        b"\x55\x04\x08" => "ST",
        b"\x55\x04\x0a" => "O",
        b"\x55\x04\x0b" => "OU",
        b"\x55\x04\x06" => "C",
        b"\x55\x04\x09" => "STREET",
        b"\x09\x92\x26\x89\x93\xf2\x2c\x64\x01\x19" => "DC",
        b"\x09\x92\x26\x89\x93\xf2\x2c\x64\x01\x01" => "UID",
        _ => return None,
    })
}

fn push_escaped(out: &mut String, text: &str) {
    let last = text.chars().count().saturating_sub(1);
    for (at, c) in text.chars().enumerate() {
        let is_edge_space = c == ' ' && (at == 0 || at == last);
        match c {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => out.extend(['\\', c]),
            '#' if at == 0 => out.push_str("\\#"),
            _ if is_edge_space => out.push_str("\\ "),
            // A terminal would interpret them.
            _ if c.is_control() || is_bidi_control(c) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let written = write!(out, "\\{byte:02x}");
                    debug_assert!(written.is_ok());
                }
            }
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    const CN: &[u8] = b"\x55\x04\x03";
    const UTF8: u8 = 0x0c;
    const PRINTABLE: u8 = 0x13;

    fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, u8::try_from(content.len()).unwrap()], content].concat()
    }

    fn attribute(oid: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
        tlv(der::SEQUENCE, &[tlv(der::OID, oid), tlv(tag, value)].concat())
    }

    fn name(rdns: &[&[Vec<u8>]]) -> Vec<u8> {
        let rdns: Vec<Vec<u8>> = rdns.iter().map(|rdn| tlv(der::SET, &rdn.concat())).collect();
        tlv(der::SEQUENCE, &rdns.concat())
    }

    fn cn(tag: u8, value: &str) -> Vec<u8> {
        name(&[&[attribute(CN, tag, value.as_bytes())]])
    }

    #[test]
    fn case_white_space_and_string_type_do_not_matter() {
        let plain = canonical(&cn(PRINTABLE, "Utopia Root")).unwrap();
        for (tag, other) in [
            (UTF8, "Utopia Root"),
            (PRINTABLE, "UTOPIA rOOT"),
            (UTF8, "  utopia \t  root "),
            (0x14, "Utopia Root"),
            (0x16, "utopia root"),
        ] {
            assert_eq!(canonical(&cn(tag, other)).unwrap(), plain, "{other}");
        }
        let bmp: Vec<u8> = "Utopia Root".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(canonical(&name(&[&[attribute(CN, 0x1e, &bmp)]])).unwrap(), plain);
        let (composed, apart) = (cn(UTF8, "Köln STRASSE"), cn(UTF8, "Ko\u{308}LN straße"));
        assert_eq!(canonical(&composed), canonical(&apart));
    }

    #[test]
    fn every_other_difference_matters() {
        let plain = canonical(&cn(PRINTABLE, "Utopia Root")).unwrap();
        for other in ["UtopiaRoot", "Utopia Root 2", "Utopia", "", "Utopia_Root"] {
            assert_ne!(canonical(&cn(PRINTABLE, other)).unwrap(), plain, "{other}");
        }
        let other_type = name(&[&[attribute(b"\x55\x04\x0a", PRINTABLE, b"Utopia Root")]]);
        assert_ne!(canonical(&other_type).unwrap(), plain);
        let bits = name(&[&[attribute(CN, der::BIT_STRING, b"\0Utopia Root")]]);
        assert_ne!(canonical(&bits).unwrap(), plain);
    }

    #[test]
    fn the_order_of_rdns_matters_and_inside_one_it_does_not() {
        let (a, b) = (attribute(CN, UTF8, b"a"), attribute(COUNTRY_NAME, PRINTABLE, b"UT"));
        let apart = name(&[std::slice::from_ref(&a), std::slice::from_ref(&b)]);
        let swapped = name(&[std::slice::from_ref(&b), std::slice::from_ref(&a)]);
        assert_ne!(canonical(&apart), canonical(&swapped));
        let together = name(&[&[a.clone(), b.clone()]]);
        assert_eq!(canonical(&together), canonical(&name(&[&[b, a]])));
        assert_ne!(canonical(&together), canonical(&apart));
    }

    #[test]
    fn a_name_that_folds_to_more_than_1_kib_equals_nothing() {
        // 18 characters, 33 bytes.
        let long = |count: usize| {
            let value = [
                &[UTF8, 0x81, u8::try_from(3 * count).unwrap()],
                "\u{fdfa}".repeat(count).as_bytes(),
            ]
            .concat();
            let attribute = [&tlv(der::OID, CN)[..], &value].concat();
            let wrapped = |tag: u8, content: &[u8]| {
                [&[tag, 0x81, u8::try_from(content.len()).unwrap()], content].concat()
            };
            let attribute = wrapped(der::SEQUENCE, &attribute);
            wrapped(der::SEQUENCE, &wrapped(der::SET, &attribute))
        };
        assert!(canonical(&long(44)).is_none());
        let plain = "n".repeat(100).repeat(2);
        assert!(is_same_text(&plain, &plain.to_uppercase()));
        assert!(!is_same_text(&plain.repeat(6), &plain.repeat(6)));
        assert!(!is_same_text("Utopia", "Utopias"));
    }

    #[test]
    fn prints_rfc_4514() {
        let country = attribute(COUNTRY_NAME, PRINTABLE, b"UT");
        let whole = name(&[&[country], &[attribute(CN, UTF8, b"Utopia, Inc. \"X\"")]]);
        assert_eq!(rfc4514(&whole), "CN=Utopia\\, Inc. \\\"X\\\",C=UT");
        assert_eq!(rfc4514(&cn(UTF8, "#a+b;<c>\\ ")), "CN=\\#a\\+b\\;\\<c\\>\\\\\\ ");
        assert_eq!(rfc4514(&cn(UTF8, " a\0b ")), "CN=\\ a\\00b\\ ");
        let orders = "\u{1b}]0;a\u{7}\r\n\u{9b}2K\u{202e}b";
        let shown = r"CN=\1b]0\;a\07\0d\0a\c2\9b2K\e2\80\aeb";
        assert_eq!(rfc4514(&cn(UTF8, orders)), shown);
        let serial = name(&[&[attribute(b"\x55\x04\x05", PRINTABLE, b"3")]]);
        assert_eq!(rfc4514(&serial), "2.5.4.5=#130133");
        let pair = [attribute(CN, UTF8, b"a"), attribute(COUNTRY_NAME, PRINTABLE, b"UT")];
        assert_eq!(rfc4514(&name(&[&pair])), "CN=a+C=UT");
    }

    #[test]
    fn finds_every_attribute_of_a_type() {
        let country = |code: &[u8]| attribute(COUNTRY_NAME, PRINTABLE, code);
        let both = name(&[&[country(b"UT")], &[country(b"ZZ")], &[attribute(CN, UTF8, b"a")]]);
        assert_eq!(attribute_texts(&both, COUNTRY_NAME), ["UT", "ZZ"]);
        assert!(attribute_texts(&both, STATE_OR_PROVINCE_NAME).is_empty());
    }

    #[test]
    fn bytes_that_are_not_a_name_equal_nothing() {
        let whole = cn(UTF8, "Utopia");
        for len in 0..whole.len() {
            assert_eq!(canonical(&whole[..len]), None, "{len}");
            assert_eq!(rfc4514(&whole[..len]), "");
        }
        for inner in [&b"\x30\x02\x31\x01"[..], b"\x30\x04\x31\x02\x30\x00", b"\x30\x02\x04\x00"] {
            assert_eq!(canonical(inner), None);
        }
        assert_eq!(canonical(b"\x30\x00"), Some(Vec::new()));
    }
}
