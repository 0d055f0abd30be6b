//! The signed properties of XAdES (ETSI EN 319 132-1): the time of the signature, and the signer's
//! certificate.

use idgate_core::crypto::HashAlg;
use idgate_core::shell::TrustedListError;
use idgate_core::{CryptoProvider, UnixMillis};
use roxmltree::{Document, Node};

use crate::error::not_authentic;
use crate::names::ns;
use crate::signed_info::hash_alg;
use crate::tree::{self, child, elements};

/// The signed properties.
#[derive(Debug, Default)]
pub(crate) struct Properties {
    pub(crate) signed_at: Option<UnixMillis>,
    /// A digest of the signer's certificate.
    certificate: Option<(HashAlg, Vec<u8>)>,
}

impl Properties {
    /// Reads the properties from the root of their canonical form.
    pub(crate) fn read(properties: Node<'_, '_>) -> Result<Self, TrustedListError> {
        let of_signature = child(properties, ns::XADES, "SignedSignatureProperties");
        let Some(own) = of_signature else { return Ok(Self::default()) };
        let signed_at = child(own, ns::XADES, "SigningTime").map(|time| {
            let at = tree::text(time).and_then(UnixMillis::parse_rfc3339);
            at.ok_or_else(|| not_authentic("has a SigningTime that is not a date and time"))
        });
        let named = ["SigningCertificateV2", "SigningCertificate"];
        let named = named.iter().find_map(|name| child(own, ns::XADES, name));
        let certificate = named.map(certificate_digest).transpose()?;
        Ok(Self { signed_at: signed_at.transpose()?, certificate })
    }

    /// Whether `der` may be the signer's certificate: if the properties name one, it must be this
    /// one.
    pub(crate) fn fits(&self, provider: &CryptoProvider, der: &[u8]) -> bool {
        let is_it = |(hash, digest): &(HashAlg, Vec<u8>)| {
            provider.hash(*hash, der).as_bytes() == digest.as_slice()
        };
        self.certificate.as_ref().is_none_or(is_it)
    }
}

/// Returns the digest of the first certificate, which is the signer's.
fn certificate_digest(named: Node<'_, '_>) -> Result<(HashAlg, Vec<u8>), TrustedListError> {
    let digest =
        child(named, ns::XADES, "Cert").and_then(|one| child(one, ns::XADES, "CertDigest"));
    let read = digest.and_then(|digest| {
        let hash = child(digest, ns::DS, "DigestMethod")?.attribute("Algorithm")?;
        Some((hash_alg(hash)?, tree::base64(child(digest, ns::DS, "DigestValue")?)?))
    });
    read.ok_or_else(|| {
        not_authentic(
            "names its signer's certificate by a digest other than SHA-256, SHA-384 and SHA-512",
        )
    })
}

/// Returns the properties in a `ds:Signature` that have this identifier. No other element may have
/// it.
pub(crate) fn find<'a, 'i>(
    document: &'a Document<'i>,
    signature: Node<'a, 'i>,
    id: &str,
) -> Result<Node<'a, 'i>, TrustedListError> {
    let objects = elements(signature).filter(|one| one.has_tag_name((ns::DS, "Object")));
    let qualifying = objects
        .flat_map(elements)
        .filter(|one| one.has_tag_name((ns::XADES, "QualifyingProperties")));
    let signed: Vec<Node<'a, 'i>> = qualifying
        .flat_map(elements)
        .filter(|one| one.has_tag_name((ns::XADES, "SignedProperties")))
        .collect();
    let [only] = signed.as_slice() else {
        return Err(not_authentic("has no SignedProperties in its signature, or several"));
    };
    if only.attribute("Id") != Some(id) {
        return Err(not_authentic("is signed with other properties than those in its signature"));
    }
    let has_it = |one: &Node<'_, '_>| {
        one.attributes().any(|own| own.name().eq_ignore_ascii_case("id") && own.value() == id)
    };
    match document.descendants().filter(has_it).count() {
        1 => Ok(*only),
        _ => Err(not_authentic("has two elements with the identifier of its signed properties")),
    }
}
