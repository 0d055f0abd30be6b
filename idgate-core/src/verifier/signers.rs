//! Who signs which request: an offer is signed to its end by whoever signed it first, also after
//! renewals and rotations (decisions 21).

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::crypto::{Alg, RequestSigner, SignerUnavailable};
use crate::error::ConfigError;
use crate::session::{ClientIdForm, Offer};

/// Those of a verifier.
#[derive(Clone, Debug, Default)]
pub(super) struct Signers {
    /// The verifier's own: the first that fits signs what is made now.
    pub(super) own: Vec<Arc<dyn RequestSigner>>,
    /// For requests that name one of them.
    pub(super) named: Vec<Arc<dyn RequestSigner>>,
}

impl Signers {
    /// Each can sign what wallets verify, under `did` or under its certificate.
    pub(super) fn check(&self, did: &str) -> Result<(), ConfigError> {
        self.all().try_for_each(|signer| check_signer(&**signer, did))
    }

    /// Who signs new requests of that form: the one that is named, for forms that a certificate is
    /// the proof of, else the verifier's own.
    pub(super) fn for_new(
        &self,
        form: ClientIdForm,
        name: Option<&str>,
    ) -> Option<&Arc<dyn RequestSigner>> {
        let fits = |signer: &&Arc<dyn RequestSigner>| fits(&***signer, form);
        match name.filter(|_| is_x509(form)) {
            Some(name) => self.all().filter(fits).find(|signer| signer.key_id() == name),
            None => self.own.iter().find(fits),
        }
    }

    /// Who signs `offer`. The DID document has every key of the verifier, so that one may stand in
    /// for another that is gone; a certificate is the identity itself.
    pub(super) fn of(&self, offer: &Offer) -> Result<&dyn RequestSigner, SignerUnavailable> {
        let form = offer.profile.client_id_form;
        let named = self.all().find(|signer| Some(signer.key_id()) == offer.signer());
        let found = named.or_else(|| self.for_new(form, None).filter(|_| !is_x509(form)));
        found.map(|signer| &**signer).ok_or_else(|| {
            SignerUnavailable::new("this verifier has none; give it the one of the jar profile")
        })
    }

    fn all(&self) -> impl Iterator<Item = &Arc<dyn RequestSigner>> {
        self.own.iter().chain(&self.named)
    }
}

/// Whether the certificate of the signer is the proof of the client identifier.
fn is_x509(form: ClientIdForm) -> bool {
    matches!(form, ClientIdForm::X509SanDns | ClientIdForm::X509Hash)
}

fn fits(signer: &dyn RequestSigner, form: ClientIdForm) -> bool {
    is_x509(form) != signer.certificate_chain().is_empty()
}

/// Wallets expect ES256. Without a certificate they find the key by its id in the document of `did`.
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

        fn sign(&self, _: &[u8]) -> Result<alloc::vec::Vec<u8>, crate::crypto::SignerUnavailable> {
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
