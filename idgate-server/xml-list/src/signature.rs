//! The only signature of a list: its position, and the check of its digests against the list and
//! the signed properties.

use idgate_core::CryptoProvider;
use idgate_core::crypto::HashAlg;
use idgate_core::shell::{ListAnchors, ListSignature, SignedList, TrustedListError};
use roxmltree::{Document, Node};

use crate::error::{not_authentic, unusable};
use crate::limits::MAX_CHAIN;
use crate::names::ns;
use crate::properties::{self, Properties};
use crate::signed_info::{Reference, SignedInfo, method_of};
use crate::tree::{self, elements};

/// A list in its digested form, and the signature over the digest.
pub(crate) struct Signed {
    /// The canonical form of the list without its signature.
    pub(crate) content: String,
    /// Its hash, and the signature over its digest.
    pub(crate) list: SignedList,
}

impl Signed {
    /// Reads a text that was scanned before. The signer may be among `anchors` if the list has no
    /// certificates.
    pub(crate) fn read(
        provider: &CryptoProvider,
        text: &str,
        anchors: Option<&ListAnchors>,
    ) -> Result<Self, TrustedListError> {
        let document = tree::parsed(text)?;
        let root = document.root_element();
        if !root.has_tag_name((ns::LIST, "TrustServiceStatusList")) {
            return Err(unusable("is XML but not a TrustServiceStatusList (ETSI TS 119 612)"));
        }
        let signature = the_signature(&document)?;
        let parts = Parts::of(signature)?;
        let method = method_of(parts.signed_info)?;
        let input = method.apply(parts.signed_info, None)?;
        let signed_info = tree::parsed(&input)?;
        let signed_info = SignedInfo::read(signed_info.root_element())?;
        if signed_info.method != method {
            return Err(not_authentic(
                "has a SignedInfo whose canonical form names another canonicalization method",
            ));
        }
        let content = signed_info.list.method.apply(root, Some(signature.id()))?;
        hold(provider, &signed_info.list, &content, "list")?;
        let properties = match &signed_info.properties {
            Some((id, reference)) => {
                let found = properties::find(&document, signature, id)?;
                let canonical = reference.method.apply(found, None)?;
                hold(provider, reference, &canonical, "signed properties")?;
                Properties::read(tree::parsed(&canonical)?.root_element())?
            }
            None => Properties::default(),
        };
        let chain = chain(provider, parts.key_info, &properties, anchors)?;
        let value = tree::base64(parts.value);
        let value =
            value.ok_or_else(|| not_authentic("has a SignatureValue that is not in base64"))?;
        let signed_at = properties.signed_at;
        let (kind, input) = (signed_info.kind, input.into_bytes());
        let content_sha256 = provider.hash(HashAlg::Sha256, content.as_bytes());
        let content_sha256 = content_sha256.as_bytes().try_into().unwrap_or_default();
        let signature = ListSignature { chain, signed_at, kind, input, value };
        Ok(Self { content, list: SignedList { content_sha256, signature } })
    }
}

/// Returns the signature if the document has exactly one and it is directly in the root. XPath
/// Filter
/// 2.0 would remove a second one together with the first, and its content would be unsigned.
fn the_signature<'a, 'i>(document: &'a Document<'i>) -> Result<Node<'a, 'i>, TrustedListError> {
    let is_signature = |one: &Node<'_, '_>| one.has_tag_name((ns::DS, "Signature"));
    let all: Vec<Node<'a, 'i>> = document.descendants().filter(is_signature).take(2).collect();
    match all.as_slice() {
        [] => Err(not_authentic("is not signed")),
        [only] if only.parent() == Some(document.root_element()) => Ok(*only),
        [_] => Err(not_authentic("has a signature that is not directly in its root")),
        _ => Err(not_authentic("has more than one signature")),
    }
}

/// The parts of a signature. Each must occur once, in this order.
struct Parts<'a, 'i> {
    signed_info: Node<'a, 'i>,
    value: Node<'a, 'i>,
    key_info: Option<Node<'a, 'i>>,
}

impl<'a, 'i> Parts<'a, 'i> {
    fn of(signature: Node<'a, 'i>) -> Result<Self, TrustedListError> {
        let mut parts = elements(signature).peekable();
        let is = |name: &'static str| move |one: &Node<'_, '_>| one.has_tag_name((ns::DS, name));
        let found = (parts.next_if(is("SignedInfo")), parts.next_if(is("SignatureValue")));
        let key_info = parts.next_if(is("KeyInfo"));
        match found {
            (Some(signed_info), Some(value)) if parts.all(|one| is("Object")(&one)) => {
                Ok(Self { signed_info, value, key_info })
            }
            _ => Err(not_authentic(
                "has a signature whose parts are not SignedInfo, SignatureValue, KeyInfo and Objects, in this order",
            )),
        }
    }
}

fn hold(
    provider: &CryptoProvider,
    reference: &Reference,
    canonical: &str,
    what: &str,
) -> Result<(), TrustedListError> {
    let digest = provider.hash(reference.hash, canonical.as_bytes());
    match digest.as_bytes() == reference.digest.as_slice() {
        true => Ok(()),
        false => {
            Err(not_authentic(format!("is not what was signed: the digest of its {what} differs")))
        }
    }
}

/// Returns the certificates of the signer: those in the list, or else the only anchor that fits the
/// signed properties.
fn chain(
    provider: &CryptoProvider,
    key_info: Option<Node<'_, '_>>,
    properties: &Properties,
    anchors: Option<&ListAnchors>,
) -> Result<Vec<Vec<u8>>, TrustedListError> {
    let listed = key_info.map(certificates).transpose()?.unwrap_or_default();
    if let Some(first) = listed.first() {
        return match properties.fits(provider, first) {
            true => Ok(listed),
            false => {
                Err(not_authentic("names another signer's certificate in its signed properties"))
            }
        };
    }
    let known = anchors.into_iter().flat_map(ListAnchors::certificates);
    let mut fitting = known.filter(|der| properties.fits(provider, der));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Ok(vec![only.to_vec()]),
        _ => Ok(Vec::new()),
    }
}

/// Returns the certificates of a `ds:KeyInfo`, in its order.
fn certificates(key_info: Node<'_, '_>) -> Result<Vec<Vec<u8>>, TrustedListError> {
    let data = elements(key_info).filter(|one| one.has_tag_name((ns::DS, "X509Data")));
    let listed =
        data.flat_map(elements).filter(|one| one.has_tag_name((ns::DS, "X509Certificate")));
    let mut read = Vec::new();
    for certificate in listed {
        if read.len() >= MAX_CHAIN {
            return Err(not_authentic("has more than 10 certificates of its signer"));
        }
        let der = tree::base64(certificate);
        read.push(
            der.ok_or_else(|| not_authentic("has a signer whose certificate cannot be read"))?,
        );
    }
    Ok(read)
}
