//! Sample status sources: status lists with their tokens as JWT and CWT
//! (draft-ietf-oauth-status-list), and CRLs (RFC 5280 5). Every part can be changed before it is
//! signed.

mod crl;
mod cwt;

use miniz_oxide::deflate::compress_to_vec_zlib;
use serde_json::{Map, Value, json};

pub use self::crl::{Crl, CrlEntry, authority_key_identifier, extension, generalized_time};
pub use self::cwt::StatusCwt;

/// Encoded CBOR, piece by piece.
pub mod cbor {
    pub use super::cwt::{array, bytes, integer, map, text};
}

use crate::codec::base64url;
use crate::jws::sign_jws;
use crate::keys::SigningKey;

/// Statuses of `bits` bits each, least significant bits first (draft 4.1).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StatusList {
    /// 1, 2, 4 or 8.
    pub bits: u8,
    /// The packed statuses.
    pub bytes: Vec<u8>,
}

impl StatusList {
    /// A list of at least `len` statuses, all 0.
    pub fn new(bits: u8, len: usize) -> Self {
        Self { bits, bytes: vec![0; (len * usize::from(bits)).div_ceil(8)] }
    }

    /// With the status at `idx`.
    #[must_use]
    pub fn with(mut self, idx: usize, status: u8) -> Self {
        let at = idx * usize::from(self.bits);
        if let Some(byte) = self.bytes.get_mut(at / 8) {
            *byte |= status << (at % 8);
        }
        self
    }

    /// The list as zlib.
    pub fn deflated(&self) -> Vec<u8> {
        compress_to_vec_zlib(&self.bytes, 9)
    }
}

/// A status list token as JWT before it is signed (draft 5.1).
#[derive(Clone, Debug)]
pub struct StatusJwt {
    /// The JOSE header. `alg` and `kid` come from the key if absent.
    pub header: Map<String, Value>,
    /// The payload.
    pub payload: Map<String, Value>,
}

impl StatusJwt {
    /// A token about `list` at `uri`, issued at `iat` seconds, good for a day.
    pub fn new(list: &StatusList, uri: &str, iat: u64) -> Self {
        let header = Map::from_iter([(String::from("typ"), json!("statuslist+jwt"))]);
        let payload = [
            ("sub", json!(uri)),
            ("iat", json!(iat)),
            ("exp", json!(iat.saturating_add(86_400))),
            ("ttl", json!(3600)),
            ("status_list", json!({ "bits": list.bits, "lst": base64url(&list.deflated()) })),
        ];
        let payload = payload.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self { header, payload }
    }

    /// With a claim.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.payload.insert(name.into(), value);
        self
    }

    /// Without a claim.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.payload.remove(name);
        self
    }

    /// With a header parameter.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: Value) -> Self {
        self.header.insert(name.into(), value);
        self
    }

    /// The signed token.
    pub fn sign(mut self, key: &SigningKey) -> String {
        self.header.entry("alg").or_insert_with(|| json!(key.curve().alg()));
        if let Some(kid) = key.kid() {
            self.header.entry("kid").or_insert_with(|| json!(kid));
        }
        sign_jws(
            key,
            &Value::Object(self.header).to_string(),
            &Value::Object(self.payload).to_string(),
        )
    }
}

/// The `status` claim of a credential (draft 6.1).
pub fn status_claim(idx: u64, uri: &str) -> Value {
    json!({ "status_list": { "idx": idx, "uri": uri } })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of draft 4.1: sixteen statuses of one bit.
    #[test]
    fn the_list_of_the_draft_is_reproduced() {
        let list = [0, 3, 4, 5, 7, 8, 9, 13, 15]
            .into_iter()
            .fold(StatusList::new(1, 16), |list, idx| list.with(idx, 1));
        assert_eq!(list.bytes, [0xb9, 0xa3]);
    }
}
