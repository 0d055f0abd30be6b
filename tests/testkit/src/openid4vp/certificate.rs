//! The verifier's certificates as a wallet reads them (RFC 5280), and the path up to an anchor.

use p256::ecdsa::signature::Verifier as _;

use crate::codec::from_base64_standard;
use crate::der::{self, oid};
use crate::time::compact_utc;
use crate::x509::{BASIC_CONSTRAINTS, SUBJECT_ALT_NAME};

/// A parsed certificate.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Certificate {
    /// The whole, in DER.
    pub der: Vec<u8>,
    /// The issuer's name, in DER.
    pub issuer: Vec<u8>,
    /// The subject's name, in DER.
    pub subject: Vec<u8>,
    /// `YYYYMMDDhhmmssZ`, first and last.
    pub validity: [String; 2],
    /// The subject's public point, uncompressed.
    pub point: Vec<u8>,
    /// The dNSNames of subjectAltName.
    pub dns_names: Vec<String>,
    /// Whether it may issue certificates.
    pub ca: bool,
    tbs: Vec<u8>,
    signature: Vec<u8>,
}

impl Certificate {
    /// From an element of `x5c`: standard base64, padded (RFC 7515 4.1.6).
    pub fn from_x5c(text: &str) -> Option<Self> {
        Self::read(&from_base64_standard(text)?)
    }

    /// From DER.
    pub fn read(der: &[u8]) -> Option<Self> {
        let whole = Element::only(der)?;
        let [tbs, _, signature] = whole.children()?.try_into().ok()?;
        let mut fields: Vec<Element<'_>> = tbs.children()?;
        fields.retain(|field| field.tag != 0xa0);
        let [_serial, _algorithm, issuer, validity, subject, spki, ..] = fields.as_slice() else {
            return None;
        };
        let dates: Vec<String> = validity.children()?.iter().map(Element::date).collect();
        let [_, key] = spki.children()?.try_into().ok()?;
        let mut read = Self {
            der: der.to_vec(),
            issuer: issuer.whole.to_vec(),
            subject: subject.whole.to_vec(),
            validity: dates.try_into().ok()?,
            point: key.content.get(1..)?.to_vec(),
            tbs: tbs.whole.to_vec(),
            signature: signature.content.get(1..)?.to_vec(),
            ..Self::default()
        };
        if let Some(extensions) = fields.iter().find(|field| field.tag == 0xa3) {
            read.read_extensions(Element::only(extensions.content)?)?;
        }
        Some(read)
    }

    /// Whether `issuer` made it.
    pub fn is_issued_by(&self, issuer: &Self) -> bool {
        self.issuer == issuer.subject && self.is_signed_by(issuer).unwrap_or(false)
    }

    /// Whether it is valid at `now_ms`.
    pub fn is_valid_at(&self, now_ms: u64) -> bool {
        let [first, last] = &self.validity;
        let now = compact_utc(now_ms);
        *first <= now && now <= *last
    }

    fn is_signed_by(&self, issuer: &Self) -> Option<bool> {
        let [r, s] = Element::only(&self.signature)?.children()?.try_into().ok()?;
        match issuer.point.len() {
            65 => {
                let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(&issuer.point).ok()?;
                let raw = [r.scalar::<32>()?, s.scalar::<32>()?].concat();
                let signature = p256::ecdsa::Signature::from_slice(&raw).ok()?;
                Some(key.verify(&self.tbs, &signature).is_ok())
            }
            _ => {
                let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(&issuer.point).ok()?;
                let raw = [r.scalar::<48>()?, s.scalar::<48>()?].concat();
                let signature = p384::ecdsa::Signature::from_slice(&raw).ok()?;
                Some(key.verify(&self.tbs, &signature).is_ok())
            }
        }
    }

    fn read_extensions(&mut self, extensions: Element<'_>) -> Option<()> {
        for extension in extensions.children()? {
            let parts = extension.children()?;
            let (kind, value) = (parts.first()?, Element::only(parts.last()?.content)?);
            if kind.whole == oid(SUBJECT_ALT_NAME) {
                let names = value.children()?.into_iter().filter(|name| name.tag == 0x82);
                self.dns_names =
                    names.map(|name| String::from_utf8_lossy(name.content).into()).collect();
            } else if kind.whole == oid(BASIC_CONSTRAINTS) {
                self.ca = value.children()?.iter().any(|part| part.tag == 0x01);
            }
        }
        Some(())
    }
}

/// Whether `chain`, leaf first, leads up to `anchor` at `now_ms`. The chain does not contain the anchor.
pub fn check_path(chain: &[Certificate], anchor: &Certificate, now_ms: u64) -> bool {
    let issuers = chain.iter().skip(1).chain([anchor]);
    let mut links = chain.iter().zip(issuers);
    anchor.is_valid_at(now_ms)
        && links
            .all(|(one, issuer)| one.is_valid_at(now_ms) && issuer.ca && one.is_issued_by(issuer))
}

/// One DER element.
#[derive(Clone, Copy, Debug)]
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    whole: &'a [u8],
}

impl<'a> Element<'a> {
    /// The element at the start, and the rest.
    fn first(der: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (tag, rest) = der.split_first()?;
        let (short, rest) = rest.split_first()?;
        let (length, rest) = match usize::from(*short) {
            length @ ..0x80 => (length, rest),
            long => {
                let (length, rest) = rest.split_at_checked(long.checked_sub(0x80)?)?;
                let shift =
                    |sum: usize, byte: &u8| Some(sum.checked_mul(256)? + usize::from(*byte));
                (length.iter().try_fold(0, shift)?, rest)
            }
        };
        let (content, behind) = rest.split_at_checked(length)?;
        let whole = der.get(..der.len().checked_sub(behind.len())?)?;
        Some((Self { tag: *tag, content, whole }, behind))
    }

    fn only(der: &'a [u8]) -> Option<Self> {
        let (element, behind) = Self::first(der)?;
        behind.is_empty().then_some(element)
    }

    fn children(&self) -> Option<Vec<Self>> {
        let (mut children, mut rest) = (Vec::new(), self.content);
        while !rest.is_empty() {
            let (child, behind) = Self::first(rest)?;
            children.push(child);
            rest = behind;
        }
        Some(children)
    }

    /// UTCTime before 2050, or GeneralizedTime (RFC 5280 4.1.2.5).
    fn date(&self) -> String {
        let text = String::from_utf8_lossy(self.content);
        match text.len() {
            13 if *text < *"50" => format!("20{text}"),
            13 => format!("19{text}"),
            _ => text.into(),
        }
    }

    /// A non-negative INTEGER on that many bytes.
    fn scalar<const N: usize>(&self) -> Option<[u8; N]> {
        let number = self.content.iter().position(|byte| *byte != 0);
        let number = self.content.get(number?..).filter(|_| self.tag == der::INTEGER)?;
        let mut padded = [0; N];
        padded.get_mut(N.checked_sub(number.len())?..)?.copy_from_slice(number);
        Some(padded)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::keys::Curve;
    use crate::time::{SAMPLE_NOW_MS, YEAR_MS};
    use crate::x509::{Identity, dns_names};

    fn read(identity: &Identity) -> Certificate {
        Certificate::read(&identity.der).unwrap()
    }

    #[test]
    fn names_dates_and_keys_are_read() {
        for curve in [Curve::P256, Curve::P384] {
            let root = Identity::iaca(curve, SAMPLE_NOW_MS);
            let signer = root.document_signer(curve, SAMPLE_NOW_MS);
            let mut named = signer.builder.clone();
            named = named.set(SUBJECT_ALT_NAME, false, dns_names(&["a.example", "b.example"]));
            let leaf = read(&named.issue(&root, &signer.key));
            assert_eq!(leaf.dns_names, ["a.example", "b.example"]);
            assert_eq!(leaf.point, signer.key.public_sec1());
            assert_eq!(leaf.issuer, root.builder.subject.der());
            assert_eq!((leaf.ca, read(&root).ca), (false, true));
        }
    }

    #[test]
    fn a_path_needs_names_signatures_dates_and_the_ca_flag() {
        let root = Identity::iaca(Curve::P384, SAMPLE_NOW_MS);
        let signer = root.document_signer(Curve::P256, SAMPLE_NOW_MS);
        let (anchor, leaf) = (read(&root), read(&signer));
        assert!(check_path(std::slice::from_ref(&leaf), &anchor, SAMPLE_NOW_MS));
        assert!(!check_path(std::slice::from_ref(&leaf), &anchor, SAMPLE_NOW_MS + YEAR_MS));
        assert!(!check_path(std::slice::from_ref(&leaf), &leaf, SAMPLE_NOW_MS));
        let other = Identity::iaca(Curve::P256, SAMPLE_NOW_MS);
        assert!(!check_path(std::slice::from_ref(&leaf), &read(&other), SAMPLE_NOW_MS));
        let mut forged = leaf;
        forged.signature[9] ^= 1;
        assert!(!check_path(&[forged], &anchor, SAMPLE_NOW_MS));
    }
}
