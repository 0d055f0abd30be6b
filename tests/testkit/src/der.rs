//! A DER writer (X.690): elements from their tags and contents.

/// INTEGER
pub const INTEGER: u8 = 0x02;
/// BIT STRING
pub const BIT_STRING: u8 = 0x03;
/// OCTET STRING
pub const OCTET_STRING: u8 = 0x04;
/// OBJECT IDENTIFIER
pub const OID: u8 = 0x06;
/// UTF8String
pub const UTF8_STRING: u8 = 0x0c;
/// PrintableString
pub const PRINTABLE_STRING: u8 = 0x13;
/// SEQUENCE
pub const SEQUENCE: u8 = 0x30;
/// SET
pub const SET: u8 = 0x31;

/// One element, with its contents concatenated.
pub fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len().to_be_bytes();
    let significant: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut der = vec![tag];
    match significant.as_slice() {
        [] => der.push(0),
        [short] if *short < 0x80 => der.push(*short),
        long => {
            der.push(0x80 | u8::try_from(long.len()).unwrap_or(0));
            der.extend(long);
        }
    }
    der.extend(content);
    der
}

/// SEQUENCE
pub fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tlv(SEQUENCE, parts)
}

/// A non-negative INTEGER from its big-endian bytes.
pub fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let number: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
    let sign: &[u8] = match number.first() {
        Some(first) if *first < 0x80 => &[],
        _ => &[0],
    };
    tlv(INTEGER, &[sign, &number])
}

/// A BIT STRING of whole bytes.
pub fn bit_string(bytes: &[u8]) -> Vec<u8> {
    tlv(BIT_STRING, &[&[0], bytes])
}

/// An OBJECT IDENTIFIER from dotted decimal with arcs below 2^28.
pub fn oid(dotted: &str) -> Vec<u8> {
    let mut arcs = dotted.split('.').map(|arc| arc.parse::<u32>().unwrap_or(0));
    let (first, second) = (arcs.next().unwrap_or(0), arcs.next().unwrap_or(0));
    let mut content = Vec::new();
    for arc in std::iter::once(first * 40 + second).chain(arcs) {
        let groups: Vec<u32> = (0..4).rev().map(|group| arc >> (7 * group)).collect();
        let last = groups.len() - 1;
        for (at, group) in groups.into_iter().enumerate() {
            if at == last || group != 0 {
                let more = if at == last { 0 } else { 0x80 };
                content.push(more | u8::try_from(group & 0x7f).unwrap_or(0));
            }
        }
    }
    tlv(OID, &[&content])
}

/// ECDSA-Sig-Value from r‖s (RFC 3279 2.2.3).
pub fn ecdsa_signature(raw: &[u8]) -> Vec<u8> {
    let (r, s) = raw.split_at(raw.len() / 2);
    sequence(&[&unsigned(r), &unsigned(s)])
}

/// UTCTime until 2049, GeneralizedTime from 2050 on (RFC 5280 4.1.2.5).
pub fn time(ms: u64) -> Vec<u8> {
    const UTC_TIME: u8 = 0x17;
    const GENERALIZED_TIME: u8 = 0x18;
    let text = crate::time::compact_utc(ms);
    if text.as_str() < "2050" {
        tlv(UTC_TIME, &[text.get(2..).unwrap_or_default().as_bytes()])
    } else {
        tlv(GENERALIZED_TIME, &[text.as_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_their_shortest_form() {
        assert_eq!(tlv(4, &[]), [4, 0]);
        assert_eq!(tlv(4, &[&[7; 127]]).get(..2), Some(&[4, 127][..]));
        assert_eq!(tlv(4, &[&[7; 128]]).get(..3), Some(&[4, 0x81, 128][..]));
        assert_eq!(tlv(4, &[&[7; 256]]).get(..4), Some(&[4, 0x82, 1, 0][..]));
    }

    #[test]
    fn numbers_and_oids_match_x690() {
        assert_eq!(unsigned(&[0, 0x80]), [2, 2, 0, 0x80]);
        assert_eq!(unsigned(&[0]), [2, 1, 0]);
        assert_eq!(oid("1.2.840.10045.2.1"), b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01");
        assert_eq!(oid("2.5.29.37"), b"\x06\x03\x55\x1d\x25");
        assert_eq!(oid("1.0.18013.5.1.2"), b"\x06\x07\x28\x81\x8c\x5d\x05\x01\x02");
    }

    #[test]
    fn years_from_2050_have_four_digits() {
        assert_eq!(time(0), b"\x17\x0d700101000000Z");
        assert_eq!(time(2_524_607_999_000), b"\x17\x0d491231235959Z");
        assert_eq!(time(2_524_608_000_000), b"\x18\x0f20500101000000Z");
    }
}
