//! Signers of Request Objects: a software key, or any implementation of [`RequestSigner`].

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::crypto::es256::Es256Key;
use crate::crypto::key::{Alg, PublicKey};

/// Signs Request Objects (RFC 9101) and, if it has a certificate, DeviceRequests for browsers
/// (ISO/IEC 18013-5 9.1.4). The key may be in an HSM.
pub trait RequestSigner: fmt::Debug + Send + Sync {
    /// The algorithm. Request Objects are signed with ES256.
    fn alg(&self) -> Alg;

    /// The signer's name, which sessions store. For a signer without a certificate it is the DID
    /// URL of the key's verification method, for example `did:web:gateway.example#key`: the `kid`
    /// of every object, and of the key in both published documents.
    fn key_id(&self) -> &str;

    /// The key's certificate and those between it and the root, in DER, leaf first and without the
    /// root (OpenID4VP 5.9.3, HAIP 1.0 5). A signer with a certificate signs requests under
    /// `x509_san_dns` and `x509_hash`, and reader authentication under any client identifier.
    fn certificate_chain(&self) -> &[Vec<u8>] {
        &[]
    }

    /// The public half. A verifier publishes it in its DID document and its JWK set, and compares
    /// it with the certificate. `None`: you publish it yourself.
    fn published_key(&self) -> Option<PublicKey> {
        None
    }

    /// Returns the raw signature r‖s (RFC 7518 3.4) of `signing_input`, which is the signing input
    /// of a JWS, or the CBOR that a COSE_Sign1 signs. There is one COSE_Sign1 for each requested
    /// document.
    ///
    /// # Errors
    /// The key cannot be used now.
    fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignerUnavailable>;
}

impl<S: RequestSigner + ?Sized> RequestSigner for Arc<S> {
    fn alg(&self) -> Alg {
        (**self).alg()
    }

    fn key_id(&self) -> &str {
        (**self).key_id()
    }

    fn certificate_chain(&self) -> &[Vec<u8>] {
        (**self).certificate_chain()
    }

    fn published_key(&self) -> Option<PublicKey> {
        (**self).published_key()
    }

    fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignerUnavailable> {
        (**self).sign(signing_input)
    }
}

/// Signs with ES256, and checks that the raw signature has 64 bytes.
///
/// # Errors
/// The key cannot be used now, or the signature has another length.
pub(crate) fn sign_es256(
    signer: &dyn RequestSigner,
    signing_input: &[u8],
) -> Result<Vec<u8>, SignerUnavailable> {
    /// r‖s on P-256
    const SIGNATURE_LEN: usize = 64;
    let signature = signer.sign(signing_input)?;
    if signature.len() != SIGNATURE_LEN {
        let why = "the signer did not return a raw signature of 64 bytes";
        return Err(SignerUnavailable::new(why));
    }
    Ok(signature)
}

/// The error for a signing key that cannot be used. The operator must act; the text says why.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SignerUnavailable(pub Cow<'static, str>);

impl SignerUnavailable {
    /// Creates the error, for implementations of [`RequestSigner`]; `why` is for the operator's
    /// log.
    pub fn new(why: impl Into<Cow<'static, str>>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for SignerUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the Request Object could not be signed: {}", self.0)
    }
}

impl core::error::Error for SignerUnavailable {}

/// The error for a key file or a certificate file that cannot be used. The text says why, and never
/// quotes the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct KeyFileError(pub &'static str);

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the file of the signer {}", self.0)
    }
}

impl core::error::Error for KeyFileError {}

/// A signer with a key in memory.
///
/// ```no_run
/// # fn example(key: &[u8], chain: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
/// use idgate_core::crypto::SoftwareSigner;
/// let with_certificate = SoftwareSigner::from_pem(key)?.certified(chain)?;
/// let with_did = SoftwareSigner::from_pem(key)?.under_did("https://shop.example")?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct SoftwareSigner {
    key: Es256Key,
    key_id: String,
    certificate_chain: Vec<Vec<u8>>,
}

impl SoftwareSigner {
    /// Signs with `key` under the DID URL `key_id`; [`SoftwareSigner::under_did`] derives the DID
    /// URL.
    pub fn new(key: Es256Key, key_id: impl Into<String>) -> Self {
        Self { key, key_id: key_id.into(), certificate_chain: Vec::new() }
    }

    /// Adds the key's certificate and those between it and the root, in the form of
    /// [`RequestSigner::certificate_chain`].
    #[must_use]
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn with_certificate_chain(mut self, chain: Vec<Vec<u8>>) -> Self {
        self.certificate_chain = chain;
        self
    }

    pub(crate) fn named(mut self, key_id: String) -> Self {
        self.key_id = key_id;
        self
    }

    pub(crate) fn key(&self) -> &Es256Key {
        &self.key
    }

    /// The public half, for publication.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn public_key(&self) -> &PublicKey {
        self.key.public_key()
    }
}

impl RequestSigner for SoftwareSigner {
    fn alg(&self) -> Alg {
        Alg::Es256
    }

    fn key_id(&self) -> &str {
        &self.key_id
    }

    fn certificate_chain(&self) -> &[Vec<u8>] {
        &self.certificate_chain
    }

    fn published_key(&self) -> Option<PublicKey> {
        Some(*self.key.public_key())
    }

    fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignerUnavailable> {
        Ok(self.key.sign(signing_input).to_vec())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_software_signer_signs_with_its_key() {
        let key = Es256Key::from_scalar(&[7; 32]).unwrap();
        let signer = SoftwareSigner::new(key.clone(), "did:web:a.example#7");
        assert_eq!((signer.alg(), signer.key_id()), (Alg::Es256, "did:web:a.example#7"));
        assert_eq!(signer.public_key(), key.public_key());
        assert_eq!(signer.sign(b"message").unwrap(), key.sign(b"message"));
    }
}
