use alloc::string::ToString;
use alloc::vec;

use super::to_json::NotJson;
use super::*;
use crate::limits::{MAX_CBOR_ITEMS, MAX_DEPTH};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.bytes().filter_map(|c| char::from(c).to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn error(bytes: &[u8]) -> Option<CborError> {
    Tape::default().parse(bytes).err()
}

fn json(text: &str) -> Result<String, NotJson> {
    let bytes = hex(text);
    let mut tape = Tape::default();
    let id = tape.parse(&bytes).unwrap();
    let mut out = String::new();
    write_json(tape.value(id), &mut out).map(|()| out)
}

/// RFC 8949 appendix A.
#[test]
fn reads_the_examples_of_the_rfc() {
    for (encoded, expected) in [
        ("00", "0"),
        ("1818", "24"),
        ("1903e8", "1000"),
        ("1a000f4240", "1000000"),
        ("1bffffffffffffffff", "18446744073709551615"),
        ("20", "-1"),
        ("3903e7", "-1000"),
        ("f90000", "0.0"),
        ("f98000", "-0.0"),
        ("f93e00", "1.5"),
        ("f97bff", "65504.0"),
        ("f90001", "5.960464477539063e-8"),
        ("f90400", "6.103515625e-5"),
        ("f9c400", "-4.0"),
        ("fa47c35000", "100000.0"),
        ("fb3ff199999999999a", "1.1"),
        ("fb7e37e43c8800759c", "1e300"),
        ("f4", "false"),
        ("f5", "true"),
        ("f6", "null"),
        ("c074323031332d30332d32315432303a30343a30305a", "\"2013-03-21T20:04:00Z\""),
        ("c11a514b67b0", "1363896240"),
        ("d818456449455446", "\"ZElFVEY\""),
        ("4401020304", "\"AQIDBA\""),
        ("6161", "\"a\""),
        ("62225c", "\"\\\"\\\\\""),
        ("6109", "\"\\u0009\""),
        ("62c3bc", "\"ü\""),
        ("80", "[]"),
        ("8301820203820405", "[1,[2,3],[4,5]]"),
        ("a26161016162820203", "{\"a\":1,\"b\":[2,3]}"),
        ("5f42010243030405ff", "\"AQIDBAU\""),
        ("7f657374726561646d696e67ff", "\"streaming\""),
        ("9fff", "[]"),
        ("9f018202039f0405ffff", "[1,[2,3],[4,5]]"),
        ("bf61610161629f0203ffff", "{\"a\":1,\"b\":[2,3]}"),
    ] {
        assert_eq!(json(encoded).as_deref(), Ok(expected), "{encoded}");
    }
}

#[test]
fn keeps_the_bytes_as_received() {
    let bytes = hex("83 d8185f41014102ff 1801 9f00ff");
    let mut tape = Tape::default();
    let id = tape.parse(&bytes).unwrap();
    let parts: Vec<_> = tape.value(id).elements().unwrap().collect();
    assert_eq!(parts[0].raw(), hex("d8185f41014102ff"));
    assert_eq!(parts[0].encoded_cbor().unwrap(), vec![1, 2]);
    assert_eq!(parts[1].raw(), hex("1801"));
    assert_eq!(parts[2].raw(), hex("9f00ff"));
    assert_eq!(tape.value(id).raw(), bytes);
}

#[test]
fn longer_heads_than_needed_are_well_formed() {
    for encoded in ["1801", "190001", "1a00000001", "1b0000000000000001", "c11801"] {
        assert_eq!(json(encoded).as_deref(), Ok("1"));
    }
    assert_eq!(json("580141").as_deref(), Ok("\"QQ\""));
    assert_eq!(json("790001 41").as_deref(), Ok("\"A\""));
    assert_eq!(json("9b000000000000000101").as_deref(), Ok("[1]"));
}

/// RFC 8949 appendix F.
#[test]
fn refuses_malformed_items() {
    for encoded in [
        "",
        "18",
        "19",
        "1a",
        "1b",
        "1901",
        "1a0102",
        "1b01020304050607",
        "38",
        "58",
        "78",
        "98",
        "9a01ff00",
        "b8",
        "d8",
        "f8",
        "f900",
        "fa0000",
        "fb000000",
        "41",
        "61",
        "5affffffff00",
        "5bffffffffffffffff010203",
        "7affffffff00",
        "7b7fffffffffffffff010203",
        "81",
        "818181818181818181",
        "8200",
        "a1",
        "a20102",
        "a100",
        "a2000000",
        "5f4100",
        "7f6100",
        "9f",
        "9f0102",
        "bf",
        "bf01020102",
        "819f",
        "9f8000",
        "9f9f9f9f9fffffffff",
        "1c",
        "1d",
        "1e",
        "3c",
        "5c",
        "7d",
        "9e",
        "bc",
        "dd",
        "fc",
        "fd",
        "fe",
        "f800",
        "f818",
        "f81f",
        "5f00ff",
        "5f21ff",
        "5f6100ff",
        "5f80ff",
        "5fa0ff",
        "5fc000ff",
        "5fe0ff",
        "7f4100ff",
        "5f5f4100ffff",
        "7f7f6100ffff",
        "ff",
        "81ff",
        "8200ff",
        "a1ff",
        "a1ff00",
        "a100ff",
        "a20000ff",
        "9f81ff",
        "bf00ff",
        "bf000000ff",
        "1f",
        "3f",
        "df",
        "c0",
        "c1ff",
        "c0ff",
    ] {
        assert_eq!(error(&hex(encoded)), Some(CborError::Syntax), "{encoded}");
    }
}

#[test]
fn refuses_bytes_after_the_item() {
    assert_eq!(error(&hex("0000")), Some(CborError::TrailingBytes));
    assert_eq!(error(&hex("80ff")), Some(CborError::TrailingBytes));
}

#[test]
fn refuses_text_that_is_not_utf_8() {
    for encoded in ["61ff", "62c328", "63eda080", "7f61c361bcff"] {
        assert_eq!(error(&hex(encoded)), Some(CborError::Utf8), "{encoded}");
    }
}

#[test]
fn refuses_duplicate_keys() {
    for encoded in [
        "a200000000",
        "a20100180100",
        "a22000380000",
        "a26161006161f6",
        "a26161007f6161ff00",
        "a3616200616100616200",
        "a24101005f4101ff00",
        "bf616100616100ff",
    ] {
        assert_eq!(error(&hex(encoded)), Some(CborError::DuplicateKey), "{encoded}");
    }
    for encoded in ["a200002000", "a2416100616100", "a201000200"] {
        assert_eq!(error(&hex(encoded)), None, "{encoded}");
    }
}

#[test]
fn large_maps_are_compared_sorted() {
    let map = |keys: &[u16]| {
        let mut bytes = vec![0xb9];
        bytes.extend((keys.len() as u16).to_be_bytes());
        for key in keys {
            bytes.extend([0x19, (key >> 8) as u8, *key as u8, 0]);
        }
        bytes
    };
    let mut keys: Vec<u16> = (0..4_000).rev().collect();
    assert_eq!(error(&map(&keys)), None);
    keys.sort_unstable();
    assert_eq!(error(&map(&keys)), None);
    keys.push(7);
    assert_eq!(error(&map(&keys)), Some(CborError::DuplicateKey));
}

#[test]
fn refuses_keys_that_are_neither_integers_nor_strings() {
    for encoded in ["a18000", "a1a000", "a1c10000", "a1f500", "a1f93c0000", "bf8000ff"] {
        assert_eq!(error(&hex(encoded)), Some(CborError::KeyType), "{encoded}");
    }
}

#[test]
fn refuses_depth_beyond_the_limit() {
    let nested = |open: &[u8], times: usize| [open.repeat(times), vec![0]].concat();
    for open in [&[0x81][..], &[0xc1], &[0xa1, 0x00]] {
        assert_eq!(error(&nested(open, MAX_DEPTH)), None);
        assert_eq!(error(&nested(open, MAX_DEPTH + 1)), Some(CborError::TooDeep));
        assert_eq!(error(&nested(open, 100_000)), Some(CborError::TooDeep));
    }
    assert_eq!(error(&[0x9f].repeat(100_000)), Some(CborError::TooDeep));
}

/// This limits the memory that untrusted bytes may take, whatever their number.
#[test]
fn a_tape_holds_at_most_8192_items() {
    let zeros = |count: usize| {
        let head = [&[0x9a][..], &u32::try_from(count).unwrap().to_be_bytes()].concat();
        [head, vec![0; count]].concat()
    };
    assert_eq!(error(&zeros(MAX_CBOR_ITEMS - 1)), None);
    assert_eq!(error(&zeros(MAX_CBOR_ITEMS)), Some(CborError::TooMany));
    // Chunks of a string count as items.
    let chunked = |count: usize| [&[0x5f][..], &[0x41, 0].repeat(count), &[0xff]].concat();
    assert_eq!(error(&chunked(MAX_CBOR_ITEMS)), None);
    assert_eq!(error(&chunked(MAX_CBOR_ITEMS + 1)), Some(CborError::TooMany));
    let largest = zeros(10 * 1024 * 1024);
    let mut tape = Tape::with_room_for(largest.len());
    assert_eq!(tape.parse(&largest).err(), Some(CborError::TooMany));
    assert!(tape.nodes.capacity() <= MAX_CBOR_ITEMS);
}

#[test]
fn chunked_strings_are_compared_without_joining_them() {
    let chunked = hex("7f616160626263ff");
    let mut tape = Tape::default();
    let id = tape.parse(&chunked).unwrap();
    let value = tape.value(id);
    assert!(value.is_text("abc") && !value.is_text("ab") && !value.is_text("abcd"));
    assert!(!value.is_text("abd") && !value.is_text(""));
    assert_eq!(value.as_text().as_deref(), Some("abc"));
    let mut tape = Tape::default();
    let id = tape.parse(b"\x7f\xff").unwrap();
    assert!(tape.value(id).is_text("") && !tape.value(id).is_text("a"));
}

#[test]
fn lengths_beyond_the_input_allocate_nothing() {
    for encoded in [
        "9bffffffffffffffff00",
        "bbffffffffffffffff0000",
        "5bffffffffffffffff00",
        "9a10000000",
        "bb00ffffffffffffff",
    ] {
        let bytes = hex(encoded);
        let mut tape = Tape::default();
        assert_eq!(tape.parse(&bytes), Err(CborError::Syntax), "{encoded}");
        assert!(tape.nodes.capacity() < 16);
    }
}

#[test]
fn truncations_and_changed_bytes_never_panic() {
    let bytes = hex(
        "a4 6161 83 01 20 f97e00 6162 bf 01 5f 4101 ff ff 03 d818 43 820102 04 fb3ff199999999999a",
    );
    assert_eq!(error(&bytes), None);
    for len in 0..bytes.len() {
        assert!(error(&bytes[..len]).is_some(), "{len}");
    }
    for at in 0..bytes.len() {
        for value in 0..=255 {
            let mut other = bytes.clone();
            other[at] = value;
            let mut tape = Tape::default();
            if let Ok(id) = tape.parse(&other) {
                assert_eq!(tape.value(id).raw(), other);
                let _either = write_json(tape.value(id), &mut String::new());
            }
        }
    }
}

#[test]
fn a_failed_document_leaves_nothing_on_the_tape() {
    let mut tape = Tape::default();
    assert!(tape.parse(&[0x82, 0x01]).is_err());
    let id = tape.parse(&[0x81, 0x03]).unwrap();
    assert_eq!(tape.value(id).elements().unwrap().next().unwrap().as_u64(), Some(3));
    assert_eq!(tape.nodes.len(), 2);
}

#[test]
fn values_without_a_json_form_are_refused() {
    for encoded in [
        "f97e00",                 // NaN
        "fa7fc00000",             // NaN
        "f97c00",                 // infinity
        "f9fc00",                 // minus infinity
        "f7",                     // undefined
        "e0",                     // an unassigned simple value
        "f8ff",                   // another
        "a10100",                 // an integer key
        "a1410000",               // a byte string key
        "3bffffffffffffffff",     // -2^64
        "3b8000000000000000",     // -2^63 - 1
        "c249010000000000000000", // 2^64
        "c348ffffffffffffffff",   // -2^64
        "c001",                   // a tdate that is not text
        "d903ec01",               // a full-date that is not text
        "c26161",                 // a bignum that is not bytes
        "8201f7",
        "a16161f7",
    ] {
        assert_eq!(json(encoded), Err(NotJson), "{encoded}");
    }
    assert_eq!(json("3b7fffffffffffffff").as_deref(), Ok("-9223372036854775808"));
    assert_eq!(json("c2490000000000000000ff").as_deref(), Ok("255"));
    assert_eq!(json("c34101").as_deref(), Ok("-2"));
}

#[test]
fn dates_are_text_and_other_tags_are_dropped() {
    assert_eq!(json("d903ec6a313939302d30312d3031").as_deref(), Ok("\"1990-01-01\""));
    assert_eq!(json("d9d9f7c101").as_deref(), Ok("1"));
}

#[test]
fn writes_the_shortest_heads() {
    for (len, head) in [
        (0, "40"),
        (23, "57"),
        (24, "5818"),
        (255, "58ff"),
        (256, "590100"),
        (65_535, "59ffff"),
        (65_536, "5a00010000"),
    ] {
        let written = Writer::default().bytes(&vec![0; len]).finish();
        assert_eq!(&written[..written.len() - len], hex(head), "{len}");
    }
    let written = Writer::with_capacity(16).array(3).null().text("a").tag(24).bytes(&[1]).finish();
    assert_eq!(written, hex("83f66161d8184101"));
}

#[test]
fn errors_name_the_fault() {
    assert!(CborError::DuplicateKey.to_string().contains("duplicate key"));
    assert!(NotJson.to_string().contains("JSON"));
}
