//! The choice of the signer. An offer keeps its signer until it ends, also after renewals and
//! rotations.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::crypto::{Alg, CryptoProvider, RequestSigner, SignerUnavailable};
use crate::discovery::PublishedKey;
use crate::error::ConfigError;
use crate::session::ClientIdForm;
use crate::time::UnixMillis;
use crate::trust::VerifierCertificate;

/// The signers of a verifier.
#[derive(Clone, Debug)]
pub(super) struct Signers {
    /// The verifier's own signers: the first that fits signs new offers.
    own: Vec<Known>,
    /// The signers for requests that name one.
    named: Vec<Known>,
}

/// A signer and its certificate.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) signer: Arc<dyn RequestSigner>,
    /// `None`: it signs under the DID.
    pub(super) certificate: Option<VerifierCertificate>,
}

impl Signers {
    /// Checks that each signer can sign what wallets verify, under `did` or under its certificate.
    pub(super) fn new(
        provider: &CryptoProvider,
        did: &str,
        own: Vec<Arc<dyn RequestSigner>>,
        named: Vec<Arc<dyn RequestSigner>>,
    ) -> Result<Self, ConfigError> {
        let known = |signers: Vec<Arc<dyn RequestSigner>>| {
            let each = signers.into_iter().map(|signer| Known::new(provider, did, signer));
            each.collect::<Result<Vec<_>, _>>()
        };
        Ok(Self { own: known(own)?, named: known(named)? })
    }

    /// The signer of new requests with a client identifier of that form at `now`, for a verifier at
    /// `host`: the named one, for forms that a certificate proves, otherwise the verifier's own.
    /// The error says what is missing.
    pub(super) fn for_new(
        &self,
        form: ClientIdForm,
        name: Option<&str>,
        host: Option<&str>,
        now: UnixMillis,
    ) -> Result<&Known, &'static str> {
        if !is_x509(form) {
            return self.under_did().ok_or("has no signing key");
        }
        let named = if name.is_some() { &*self.named } else { &[] };
        let is_meant = |known: &&Known| name.is_none_or(|name| known.signer.key_id() == name);
        let mut lacks = "has no certificate";
        for known in self.own.iter().chain(named).filter(is_meant) {
            match &known.certificate {
                None => {}
                Some(certificate) if !certificate.is_valid_at(now) => {
                    lacks = "has no certificate in force";
                }
                Some(certificate)
                    if form == ClientIdForm::X509SanDns
                        && !host.is_some_and(|host| certificate.names_host(host)) =>
                {
                    lacks = "has no certificate with its host name";
                }
                Some(_) => return Ok(known),
            }
        }
        Err(lacks)
    }

    /// The signer of an existing offer with a client identifier of that form: `signer`, which
    /// signed it first. The DID document lists every key of the verifier, so another key may
    /// replace one that is gone. A certificate has no replacement, because it is the identity
    /// itself.
    pub(super) fn of(
        &self,
        form: ClientIdForm,
        signer: Option<&str>,
    ) -> Result<&dyn RequestSigner, SignerUnavailable> {
        let mut all = self.own.iter().chain(&self.named);
        let named = all.find(|known| Some(known.signer.key_id()) == signer);
        let stand_in = || self.under_did().filter(|_| !is_x509(form));
        named.or_else(stand_in).map(|known| &*known.signer).ok_or_else(|| {
            SignerUnavailable::new(
                "this verifier lacks the signer that the session was created with; add that signer",
            )
        })
    }

    /// Whether one of the verifier's own signers signs under the DID.
    pub(super) fn serve_did(&self) -> bool {
        self.under_did().is_some()
    }

    /// Whether the verifier's first own signer has a certificate.
    pub(super) fn first_is_certified(&self) -> bool {
        self.own.first().is_some_and(|known| known.certificate.is_some())
    }

    /// Whether one of the verifier's own signers has a certificate, in force or not.
    pub(super) fn serve_x509(&self) -> bool {
        self.own.iter().any(|known| known.certificate.is_some())
    }

    /// Whether any signer has a certificate, including those for sessions that name them.
    pub(super) fn have_certificate(&self) -> bool {
        self.own.iter().chain(&self.named).any(|known| known.certificate.is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.named.is_empty()
    }

    /// The keys that sign under the DID, for its document: those of the verifier first, then those
    /// that sessions name.
    pub(super) fn published(&self) -> impl Iterator<Item = PublishedKey> {
        let all = self.own.iter().chain(&self.named);
        all.filter(|known| known.certificate.is_none()).filter_map(|known| {
            Some(PublishedKey::new(known.signer.key_id(), known.signer.published_key()?))
        })
    }

    fn under_did(&self) -> Option<&Known> {
        self.own.iter().find(|known| known.certificate.is_none())
    }
}

impl Known {
    fn new(
        provider: &CryptoProvider,
        did: &str,
        signer: Arc<dyn RequestSigner>,
    ) -> Result<Self, ConfigError> {
        check_signer(&*signer, did)?;
        let certificate = match signer.certificate_chain() {
            [] => None,
            chain => Some(VerifierCertificate::from_chain(provider, chain).map_err(|_| {
                ConfigError::Signer("must have a certificate chain in DER, for a key on P-256")
            })?),
        };
        let other = |certificate: &VerifierCertificate| {
            signer.published_key().is_some_and(|own| own != certificate.key)
        };
        if certificate.as_ref().is_some_and(other) {
            return Err(ConfigError::Signer("has a certificate of another key"));
        }
        Ok(Self { signer, certificate })
    }
}

/// Whether the signer's certificate proves the client identifier.
fn is_x509(form: ClientIdForm) -> bool {
    matches!(form, ClientIdForm::X509SanDns | ClientIdForm::X509Hash)
}

/// Wallets expect ES256. Without a certificate they find the key by its id in the document of
/// `did`.
fn check_signer(signer: &dyn RequestSigner, did: &str) -> Result<(), ConfigError> {
    if signer.alg() != Alg::Es256 {
        return Err(ConfigError::Signer("must sign with ES256"));
    }
    if !signer.certificate_chain().is_empty() {
        let named = !signer.key_id().is_empty();
        return named.then_some(()).ok_or(ConfigError::Signer("must have a key id"));
    }
    let fragment = signer.key_id().strip_prefix(did).and_then(|rest| rest.strip_prefix('#'));
    match fragment {
        Some(fragment) if !fragment.is_empty() => Ok(()),
        _ => Err(ConfigError::Signer("must have a key id of the form did:web:{host}#{key}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Named(Alg, &'static str);

    impl RequestSigner for Named {
        fn alg(&self) -> Alg {
            self.0
        }

        fn key_id(&self) -> &str {
            self.1
        }

        fn sign(&self, _: &[u8]) -> Result<Vec<u8>, crate::crypto::SignerUnavailable> {
            Err(crate::crypto::SignerUnavailable::new("the HSM does not answer"))
        }
    }

    fn check(alg: Alg, key_id: &'static str) -> Result<(), ConfigError> {
        check_signer(&Named(alg, key_id), "did:web:a.example")
    }

    #[test]
    fn a_signer_has_an_es256_key_of_the_did() {
        assert_eq!(check(Alg::Es256, "did:web:a.example#key"), Ok(()));
        for key_id in [
            "",
            "#key",
            "key",
            "did:web:a.example",
            "did:web:a.example#",
            "did:web:a.example.evil#key",
            "did:web:b.example#key",
        ] {
            assert!(matches!(check(Alg::Es256, key_id), Err(ConfigError::Signer(_))), "{key_id}");
        }
        for alg in [Alg::Es384, Alg::Es512] {
            let refused = check(alg, "did:web:a.example#key");
            assert!(matches!(refused, Err(ConfigError::Signer(text)) if text.contains("ES256")));
        }
    }
}
