//! `ds:SignedInfo`: the references and the algorithm of a signature. It is read from its own
//! canonical form, which is the signed input.

use idgate_core::crypto::HashAlg;
use idgate_core::shell::{SignatureKind, TrustedListError};
use roxmltree::Node;

use crate::canonical::Method;
use crate::error::not_authentic;
use crate::names::{self, ns};
use crate::tree::{self, child, elements};

/// The signed digests, and the algorithms.
pub(crate) struct SignedInfo {
    /// The canonicalization method that it names for itself.
    pub(crate) method: Method,
    pub(crate) kind: SignatureKind,
    /// The reference to the list without its signature.
    pub(crate) list: Reference,
    /// The reference to the properties, with their identifier.
    pub(crate) properties: Option<(String, Reference)>,
}

/// A digest of a part of the document.
pub(crate) struct Reference {
    pub(crate) method: Method,
    pub(crate) hash: HashAlg,
    pub(crate) digest: Vec<u8>,
}

/// Returns the canonicalization method that a `ds:SignedInfo` names.
pub(crate) fn method_of(signed_info: Node<'_, '_>) -> Result<Method, TrustedListError> {
    let named = child(signed_info, ns::DS, "CanonicalizationMethod");
    canonicalisation(named.ok_or_else(|| shape("a CanonicalizationMethod"))?)
}

impl SignedInfo {
    /// Reads it from the root of its canonical form.
    pub(crate) fn read(signed_info: Node<'_, '_>) -> Result<Self, TrustedListError> {
        let mut parts = elements(signed_info);
        let mut next = |name: &str| parts.next().filter(|one| one.has_tag_name((ns::DS, name)));
        let method =
            next("CanonicalizationMethod").ok_or_else(|| shape("a CanonicalizationMethod"))?;
        let kind = next("SignatureMethod").ok_or_else(|| shape("a SignatureMethod"))?;
        let list = next("Reference").ok_or_else(|| shape("a Reference to the list"))?;
        let (method, kind) = (canonicalisation(method)?, signature_kind(kind)?);
        if list.attribute("URI") != Some("") {
            return Err(not_authentic(
                "has a signature whose first reference is not to the whole list",
            ));
        }
        let list = Reference::of_list(list)?;
        let properties = parts.next().map(properties_reference).transpose()?;
        match parts.next() {
            None => Ok(Self { method, kind, list, properties }),
            Some(_) => {
                Err(not_authentic("has a signature over more than the list and its properties"))
            }
        }
    }
}

/// Reads the reference to the properties. Returns it with their identifier.
fn properties_reference(reference: Node<'_, '_>) -> Result<(String, Reference), TrustedListError> {
    let uri = reference.attribute("URI").and_then(|uri| uri.strip_prefix('#'));
    let is_it = reference.has_tag_name((ns::DS, "Reference"))
        && reference.attribute("Type") == Some(names::SIGNED_PROPERTIES);
    let id = uri.filter(|id| is_it && !id.is_empty()).ok_or_else(|| {
        not_authentic("has a signature over more than the list and its properties")
    })?;
    let transforms: Vec<Node<'_, '_>> = transforms(reference)?;
    let method = match transforms.as_slice() {
        // The default of a reference without transforms.
        [] => Method::Inclusive,
        [one] => canonicalisation(*one)?,
        _ => {
            return Err(not_authentic("has properties that are signed with several transforms"));
        }
    };
    Ok((id.to_owned(), Reference::with(reference, method)?))
}

impl Reference {
    /// Reads the reference to the list. Its transforms remove the signature and canonicalize the
    /// rest.
    fn of_list(reference: Node<'_, '_>) -> Result<Self, TrustedListError> {
        let transforms: Vec<Node<'_, '_>> = transforms(reference)?;
        let [without_signature, canonical] = transforms.as_slice() else {
            return Err(not_authentic(
                "is not signed with two transforms: removal of the signature, then canonicalization",
            ));
        };
        if !takes_signature_out(*without_signature) {
            return Err(not_authentic("is signed with a transform that is not supported"));
        }
        Self::with(reference, canonicalisation(*canonical)?)
    }

    fn with(reference: Node<'_, '_>, method: Method) -> Result<Self, TrustedListError> {
        let digest = child(reference, ns::DS, "DigestValue").and_then(tree::base64);
        let named = child(reference, ns::DS, "DigestMethod");
        let hash = named.and_then(|named| hash_alg(named.attribute("Algorithm")?));
        let hash = hash.ok_or_else(|| {
            not_authentic("is digested with a hash other than SHA-256, SHA-384 and SHA-512")
        })?;
        let digest = digest.ok_or_else(|| not_authentic("has a digest that is not in base64"))?;
        Ok(Self { method, hash, digest })
    }
}

/// Returns the transforms of a reference.
fn transforms<'a, 'i>(reference: Node<'a, 'i>) -> Result<Vec<Node<'a, 'i>>, TrustedListError> {
    let Some(all) = child(reference, ns::DS, "Transforms") else { return Ok(Vec::new()) };
    let all: Vec<Node<'a, 'i>> = elements(all).collect();
    match all.iter().all(|one| one.has_tag_name((ns::DS, "Transform"))) {
        true => Ok(all),
        false => Err(not_authentic("is signed with a transform that is not supported")),
    }
}

/// Whether a transform removes exactly the signature: the enveloped-signature transform, or an
/// XPath Filter 2.0 that subtracts all signatures, of which there is only one.
fn takes_signature_out(transform: Node<'_, '_>) -> bool {
    let mut inside = elements(transform);
    match (transform.attribute("Algorithm"), inside.next(), inside.next()) {
        (Some(names::ENVELOPED), None, None) => true,
        (Some(ns::FILTER), Some(xpath), None) => {
            xpath.has_tag_name((ns::FILTER, "XPath"))
                && xpath.attribute("Filter") == Some("subtract")
                && tree::text(xpath).is_some_and(|text| selects_signatures(xpath, text))
        }
        _ => false,
    }
}

fn selects_signatures(at: Node<'_, '_>, xpath: &str) -> bool {
    let prefix =
        xpath.strip_prefix("/descendant::").and_then(|rest| rest.strip_suffix(":Signature"));
    prefix.is_some_and(|prefix| at.lookup_namespace_uri(Some(prefix)) == Some(ns::DS))
}

/// Returns the method of a canonicalization, which must not have parameters.
fn canonicalisation(named: Node<'_, '_>) -> Result<Method, TrustedListError> {
    let method = named.attribute("Algorithm").and_then(Method::from_uri);
    let is_plain = elements(named).next().is_none();
    method.filter(|_| is_plain).ok_or_else(|| {
        not_authentic(
            "is signed in a canonical form other than Canonical XML 1.0 and Exclusive XML Canonicalization 1.0, \
             both without comments",
        )
    })
}

fn signature_kind(named: Node<'_, '_>) -> Result<SignatureKind, TrustedListError> {
    use HashAlg::{Sha256, Sha384, Sha512};
    let is_plain = elements(named).next().is_none();
    let uri = named.attribute("Algorithm").filter(|_| is_plain).unwrap_or_default();
    let kind = match uri.strip_prefix("http://www.w3.org/2001/04/xmldsig-more#") {
        Some("rsa-sha256") => Some(SignatureKind::RsaPkcs1(Sha256)),
        Some("rsa-sha384") => Some(SignatureKind::RsaPkcs1(Sha384)),
        Some("rsa-sha512") => Some(SignatureKind::RsaPkcs1(Sha512)),
        Some("ecdsa-sha256") => Some(SignatureKind::Ecdsa(Sha256)),
        Some("ecdsa-sha384") => Some(SignatureKind::Ecdsa(Sha384)),
        Some("ecdsa-sha512") => Some(SignatureKind::Ecdsa(Sha512)),
        _ => match uri.strip_prefix("http://www.w3.org/2007/05/xmldsig-more#") {
            Some("sha256-rsa-MGF1") => Some(SignatureKind::RsaPss(Sha256)),
            Some("sha384-rsa-MGF1") => Some(SignatureKind::RsaPss(Sha384)),
            Some("sha512-rsa-MGF1") => Some(SignatureKind::RsaPss(Sha512)),
            _ => None,
        },
    };
    kind.ok_or_else(|| {
        not_authentic("is signed with an algorithm other than RSA and ECDSA with SHA-2")
    })
}

/// Returns the hash with this identifier.
pub(crate) fn hash_alg(uri: &str) -> Option<HashAlg> {
    match uri {
        "http://www.w3.org/2001/04/xmlenc#sha256" => Some(HashAlg::Sha256),
        "http://www.w3.org/2001/04/xmldsig-more#sha384" => Some(HashAlg::Sha384),
        "http://www.w3.org/2001/04/xmlenc#sha512" => Some(HashAlg::Sha512),
        _ => None,
    }
}

fn shape(lacks: &str) -> TrustedListError {
    not_authentic(format!("has a SignedInfo without {lacks} in its place"))
}
