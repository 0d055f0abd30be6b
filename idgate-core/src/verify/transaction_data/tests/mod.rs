//! Approval of transaction data: the specification's example, and one refusal per rule.

use alloc::format;
use alloc::vec;

use serde_json::{Value as Json, json};

use super::*;
use crate::codec::json::Tape;
use crate::crypto::rustcrypto::PROVIDER;
use crate::ids::IssuerId;
use crate::time::UnixMillis;
use crate::trust::TrustEntry;

/// A payment as sent, and the SHA-256 of that text (OpenID4VP B.3.3).
const PAYMENT: &str = "eyJ0eXBlIjoiY29tLmV4YW1wbGUucGF5bWVudCIsImNyZWRlbnRpYWxfaWRzIjpbInBpZCJdLCJhbW91bnQiOiIxMC4wMCJ9";
const PAYMENT_HASH: &str = "M9fW9L_ptvN4ZpMU_mbvvfTyDTNvEMAG-VcZ-V3BWFw";
const OTHER: &str = "eyJ0eXBlIjoib3RoZXIifQ";

fn data(encoded: &str, hash_algs: &[HashAlg]) -> TransactionData {
    let credential_ids = vec!["pid".into()];
    TransactionData { encoded: encoded.into(), credential_ids, hash_algs: hash_algs.to_vec() }
}

fn hash_of(alg: HashAlg, text: &str) -> String {
    hash(&PROVIDER, alg, text)
}

/// The items of `asked` that a proof with these members approves.
fn agreed(asked: &[TransactionData], proof: &Json) -> Result<Vec<String>, Reason> {
    let issuer = TrustEntry::new(IssuerId::new("issuer"));
    let now = UnixMillis(1);
    let expected = ExpectedSdJwtVc {
        transaction_data: asked.iter().collect(),
        ..ExpectedSdJwtVc::new(&issuer, "audience", "nonce", now, now)
    };
    let text = format!("{proof}");
    let mut tape = Tape::default();
    let id = tape.parse(text.as_bytes()).unwrap();
    match agreed_to(tape.value(id), &PROVIDER, &expected) {
        Ok(agreed) => Ok(agreed.into_iter().map(|data| data.encoded).collect()),
        Err(error) => Err(error.reason),
    }
}

const MISMATCH: Reason = Reason::TransactionDataMismatch;

#[test]
fn the_hash_is_over_the_text_as_sent() {
    let proof = json!({"transaction_data_hashes": [PAYMENT_HASH]});
    assert_eq!(agreed(&[data(PAYMENT, &[])], &proof).unwrap(), [PAYMENT]);
    let named = json!({"transaction_data_hashes": [PAYMENT_HASH], "transaction_data_hashes_alg": "sha-256"});
    assert_eq!(agreed(&[data(PAYMENT, &[])], &named).unwrap(), [PAYMENT]);
}

#[test]
fn several_are_approved_in_any_order() {
    let asked = [data(PAYMENT, &[]), data(OTHER, &[])];
    let hashes = [hash_of(HashAlg::Sha256, OTHER), PAYMENT_HASH.into()];
    let proof = json!({"transaction_data_hashes": hashes});
    assert_eq!(agreed(&asked, &proof).unwrap(), [OTHER, PAYMENT]);
}

#[test]
fn unrequested_hashes_are_ignored() {
    let proof = json!({"transaction_data_hashes": ["x", 1], "transaction_data_hashes_alg": "md5"});
    assert!(agreed(&[], &proof).unwrap().is_empty());
}

#[test]
fn a_wrong_hash_is_refused() {
    let asked = [data(PAYMENT, &[])];
    for hash in [json!(hash_of(HashAlg::Sha256, OTHER)), json!(PAYMENT), json!(1), json!(null)] {
        let proof = json!({"transaction_data_hashes": [hash]});
        assert_eq!(agreed(&asked, &proof), Err(MISMATCH), "{hash}");
    }
    assert_eq!(agreed(&asked, &json!({"transaction_data_hashes": PAYMENT_HASH})), Err(MISMATCH));
}

#[test]
fn an_additional_hash_is_refused() {
    let asked = [data(PAYMENT, &[])];
    for more in [hash_of(HashAlg::Sha256, OTHER), PAYMENT_HASH.into()] {
        let proof = json!({"transaction_data_hashes": [PAYMENT_HASH, more]});
        assert_eq!(agreed(&asked, &proof), Err(MISMATCH), "{more}");
    }
}

#[test]
fn the_algorithm_is_one_of_those_that_were_offered() {
    let (sha_384, sha_512) = (HashAlg::Sha384, HashAlg::Sha512);
    let proof = |alg: Option<&str>, hash| {
        let mut proof = json!({"transaction_data_hashes": [hash]});
        if let (Some(alg), Some(members)) = (alg, proof.as_object_mut()) {
            members.insert("transaction_data_hashes_alg".into(), alg.into());
        }
        proof
    };
    let by_512 = || hash_of(sha_512, PAYMENT);
    let offered = [data(PAYMENT, &[sha_384, sha_512])];
    assert!(agreed(&offered, &proof(Some("sha-512"), by_512())).is_ok());
    for (alg, hash) in [
        (None, PAYMENT_HASH.into()),
        (None, by_512()),
        (Some("sha-256"), PAYMENT_HASH.into()),
        (Some("sha-384"), by_512()),
        (Some("SHA-512"), by_512()),
    ] {
        assert_eq!(agreed(&offered, &proof(alg, hash)), Err(MISMATCH), "{alg:?}");
    }
    let unsaid = [data(PAYMENT, &[])];
    assert_eq!(agreed(&unsaid, &proof(Some("sha-512"), by_512())), Err(MISMATCH));
}

#[test]
fn every_requested_transaction_has_exactly_one_approval() {
    let (payment, other) = (data(PAYMENT, &[]), data(OTHER, &[]));
    let asked = [payment.clone(), other.clone()];
    let check = |agreed: &[&TransactionData]| {
        check_all_agreed(&asked, agreed.iter().copied()).map_err(|error| error.reason)
    };
    assert_eq!(check(&[&other, &payment]), Ok(()));
    assert_eq!(check(&[&payment]), Err(MISMATCH));
    assert_eq!(check(&[]), Err(MISMATCH));
    assert_eq!(check(&[&payment, &other, &payment]), Err(MISMATCH));
    assert!(check_all_agreed(&[], [].iter()).is_ok());
}
