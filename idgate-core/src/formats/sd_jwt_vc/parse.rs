//! Parses compact text: `<issuer JWT>~<d1>~…~<dn>~<KB-JWT>` (RFC 9901 4). All parts are decoded
//! into one buffer and parsed onto one tape. The JSON serialization (RFC 9901 8) is refused.

use alloc::vec::Vec;
use core::ops::Range;

use zeroize::Zeroizing;

use super::malformed;
use crate::codec::base64url;
use crate::codec::json::{JsonError, NodeId, Tape};
use crate::error::{Check, Reason, VerifyError};
use crate::jose::CompactJws;
use crate::limits::MAX_DISCLOSURES;
use crate::work;

/// The text, split but not decoded.
pub(crate) struct SplitSdJwt<'a> {
    issuer: CompactJws<'a>,
    key_binding: Option<CompactJws<'a>>,
    /// The part between the first and the last tilde.
    disclosures: &'a str,
    disclosure_count: usize,
    /// The text that `sd_hash` covers: up to and including the last tilde (RFC 9901 4.3.1).
    bound: &'a str,
}

/// The decoded octets of every part, in one buffer: header and payload of both JWTs, then the
/// disclosures.
pub(crate) struct Octets {
    /// Contains claims, so it is wiped when dropped. It never grows, which would leave a copy
    /// behind.
    buffer: Zeroizing<Vec<u8>>,
    parts: Vec<Range<u32>>,
}

/// Well-formed, not yet authenticated.
pub(crate) struct ParsedSdJwt<'a> {
    pub(crate) issuer: CompactJws<'a>,
    pub(crate) issuer_header: NodeId,
    pub(crate) issuer_payload: NodeId,
    /// Text and value of each disclosure.
    pub(crate) disclosures: Vec<(&'a str, NodeId)>,
    pub(crate) key_binding: Option<ParsedKeyBinding<'a>>,
    pub(crate) bound: &'a str,
}

/// A key binding JWT, well-formed.
pub(crate) struct ParsedKeyBinding<'a> {
    pub(crate) jws: CompactJws<'a>,
    pub(crate) header: NodeId,
    pub(crate) payload: NodeId,
}

impl<'a> SplitSdJwt<'a> {
    /// Splits on the tildes.
    pub(crate) fn split(text: &'a str) -> Result<Self, VerifyError> {
        let bad = |detail| malformed(Check::SdJwtShape, detail);
        work::steps(text.len() / 8);
        let (issuer, rest) = text.split_once('~').ok_or_else(|| bad("the SD-JWT has no tilde"))?;
        let (disclosures, key_binding) = rest.rsplit_once('~').unwrap_or(("", rest));
        let disclosure_count = match disclosures {
            "" if rest.contains('~') => return Err(bad("an empty disclosure")),
            "" => 0,
            some => some.bytes().filter(|byte| *byte == b'~').count() + 1,
        };
        if disclosure_count > MAX_DISCLOSURES {
            let detail = "more than 4000 disclosures";
            return Err(VerifyError::new(Reason::LimitExceeded, Check::SdJwtShape, detail));
        }
        let jws =
            |text| CompactJws::split(text).map_err(|_| bad("a JWT does not have three parts"));
        Ok(Self {
            issuer: jws(issuer)?,
            key_binding: if key_binding.is_empty() { None } else { Some(jws(key_binding)?) },
            disclosures,
            disclosure_count,
            bound: text.get(..text.len() - key_binding.len()).unwrap_or(text),
        })
    }

    fn disclosures(&self) -> impl Iterator<Item = &'a str> {
        self.disclosures.split('~').take(self.disclosure_count)
    }

    /// Decodes every part.
    pub(crate) fn decode(&self) -> Result<Octets, VerifyError> {
        let length = self.bound.len() + self.key_binding.map_or(0, |jws| jws.signing_input.len());
        let mut octets = Octets {
            buffer: Zeroizing::new(Vec::with_capacity(length / 4 * 3 + 3)),
            parts: Vec::with_capacity(self.disclosure_count + 4),
        };
        octets.push(self.issuer.header, Check::IssuerJwt)?;
        octets.push(self.issuer.payload, Check::IssuerJwt)?;
        for disclosure in self.disclosures() {
            octets.push(disclosure, Check::DisclosureFormat)?;
        }
        if let Some(jws) = &self.key_binding {
            octets.push(jws.header, Check::KeyBindingJwt)?;
            octets.push(jws.payload, Check::KeyBindingJwt)?;
        }
        Ok(octets)
    }
}

impl Octets {
    fn push(&mut self, text: &str, check: Check) -> Result<(), VerifyError> {
        let bad = || malformed(check, "a part is not base64url");
        if text.is_empty() {
            return Err(malformed(check, "an empty part"));
        }
        let start = u32::try_from(self.buffer.len()).map_err(|_| bad())?;
        base64url::decode_onto(text, &mut self.buffer).map_err(|_| bad())?;
        let end = u32::try_from(self.buffer.len()).map_err(|_| bad())?;
        self.parts.push(start..end);
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(|part| {
            let start = usize::try_from(part.start).unwrap_or(usize::MAX);
            let end = usize::try_from(part.end).unwrap_or(usize::MAX);
            self.buffer.get(start..end).unwrap_or_default()
        })
    }

    /// Room for the values of typical parts, so that the tape grows once.
    pub(crate) fn tape_capacity(&self) -> usize {
        self.buffer.len() / 28 + 8
    }
}

impl<'a> ParsedSdJwt<'a> {
    /// Parses the JSON of every part onto `tape`.
    pub(crate) fn parse<'o>(
        split: SplitSdJwt<'a>,
        octets: &'o Octets,
        tape: &mut Tape<'o>,
    ) -> Result<Self, VerifyError> {
        let mut parts = octets.iter();
        let mut next = |check| {
            let part = parts.next().unwrap_or_default();
            tape.parse(part).map_err(|error| not_strict(error, check))
        };
        let issuer_header = next(Check::IssuerJwt)?;
        let issuer_payload = next(Check::IssuerJwt)?;
        let mut disclosures = Vec::with_capacity(split.disclosure_count);
        for text in split.disclosures() {
            disclosures.push((text, next(Check::DisclosureFormat)?));
        }
        let key_binding = match split.key_binding {
            None => None,
            Some(jws) => Some(ParsedKeyBinding {
                jws,
                header: next(Check::KeyBindingJwt)?,
                payload: next(Check::KeyBindingJwt)?,
            }),
        };
        Ok(Self {
            issuer: split.issuer,
            issuer_header,
            issuer_payload,
            disclosures,
            key_binding,
            bound: split.bound,
        })
    }
}

fn not_strict(error: JsonError, check: Check) -> VerifyError {
    let exceeded = |detail| VerifyError::new(Reason::LimitExceeded, check, detail);
    match error {
        JsonError::TooDeep => exceeded("a part nests deeper than 32"),
        JsonError::TooMany => exceeded("the parts have too many JSON values"),
        _ => malformed(check, "a part is not strict JSON"),
    }
}
