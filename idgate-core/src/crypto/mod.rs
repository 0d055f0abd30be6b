//! Cryptography behind one struct of static parts. A [`CryptoProvider`] verifies, agrees on keys,
//! decrypts and hashes. It holds no keys, generates no randomness, and reports failures without
//! details.

mod agreement;
mod brainpool_p512;
mod certificate_keys;
mod content_encryption;
pub(crate) mod ct;
mod curve_parameters;
mod es256;
mod hash;
pub(crate) mod hpke;
mod issuer_key;
pub(crate) mod jwk;
mod key;
mod provider;
mod signer;
mod spki;
mod x509_sig;

#[cfg(feature = "aws-lc-rs")]
pub mod aws_lc_rs;
#[cfg(all(feature = "counting", feature = "aws-lc-rs"))]
pub mod counting;
#[cfg(feature = "rustcrypto")]
pub mod rustcrypto;
#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
pub(crate) mod tests;

pub use self::agreement::{EcdhPrivateKey, KeyAgreement, SharedSecret};
pub use self::certificate_keys::{
    BrainpoolKey, CertificateVerifier, PortableCertificateVerifier, RsaKey, RsaScheme,
};
pub(crate) use self::content_encryption::Sealed;
pub use self::content_encryption::{ContentCipher, ContentEncryption, DecryptionFailed};
pub use self::es256::Es256Key;
pub(crate) use self::es256::sha256_of_public;
pub use self::hash::{HashAlg, HashValue};
pub(crate) use self::issuer_key::{IssuerKey, UnusableKey};
pub(crate) use self::jwk::EcKey;
pub(crate) use self::jwk::Jwk;
pub use self::jwk::JwkError;
pub use self::key::{Alg, Curve, InvalidKey, PublicKey};
pub use self::provider::{CryptoProvider, Hasher, InvalidSignature, SignatureVerifier};
pub(crate) use self::signer::sign_es256;
pub use self::signer::{KeyFileError, RequestSigner, SignerUnavailable, SoftwareSigner};
pub use self::spki::SpkiError;
pub(crate) use self::x509_sig::{SignatureAlgorithm, hash_from_oid};
