//! IssuerSignedItems and their digests. A digest is made over the whole tag-24 item as received
//! (ISO/IEC 18013-5 9.1.2.5), because our own encoding could differ.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::{malformed, not_cbor, too_many};
use crate::codec::cbor::{Tape, Value};
use crate::crypto::{CryptoProvider, HashAlg, ct};
use crate::error::{Check, Reason, VerifyError};
use crate::limits::{MAX_NAME_SPACES, MIN_MDOC_RANDOM_BYTES};
use crate::work;

/// Items whose digests the issuer signed.
#[derive(Debug)]
pub(crate) struct Items<'a> {
    name_spaces: Vec<NameSpace<'a>>,
}

#[derive(Debug)]
struct NameSpace<'a> {
    name: Cow<'a, str>,
    /// Sorted by element.
    items: Vec<Item<'a>>,
}

#[derive(Debug)]
struct Item<'a> {
    digest_id: u64,
    element: Cow<'a, str>,
    /// Strict CBOR. Most values are never requested, so they are not kept decoded.
    value: Cow<'a, [u8]>,
}

impl<'a> Items<'a> {
    /// Reads `nameSpaces` of IssuerSigned, where absent means empty. Finds the digest of every item
    /// in `value_digests`; no item may occur twice.
    pub(crate) fn bind(
        provider: &CryptoProvider,
        name_spaces: Option<Value<'_, 'a>>,
        value_digests: Value<'_, '_>,
        hash_alg: HashAlg,
    ) -> Result<Self, VerifyError> {
        let mut bound = Self { name_spaces: Vec::new() };
        let Some(name_spaces) = name_spaces else { return Ok(bound) };
        let mut tape = Tape::default();
        for (name, items) in name_spaces.entries().ok_or(bad("nameSpaces is not a map"))? {
            if bound.name_spaces.len() == MAX_NAME_SPACES {
                return Err(too_many("the document has more than 32 namespaces"));
            }
            let name = name.as_text().ok_or(bad("a namespace is not text"))?;
            let items = items.elements().ok_or(bad("a namespace does not hold an array"))?;
            let mut digests = Digests::read(value_digests.get(&name))?;
            let mut read = Vec::with_capacity(items.clone().count());
            for encoded in items {
                let item = Item::decode(encoded, &mut tape)?;
                let digest = provider.hash(hash_alg, encoded.raw());
                digests.take(item.digest_id, digest.as_bytes())?;
                read.push(item);
            }
            sort(&mut read)?;
            bound.name_spaces.push(NameSpace { name, items: read });
        }
        Ok(bound)
    }

    /// The encoded value of an element.
    pub(crate) fn get(&self, name_space: &str, element: &str) -> Option<&[u8]> {
        let items = self.of(name_space);
        let found = items.binary_search_by(|item| (*item.element).cmp(element)).ok()?;
        items.get(found).map(|item| &*item.value)
    }

    /// The elements of a namespace, by name, with their encoded values.
    pub(crate) fn elements(&self, name_space: &str) -> impl Iterator<Item = (&str, &[u8])> {
        self.of(name_space).iter().map(|item| (&*item.element, &*item.value))
    }

    fn of(&self, name_space: &str) -> &[Item<'a>] {
        let found = self.name_spaces.iter().find(|found| found.name == name_space);
        found.map_or(&[], |name_space| &name_space.items)
    }
}

fn bad(detail: &'static str) -> VerifyError {
    malformed(Check::IssuerSignedItems, detail)
}

fn sort(items: &mut [Item<'_>]) -> Result<(), VerifyError> {
    items.sort_unstable_by(|a, b| {
        work::comparison(a.element.len().min(b.element.len()));
        a.element.cmp(&b.element)
    });
    if items.windows(2).any(|pair| matches!(pair, [a, b] if a.element == b.element)) {
        return Err(bad("an element occurs twice in its namespace"));
    }
    Ok(())
}

impl<'a> Item<'a> {
    /// Reads encoded CBOR in tag 24. The tape is cleared before use.
    fn decode(encoded: Value<'_, 'a>, tape: &mut Tape<'a>) -> Result<Self, VerifyError> {
        match encoded.encoded_cbor().ok_or(bad("an item is not encoded CBOR in tag 24"))? {
            Cow::Borrowed(bytes) => {
                tape.clear();
                Self::parse(bytes, tape)
            }
            Cow::Owned(bytes) => Item::parse(&bytes, &mut Tape::default()).map(Item::into_owned),
        }
    }

    fn parse(bytes: &'a [u8], tape: &mut Tape<'a>) -> Result<Self, VerifyError> {
        let id = tape.parse(bytes).map_err(|error| not_cbor(Check::IssuerSignedItems, error))?;
        Self::read(tape.value(id))
    }

    /// `{"digestID": uint, "random": bstr, "elementIdentifier": tstr, "elementValue": any}`, in any
    /// order.
    fn read(item: Value<'_, 'a>) -> Result<Self, VerifyError> {
        let digest_id = item.get("digestID").and_then(Value::as_u64);
        let random = item.get("random").and_then(Value::as_bytes);
        let random = random.ok_or(bad("random is missing or not a byte string"))?;
        if random.len() < MIN_MDOC_RANDOM_BYTES {
            return Err(bad("random is shorter than 16 bytes"));
        }
        let element = item.get("elementIdentifier").and_then(Value::as_text);
        let value = item.get("elementValue").ok_or(bad("elementValue is missing"))?;
        Ok(Self {
            digest_id: digest_id.ok_or(bad("digestID is missing or not an unsigned integer"))?,
            element: element.ok_or(bad("elementIdentifier is missing or not text"))?,
            value: Cow::Borrowed(value.raw()),
        })
    }

    fn into_owned(self) -> Item<'static> {
        Item {
            digest_id: self.digest_id,
            element: Cow::Owned(self.element.into_owned()),
            value: Cow::Owned(self.value.into_owned()),
        }
    }
}

/// The signed digests of one namespace, by digestID.
struct Digests<'a>(Vec<Digest<'a>>);

struct Digest<'a> {
    id: u64,
    value: Cow<'a, [u8]>,
    taken: bool,
}

impl<'a> Digests<'a> {
    fn read(digests: Option<Value<'_, 'a>>) -> Result<Self, VerifyError> {
        let wrong = malformed(Check::Mso, "valueDigests is not a map of digestIDs to byte strings");
        let Some(digests) = digests else { return Ok(Self(Vec::new())) };
        let Some(entries) = digests.entries() else { return Err(wrong) };
        let mut digests = Vec::with_capacity(entries.clone().count());
        for (id, value) in entries {
            let (Some(id), Some(value)) = (id.as_u64(), value.as_bytes()) else {
                return Err(wrong);
            };
            digests.push(Digest { id, value, taken: false });
        }
        if !digests.is_sorted_by_key(|digest| digest.id) {
            digests.sort_unstable_by(|a, b| {
                work::comparison(0);
                a.id.cmp(&b.id)
            });
        }
        Ok(Self(digests))
    }

    /// Each digest is for one item: a second item with its id is ambiguous.
    fn take(&mut self, id: u64, hash: &[u8]) -> Result<(), VerifyError> {
        let mismatch =
            |detail| VerifyError::new(Reason::DigestMismatch, Check::ValueDigests, detail);
        let found = self.0.binary_search_by(|digest| {
            work::comparison(0);
            digest.id.cmp(&id)
        });
        let found = found.ok();
        let digest = found.and_then(|at| self.0.get_mut(at));
        let digest = digest.ok_or(mismatch("the MSO has no digest for an item"))?;
        if digest.taken {
            return Err(bad("a digestID occurs twice"));
        }
        digest.taken = true;
        if !ct::eq(&digest.value, hash) {
            return Err(mismatch("an item is not the one that the issuer signed"));
        }
        Ok(())
    }
}
