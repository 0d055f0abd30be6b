//! A trusted list in a form other than JSON, whose digests match. Its signature is verified before
//! any of its content is read.

use alloc::vec::Vec;

use super::error::{TrustedListError, not_authentic};
use super::signer::{Authenticated, Claimed, lacks_signer};
use super::{ListOfLists, ListRules, ListSigner, ReadList, ReadPointers, TrustedList, issue};
use crate::crypto::{CryptoProvider, HashAlg, IssuerKey, SignatureAlgorithm};
use crate::time::UnixMillis;

/// A list whose digests match, before its content is read.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct SignedList {
    /// SHA-256 of the whole content without the signature.
    pub content_sha256: [u8; 32],
    /// The signature over it.
    pub signature: ListSignature,
}

/// A list with a verified signature. Its content may be read now.
#[derive(Debug)]
pub struct AuthenticList {
    by: Authenticated,
    content_sha256: [u8; 32],
}

/// A signature over a list, and the signer that it names.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ListSignature {
    /// Certificates in DER, the signer's own first.
    pub chain: Vec<Vec<u8>>,
    /// The time when the signature was made, if the signed bytes say so.
    pub signed_at: Option<UnixMillis>,
    /// The algorithm.
    pub kind: SignatureKind,
    /// The signed bytes. They contain the digests of the list's whole content.
    pub input: Vec<u8>,
    /// The value of the signature; for ECDSA r and s, each as long as a coordinate.
    pub value: Vec<u8>,
}

/// The algorithm of a signature.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums)] // its reader names one
pub enum SignatureKind {
    /// ECDSA, on the curve that goes with the hash.
    Ecdsa(HashAlg),
    /// RSASSA-PKCS1-v1_5.
    RsaPkcs1(HashAlg),
    /// RSASSA-PSS, with MGF1 over the same hash, and a salt of the hash's length.
    RsaPss(HashAlg),
}

impl ListSignature {
    fn claimed(&self) -> Claimed<'_> {
        Claimed { chain: &self.chain, signed_at: self.signed_at }
    }

    /// Verifies that `key` made it.
    fn verify(&self, provider: &CryptoProvider, key: &IssuerKey) -> Result<(), TrustedListError> {
        let rsa = |kind| key.verify(provider, kind, &self.input, &self.value).is_ok();
        let is_good = match (self.kind, key) {
            (SignatureKind::Ecdsa(hash), IssuerKey::Nist(own)) if is_hash_of(own, hash) => {
                provider.verify(own, &self.input, &self.value).is_ok()
            }
            (SignatureKind::RsaPkcs1(hash), IssuerKey::Rsa { pss_only: false, .. }) => {
                rsa(SignatureAlgorithm::RsaPkcs1(hash))
            }
            (SignatureKind::RsaPss(hash), IssuerKey::Rsa { .. }) => {
                rsa(SignatureAlgorithm::RsaPss { hash, salt_len: hash.len() })
            }
            _ => return Err(not_authentic("has an algorithm that does not fit its signer's key")),
        };
        match is_good {
            true => Ok(()),
            false => Err(not_authentic("has a signature that does not verify")),
        }
    }
}

/// Whether signatures by `key` use that hash, as ES256, ES384 and ES512 do.
fn is_hash_of(key: &crate::crypto::PublicKey, hash: HashAlg) -> bool {
    use crate::crypto::Curve;
    let own = match key.curve() {
        Curve::P256 => HashAlg::Sha256,
        Curve::P384 => HashAlg::Sha384,
        Curve::P521 => HashAlg::Sha512,
    };
    own == hash
}

impl SignedList {
    /// Checks the signer and the signature by the rules of every list.
    ///
    /// # Errors
    /// The first of the rules that it breaks.
    pub fn authenticate(
        &self,
        provider: &CryptoProvider,
        rules: &ListRules<'_>,
        now: UnixMillis,
    ) -> Result<AuthenticList, TrustedListError> {
        let signature = &self.signature;
        if signature.signed_at.is_none() && !rules.test_only {
            return Err(not_authentic("does not say when it was signed (SigningTime)"));
        }
        if signature.chain.is_empty() {
            return Err(lacks_signer());
        }
        let is_new = rules.mark.is_none_or(|mark| mark.payload_sha256 != self.content_sha256);
        let by = signature.claimed().authenticate(provider, rules, (is_new, now), |_, key| {
            signature.verify(provider, key)
        })?;
        Ok(AuthenticList { by, content_sha256: self.content_sha256 })
    }

    /// Reads a list again that was accepted before and stored where only the operator can write:
    /// its signature, dates and number are not checked.
    ///
    /// # Errors
    /// It was never a list.
    pub fn recall(
        &self,
        provider: &CryptoProvider,
        read: ReadList,
        now: UnixMillis,
    ) -> Result<TrustedList, TrustedListError> {
        read.with_signer(provider, (self.signer(provider)?, self.content_sha256), now)
    }

    /// The same for a list of lists.
    ///
    /// # Errors
    /// It was never a list of lists.
    pub fn recall_list_of_lists(
        &self,
        provider: &CryptoProvider,
        read: ReadPointers,
    ) -> Result<ListOfLists, TrustedListError> {
        Ok(read.with_signer(self.signer(provider)?, self.content_sha256))
    }

    fn signer(&self, provider: &CryptoProvider) -> Result<ListSigner, TrustedListError> {
        self.signature.claimed().recalled(provider)
    }
}

impl AuthenticList {
    /// Accepts the content by the rules of every list: its type, its publisher, its dates and its
    /// number.
    ///
    /// # Errors
    /// The first of the rules that it breaks.
    pub fn list(
        self,
        provider: &CryptoProvider,
        read: ReadList,
        rules: &ListRules<'_>,
        now: UnixMillis,
    ) -> Result<TrustedList, TrustedListError> {
        let scheme = read.scheme()?;
        scheme.check_identity(&self.by, rules)?;
        self.check(&scheme.issue, rules, now)?;
        read.with_signer(provider, (self.by.signer, self.content_sha256), now)
    }

    /// Accepts a list of lists by the same rules. It has no type of its own.
    ///
    /// # Errors
    /// The first of the rules that it breaks.
    pub fn list_of_lists(
        self,
        read: ReadPointers,
        rules: &ListRules<'_>,
        now: UnixMillis,
    ) -> Result<ListOfLists, TrustedListError> {
        let issue = read.scheme.issue()?;
        issue.check_publisher(&self.by, rules)?;
        self.check(&issue, rules, now)?;
        Ok(read.with_signer(self.by.signer, self.content_sha256))
    }

    fn check(
        &self,
        issue: &issue::Issue,
        rules: &ListRules<'_>,
        now: UnixMillis,
    ) -> Result<(), TrustedListError> {
        issue.check_currency((self.by.signer.signed_at, &self.content_sha256), rules, now)
    }
}
