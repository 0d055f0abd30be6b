//! A status list token as CWT: COSE_Sign1 over a map of claims (draft 5.2, RFC 9052 4.2).

use super::StatusList;
use crate::keys::{Curve, SigningKey};

/// A token before it is signed. Values are encoded CBOR.
#[derive(Clone, Debug)]
pub struct StatusCwt {
    /// The protected header without `alg`.
    pub protected: Vec<(i64, Vec<u8>)>,
    /// The unprotected header.
    pub unprotected: Vec<(i64, Vec<u8>)>,
    /// The claims.
    pub claims: Vec<(i64, Vec<u8>)>,
    /// The algorithm's label. If absent, that of the key.
    pub alg: Option<i64>,
}

impl StatusCwt {
    /// A token about `list` at `uri`, issued at `iat` seconds, good for a day, with its
    /// certificates in `x5chain`.
    pub fn new(list: &StatusList, uri: &str, iat: u64, x5chain: &[&[u8]]) -> Self {
        let status_list = map(&[
            (text("bits"), unsigned(u64::from(list.bits))),
            (text("lst"), bytes(&list.deflated())),
        ]);
        let chain = match x5chain {
            [only] => bytes(only),
            several => array(&several.iter().map(|der| bytes(der)).collect::<Vec<_>>()),
        };
        Self {
            protected: vec![(16, text("application/statuslist+cwt"))],
            unprotected: vec![(33, chain)],
            claims: vec![
                (2, text(uri)),
                (6, unsigned(iat)),
                (4, unsigned(iat.saturating_add(86_400))),
                (65534, unsigned(3600)),
                (65533, status_list),
            ],
            alg: None,
        }
    }

    /// An identifier list token with these identifiers (ISO/IEC 18013-5 second edition 12.3.6.4), else
    /// like a status list token.
    pub fn identifiers(identifiers: &[&[u8]], uri: &str, iat: u64, x5chain: &[&[u8]]) -> Self {
        let entries: Vec<_> = identifiers.iter().map(|id| (bytes(id), map(&[]))).collect();
        let mut token = Self::new(&StatusList::new(1, 0), uri, iat, x5chain).without(65533);
        token.protected = vec![(16, text("application/identifierlist+cwt"))];
        token.with(65530, map(&[(text("identifiers"), map(&entries))]))
    }

    /// With a claim, even if there is one with the same label.
    #[must_use]
    pub fn and(mut self, label: i64, value: Vec<u8>) -> Self {
        self.claims.push((label, value));
        self
    }

    /// With a claim.
    #[must_use]
    pub fn with(mut self, label: i64, value: Vec<u8>) -> Self {
        self = self.without(label);
        self.claims.push((label, value));
        self
    }

    /// Without a claim.
    #[must_use]
    pub fn without(mut self, label: i64) -> Self {
        self.claims.retain(|(claim, _)| *claim != label);
        self
    }

    /// The signed token, with tag 18.
    pub fn sign(&self, key: &SigningKey) -> Vec<u8> {
        let alg = self.alg.unwrap_or(match key.curve() {
            Curve::P256 => -7,
            Curve::P384 => -35,
            Curve::P521 => -36,
        });
        let mut protected = vec![(1, integer(alg))];
        protected.extend(self.protected.iter().cloned());
        let protected = bytes(&labelled(&protected));
        let payload = bytes(&labelled(&self.claims));
        let signed = array(&[text("Signature1"), protected.clone(), bytes(&[]), payload.clone()]);
        let signature = bytes(&key.sign(&signed));
        let message = array(&[protected, labelled(&self.unprotected), payload, signature]);
        [vec![0xd2], message].concat()
    }

    /// CBOR of a text string.
    pub fn text(value: &str) -> Vec<u8> {
        text(value)
    }

    /// CBOR of an integer.
    pub fn integer(value: i64) -> Vec<u8> {
        integer(value)
    }

    /// CBOR of the `status_list` claim.
    pub fn status_list(bits: i64, lst: &[u8]) -> Vec<u8> {
        map(&[(text("bits"), integer(bits)), (text("lst"), bytes(lst))])
    }
}

fn head(major: u8, argument: u64) -> Vec<u8> {
    let major = major << 5;
    let be = argument.to_be_bytes();
    match argument {
        0..24 => vec![major | be[7]],
        24..0x100 => vec![major | 24, be[7]],
        0x100..0x1_0000 => [&[major | 25], &be[6..]].concat(),
        0x1_0000..0x1_0000_0000 => [&[major | 26], &be[4..]].concat(),
        _ => [&[major | 27], &be[..]].concat(),
    }
}

fn unsigned(value: u64) -> Vec<u8> {
    head(0, value)
}

/// CBOR of an integer.
pub fn integer(value: i64) -> Vec<u8> {
    if value < 0 { head(1, value.unsigned_abs() - 1) } else { head(0, value.unsigned_abs()) }
}

fn sized(major: u8, content: &[u8], count: usize) -> Vec<u8> {
    [head(major, u64::try_from(count).unwrap_or(u64::MAX)), content.to_vec()].concat()
}

/// CBOR of a byte string.
pub fn bytes(value: &[u8]) -> Vec<u8> {
    sized(2, value, value.len())
}

/// CBOR of a text string.
pub fn text(value: &str) -> Vec<u8> {
    sized(3, value.as_bytes(), value.len())
}

/// CBOR of an array of encoded items.
pub fn array(items: &[Vec<u8>]) -> Vec<u8> {
    sized(4, &items.concat(), items.len())
}

/// CBOR of a map of encoded keys and values.
pub fn map(entries: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let content: Vec<u8> =
        entries.iter().flat_map(|(key, value)| [key.as_slice(), value].concat()).collect();
    sized(5, &content, entries.len())
}

fn labelled(entries: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let entries: Vec<_> =
        entries.iter().map(|(label, value)| (integer(*label), value.clone())).collect();
    map(&entries)
}
