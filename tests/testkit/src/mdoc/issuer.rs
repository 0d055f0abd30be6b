//! The issuer: items, the mobile security object, and its signature.

use super::cbor::Cbor;
use super::{MDL, MDL_NAME_SPACE};
use crate::codec::HashAlg;
use crate::keys::{Curve, SigningKey};
use crate::time::compact_utc;

/// One IssuerSignedItem before it is encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its namespace.
    pub name_space: String,
    /// The map. Every entry can be changed.
    pub map: Cbor,
    /// The bytes in tag 24, instead of the encoded map.
    pub encoded: Option<Vec<u8>>,
    /// Whether those bytes are an indefinite-length string in chunks.
    pub chunked: bool,
}

impl Item {
    /// An item with a `random` of 32 bytes.
    pub fn new(name_space: &str, digest_id: i64, element: &str, value: impl Into<Cbor>) -> Self {
        let random = HashAlg::Sha256.hash(format!("{name_space} {digest_id}").as_bytes());
        let map = Cbor::map([
            ("digestID", digest_id.into()),
            ("random", Cbor::Bytes(random)),
            ("elementIdentifier", element.into()),
            ("elementValue", value.into()),
        ]);
        Self { name_space: name_space.into(), map, encoded: None, chunked: false }
    }

    /// The tag-24 item.
    pub fn tagged(&self) -> Cbor {
        let bytes = self.encoded.clone().unwrap_or_else(|| self.map.encode());
        if !self.chunked {
            return Cbor::encoded(bytes);
        }
        let chunks = bytes.chunks(20).flat_map(|chunk| Cbor::Bytes(chunk.to_vec()).encode());
        let string = [0x5f].into_iter().chain(chunks).chain([0xff]).collect();
        Cbor::Tag(24, Box::new(Cbor::Raw(string)))
    }

    fn digest_id(&self) -> Cbor {
        self.map.clone().at("digestID").clone()
    }
}

/// IssuerSigned before it is signed. Signing is the last step.
#[derive(Clone, Debug)]
pub struct IssuerSigned {
    /// The disclosed items.
    pub items: Vec<Item>,
    /// The mobile security object.
    pub mso: Cbor,
    /// The protected header.
    pub protected: Cbor,
    /// The unprotected header.
    pub unprotected: Cbor,
    /// The document signer's key.
    pub key: SigningKey,
    /// An `issuerAuth` from elsewhere. `None`: it is signed on encoding.
    pub received: Option<Cbor>,
}

impl IssuerSigned {
    /// An mDL of these elements, signed at `now_ms`, valid for 30 days from then, for a device's
    /// key. `chain` is the x5chain in DER, leaf first.
    pub fn mdl(
        elements: &[(&str, Cbor)],
        signer: &SigningKey,
        chain: &[Vec<u8>],
        device_key: &SigningKey,
        now_ms: u64,
    ) -> Self {
        let items = elements.iter().zip(0..).map(|((element, value), digest_id)| {
            Item::new(MDL_NAME_SPACE, digest_id, element, value.clone())
        });
        let date = |ms| Cbor::tdate(&rfc3339(ms));
        let mso = Cbor::map([
            ("version", "1.0".into()),
            ("digestAlgorithm", "SHA-256".into()),
            ("valueDigests", Cbor::Null),
            ("deviceKeyInfo", Cbor::map([("deviceKey", cose_key(device_key))])),
            ("docType", MDL.into()),
            (
                "validityInfo",
                Cbor::map([
                    ("signed", date(now_ms)),
                    ("validFrom", date(now_ms)),
                    ("validUntil", date(now_ms + 30 * 86_400_000)),
                ]),
            ),
        ]);
        let mut issued = Self {
            items: items.collect(),
            mso,
            protected: Cbor::Map(vec![(1.into(), cose_label(signer.curve()).into())]),
            unprotected: Cbor::Map(vec![(33.into(), x5chain(chain))]),
            key: signer.clone(),
            received: None,
        };
        issued.digest(HashAlg::Sha256);
        issued
    }

    /// Recomputes the digests of all items. Call it after changing items, or omit it to make a
    /// mismatch.
    pub fn digest(&mut self, alg: HashAlg) {
        let mut value_digests = Cbor::Map(Vec::new());
        for item in &self.items {
            let digest = Cbor::Bytes(alg.hash(&item.tagged().encode()));
            let name_space = value_digests.at(&*item.name_space);
            name_space.set(item.digest_id(), digest);
        }
        self.mso.set("valueDigests", value_digests);
    }

    /// Changes the item of an element.
    pub fn change(&mut self, element: &str, change: impl FnOnce(&mut Item)) {
        let is = |item: &&mut Item| *item.map.clone().at("elementIdentifier") == element.into();
        if let Some(item) = self.items.iter_mut().find(is) {
            change(item);
        }
    }

    /// `nameSpaces` with every item.
    pub fn name_spaces(&self) -> Cbor {
        let mut name_spaces = Cbor::Map(Vec::new());
        for item in &self.items {
            let items = name_spaces.at(&*item.name_space);
            match items {
                Cbor::Array(items) => items.push(item.tagged()),
                other => *other = Cbor::Array(vec![item.tagged()]),
            }
        }
        name_spaces
    }

    /// `issuerAuth`, signed now.
    pub fn issuer_auth(&self) -> Cbor {
        if let Some(received) = &self.received {
            return received.clone();
        }
        let payload = self.mso.to_encoded().encode();
        sign1(&self.key, &self.protected, self.unprotected.clone(), &payload, true)
    }

    /// The whole structure, signed now.
    pub fn sign(&self) -> Cbor {
        Cbor::map([("nameSpaces", self.name_spaces()), ("issuerAuth", self.issuer_auth())])
    }
}

/// RFC 3339 in whole seconds.
pub fn rfc3339(ms: u64) -> String {
    let compact = compact_utc(ms);
    let part = |at| compact.get(at).unwrap_or_default();
    let (date, time) =
        ([part(0..4), part(4..6), part(6..8)], [part(8..10), part(10..12), part(12..14)]);
    format!("{}T{}Z", date.join("-"), time.join(":"))
}

fn x5chain(chain: &[Vec<u8>]) -> Cbor {
    match chain {
        [only] => Cbor::Bytes(only.clone()),
        several => Cbor::Array(several.iter().cloned().map(Cbor::Bytes).collect()),
    }
}

/// The COSE algorithm of a curve's keys (RFC 9053 2.1).
pub fn cose_label(curve: Curve) -> i64 {
    match curve {
        Curve::P256 => -7,
        Curve::P384 => -35,
        Curve::P521 => -36,
    }
}

/// The public key as a COSE_Key (RFC 9053 7.1.1).
pub fn cose_key(key: &SigningKey) -> Cbor {
    let point = key.public_sec1();
    let coordinates = point.get(1..).unwrap_or_default();
    let (x, y) = coordinates.split_at(coordinates.len() / 2);
    let curve = match key.curve() {
        Curve::P256 => 1,
        Curve::P384 => 2,
        Curve::P521 => 3,
    };
    Cbor::Map(vec![
        (1.into(), 2.into()),
        ((-1).into(), curve.into()),
        ((-2).into(), Cbor::Bytes(x.to_vec())),
        ((-3).into(), Cbor::Bytes(y.to_vec())),
    ])
}

/// A COSE_Sign1 (RFC 9052 4.2) over `payload`, which is included if `attached`.
pub fn sign1(
    key: &SigningKey,
    protected: &Cbor,
    unprotected: Cbor,
    payload: &[u8],
    attached: bool,
) -> Cbor {
    let protected = Cbor::Bytes(protected.encode());
    let payload = Cbor::Bytes(payload.to_vec());
    let signed = Cbor::Array(vec![
        "Signature1".into(),
        protected.clone(),
        Cbor::Bytes(Vec::new()),
        payload.clone(),
    ]);
    let signature = Cbor::Bytes(key.sign(&signed.encode()));
    let payload = if attached { payload } else { Cbor::Null };
    Cbor::Array(vec![protected, unprotected, payload, signature])
}
