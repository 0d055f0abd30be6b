//! The draft's own examples, in `IDGATE_VECTORS` or next to the repository. If they are absent,
//! these tests print that and check nothing.

use std::path::PathBuf;

use idgate_testkit::status::{StatusCwt, StatusJwt, StatusList};
use serde_json::{Value as Json, json};

use super::super::super::PublishedStatus;
use super::super::super::fixtures::{
    NOW_SECS, URI, context, entry, signer, signer_of, signing_key, voucher,
};
use super::super::*;
use crate::codec::base64url;
use crate::codec::json::Tape;
use crate::crypto::Jwk;
use crate::trust::TrustedKey;

const DRAFT_URI: &str = "https://example.com/statuslists/1";

fn folder(name: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/vectors"));
    let root = std::env::var_os("IDGATE_VECTORS").map_or_else(beside, PathBuf::from);
    let folder = root.join(name);
    if !folder.is_dir() {
        println!("skipped: no third-party data in {}", folder.display());
        return None;
    }
    Some(folder)
}

fn read_json(path: PathBuf) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn from_json(bits: &Json, lst: &Json) -> VerifiedStatusList {
    let token = StatusJwt::new(&StatusList::new(1, 0), URI, NOW_SECS)
        .with("status_list", json!({ "bits": bits, "lst": lst }))
        .sign(&signing_key("issuer"));
    let entry = entry();
    let context = context(&entry);
    VerifiedStatusList::verify(token.as_bytes(), URI, ListSigner::IssuerKey, &context).unwrap()
}

fn from_cbor(status_list: Vec<u8>) -> VerifiedStatusList {
    let key = signing_key("signer");
    let token = StatusCwt::new(&StatusList::new(1, 0), URI, NOW_SECS, &[&signer(&key)])
        .with(65533, status_list)
        .sign(&key);
    let entry = entry();
    let context = context(&entry);
    VerifiedStatusList::verify(&token, URI, ListSigner::Certificate(&voucher()), &context).unwrap()
}

/// Every status of a list: the named ones, and 0 for the others unless all are named.
fn assert_statuses(list: &VerifiedStatusList, named: &Json) {
    let named = named.as_object().unwrap();
    for (idx, status) in named {
        assert_eq!(list.status(idx.parse().unwrap()).map(u64::from), status.as_u64(), "{idx}");
    }
    let marked = (0..1 << 20).filter(|idx| list.status(*idx) != Some(0)).count();
    assert_eq!(marked, named.values().filter(|status| status.as_u64() != Some(0)).count());
    assert_eq!(list.status(1 << 20), None);
}

#[test]
fn the_four_long_lists_are_read_in_both_forms() {
    if let Some(folder) = folder("spec/token-status-list") {
        for bits in [1, 2, 4, 8] {
            let vector = read_json(folder.join(format!("list_{bits}bit_2pow20.json")));
            assert_eq!(vector["entries"], 1 << 20);
            let named = &vector["nonzero_or_listed"];
            assert_statuses(&from_json(&vector["bits"], &vector["lst"]), named);
            assert_statuses(&from_cbor(hex(vector["cbor_hex"].as_str().unwrap())), named);
        }
    }
    if let Some(folder) = folder("token-status-list") {
        let vectors = read_json(folder.join("spec_test_vectors.json"));
        let mut pairs = 0;
        for vector in vectors.as_array().unwrap() {
            let named = &vector["statuses"];
            pairs += named.as_object().unwrap().len();
            assert_statuses(&from_json(&vector["bits"], &vector["lst"]), named);
            assert_statuses(&from_cbor(hex(vector["cbor"].as_str().unwrap())), named);
        }
        assert_eq!(pairs, 293);
    }
}

#[test]
fn the_short_lists_inflate_to_their_bytes() {
    let Some(folder) = folder("spec/token-status-list") else { return };
    let vectors = read_json(folder.join("short_lists.json"));
    for vector in vectors.as_array().unwrap() {
        let list = from_json(&vector["bits"], &vector["lst"]);
        let Content::Statuses { statuses, .. } = list.content else { panic!("{vector}") };
        assert_eq!(statuses, hex(vector["bytes_hex"].as_str().unwrap()));
    }
    let two_bits = from_json(&json!(2), &vectors[1]["lst"]);
    let told: Vec<_> = (0..12).filter_map(|idx| two_bits.status(idx)).collect();
    assert_eq!(told, [1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3]);
}

#[test]
fn the_signed_jwt_verifies_with_its_key_alone() {
    let Some(folder) = folder("spec/token-status-list") else { return };
    let vector = read_json(folder.join("status_list_token_jwt.json"));
    let token = vector["jwt"].as_str().unwrap();
    let mut entry = entry();
    let verify = |entry: &_| {
        let context = context(entry);
        VerifiedStatusList::verify(token.as_bytes(), DRAFT_URI, ListSigner::IssuerKey, &context)
    };
    assert!(verify(&entry).is_err());
    let key = Jwk::parse(vector["signing_jwk"].to_string().as_bytes()).unwrap().key;
    entry.keys = vec![TrustedKey::new(key).with_kid("12")];
    let list = verify(&entry).unwrap();
    for (idx, status) in vector["expected_status"].as_object().unwrap() {
        assert_eq!(list.status(idx.parse().unwrap()).map(u64::from), status.as_u64());
    }
    assert_eq!(list.fresh_until(), UnixMillis::from_secs(NOW_SECS + 43_200));
    assert_eq!(list.expires_at(), Some(UnixMillis::from_secs(2_291_720_170)));
}

/// The example names its key by `kid`; a certificate for the same key is put into its unprotected
/// header.
#[test]
fn the_signed_cwt_verifies_under_a_certificate_of_its_key() {
    let Some(folder) = folder("spec/token-status-list") else { return };
    let token = hex(&std::fs::read_to_string(folder.join("status_list_token_cwt.hex")).unwrap());
    let jwk = read_json(folder.join("status_list_token_jwt.json"))["signing_jwk"].clone();
    let key = Jwk::parse(jwk.to_string().as_bytes()).unwrap().key;
    let entry = entry();
    let context = context(&entry);
    let verify = |token: &[u8]| {
        VerifiedStatusList::verify(token, DRAFT_URI, ListSigner::Certificate(&voucher()), &context)
    };
    assert!(verify(&token).unwrap_err().detail.contains("x5chain"));

    // The example was issued in 2023.
    let der = signer_of(&key.spki_der(), ["20230101000000Z", "20261231235959Z"]);
    let kid = b"\xa1\x04\x42\x31\x32";
    let at = token.windows(kid.len()).position(|window| window == kid).unwrap();
    let len = u16::try_from(der.len()).unwrap().to_be_bytes();
    let header = [b"\xa2\x04\x42\x31\x32\x18\x21\x59", &len[..], &der].concat();
    let certified = [&token[..at], &header, &token[at + kid.len()..]].concat();
    let list = verify(&certified).unwrap();
    let told: Vec<_> = (0..16).filter_map(|idx| list.status(idx)).collect();
    assert_eq!(told, [1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1]);
}

#[test]
fn the_referenced_tokens_point_into_the_list() {
    let Some(folder) = folder("spec/token-status-list") else { return };
    let expected = PublishedStatus::List(StatusListReference::new(0, DRAFT_URI).unwrap());
    let sd_jwt = read_json(folder.join("referenced_sd_jwt.json"));
    let payload = sd_jwt["sd_jwt"].as_str().unwrap().split('.').nth(1).unwrap();
    let payload = base64url::decode(payload).unwrap();
    let mut tape = Tape::default();
    let id = tape.parse(&payload).unwrap();
    assert_eq!(PublishedStatus::from_json(tape.value(id).get("status")), expected);

    let token = hex(&std::fs::read_to_string(folder.join("referenced_token_cwt.hex")).unwrap());
    let mut outer = cbor::Tape::default();
    let id = outer.parse(&token).unwrap();
    let claims = crate::cose::Sign1::read(outer.value(id)).unwrap().payload.unwrap();
    let mut inner = cbor::Tape::default();
    let id = inner.parse(&claims).unwrap();
    assert_eq!(PublishedStatus::from_cbor(inner.value(id).get_label(65535)), expected);
}
