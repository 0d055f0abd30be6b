//! A software signer that reads its key from files.

use alloc::string::String;
use alloc::vec::Vec;

use crate::codec::base64url;
use crate::crypto::{Es256Key, KeyFileError, SoftwareSigner, sha256_of_public};
use crate::discovery::did_web;
use crate::error::ConfigError;
use crate::trust::pem::pem_or_der;

impl SoftwareSigner {
    /// Creates a signer with the private key of a PEM file, see [`Es256Key::from_pem`]. Add a
    /// certificate or a DID next.
    ///
    /// # Errors
    /// The file does not contain exactly one private key on P-256.
    pub fn from_pem(pem: &[u8]) -> Result<Self, KeyFileError> {
        let key = Es256Key::from_pem(pem)?;
        let name = name_of(&key);
        Ok(Self::new(key, name))
    }

    /// Adds the certificates of a file, PEM or DER: first that of the key, then those between it
    /// and the root. Building a [`Verifier`](crate::Verifier) fails if the certificate is for
    /// another key.
    ///
    /// The certificate's hash is the signer's name. Until a session ends, its requests are signed
    /// with the certificate that it was created with. After a renewal, add the former signer as a
    /// [`named_signer`](crate::VerifierBuilder::named_signer).
    ///
    /// # Errors
    /// The file does not contain certificates.
    pub fn certified(self, file: &[u8]) -> Result<Self, KeyFileError> {
        let chain = pem_or_der(file, "CERTIFICATE");
        let chain = chain.map_err(|_| KeyFileError("has no certificates"))?;
        let leaf = chain.first().map(Vec::as_slice).unwrap_or_default();
        let name = ["x509_hash:", &base64url::encode(&sha256_of_public(leaf))].concat();
        Ok(self.named(name).with_certificate_chain(chain))
    }

    /// Signs under the `did:web` of this origin; wallets find the key in the verifier's DID
    /// document.
    ///
    /// # Errors
    /// `base_url` is not an origin that a verifier may have.
    pub fn under_did(self, base_url: &str) -> Result<Self, ConfigError> {
        let key_id = [&*did_web(base_url)?, "#", &name_of(self.key())].concat();
        Ok(self.named(key_id))
    }
}

/// The thumbprint of the public key (RFC 7638).
fn name_of(key: &Es256Key) -> String {
    base64url::encode(&key.thumbprint())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
