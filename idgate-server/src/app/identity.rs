//! The gateway's identity for wallets: its `did:web`, its signing key, and what it publishes.

use std::sync::{Arc, PoisonError};

use idgate_core::crypto::{Alg, RequestSigner, SignerUnavailable};
use idgate_core::shell::discovery::PublishedKey;
use idgate_core::shell::{PageFields, SpokenProfiles, TrustSnapshot, discovery};
use idgate_core::{Profile, TenantId, Trust, Verifier};

use super::{App, AppError};
use crate::config::{ClientId, RequestMode};
use idgate_base::clock::Moment;
use idgate_store::InForce;
use idgate_store::gateway_key::{Certificates, CertifiedKey, GatewayKey, GatewayKeys};

/// The refusal when the gateway speaks only `draft` and a tenant asks for more (decisions 31).
const DRAFT_ALONE: &str =
    "this gateway speaks only draft; its operator enables others with IDGATE_PROFILES";

/// A verifier, and the keys that it was built with.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) verifier: Arc<Verifier>,
    keys: Arc<GatewayKeys>,
    pub(super) certificates: Arc<Certificates>,
}

/// The certified key for a client's new sessions, where a certificate is needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Certified {
    /// `None`: there is none.
    pub(super) in_force: Option<Arc<CertifiedKey>>,
    /// The latest certified key, even if its certificate has expired.
    pub(super) latest: Option<Arc<CertifiedKey>>,
}

/// The gateway's identity and keys, as published.
#[derive(Clone, Debug)]
pub struct Published {
    /// `did:web:…`
    pub did: String,
    /// The signing key, then the keys of sessions that may still be open.
    pub keys: Vec<PublishedKey>,
}

impl App {
    /// The verifier for the trust that is in force now.
    ///
    /// # Errors
    /// The trust material or the keys cannot be read or used.
    pub async fn verifier(&self) -> Result<Arc<Verifier>, AppError> {
        Ok(self.in_force(Moment::now()).await?.verifier)
    }

    /// The verifier and keys that were in force at `since` or later.
    pub(super) async fn in_force(&self, since: Moment) -> Result<Held, AppError> {
        self.held_for(self.store.in_force(since).await?)
    }

    /// The verifier for this trust and these keys.
    pub(super) fn held_for(&self, in_force: InForce) -> Result<Held, AppError> {
        let InForce { trust, gateway_keys, certificates } = in_force;
        let fits = |held: &Held| {
            Arc::ptr_eq(held.verifier.trust().snapshot(), &trust)
                && Arc::ptr_eq(&held.keys, &gateway_keys)
                && Arc::ptr_eq(&held.certificates, &certificates)
        };
        match self.held().filter(fits) {
            Some(held) => Ok(held),
            None => self.make_verifier(trust, gateway_keys, certificates),
        }
    }

    /// The certified key that signs this client's requests, where a certificate proves who asks.
    pub(super) fn certified(
        &self,
        certificates: Option<&Certificates>,
        client_id: &TenantId,
    ) -> Certified {
        let Some(certificates) = certificates else { return Certified::default() };
        let (client_id, now) = (client_id.as_str(), self.now());
        Certified {
            in_force: certificates.in_force(client_id, now).cloned(),
            latest: certificates.latest(client_id).cloned(),
        }
    }

    /// The profiles that a client can use with this certified key.
    pub(super) fn spoken(&self, certified: &Certified) -> SpokenProfiles {
        let Certified { in_force, latest } = certified;
        let has_expired = in_force.is_none() && latest.is_some();
        let enabled = self.profiles.enabled.iter().copied();
        let without = |spoken: SpokenProfiles, profile| match has_expired {
            true => spoken.with_expired(profile),
            false => spoken.without(profile),
        };
        let mut spoken = SpokenProfiles::new(enabled).explaining_draft_alone(DRAFT_ALONE);
        if self.asks_browsers() {
            spoken = spoken.with_dc_api();
        }
        spoken = spoken.with_page_fields(match (self.shows_pages(), self.any_origin) {
            (false, _) => PageFields::Off,
            (true, false) => PageFields::On,
            (true, true) => PageFields::OnWithHttp,
        });
        if in_force.is_none() {
            spoken = without(spoken, Profile::Haip);
        }
        let is_ready = match (self.request_mode, self.profiles.client_id) {
            (RequestMode::Inline, _) | (RequestMode::Jar, ClientId::Did) => true,
            (RequestMode::Jar, ClientId::X509SanDns | ClientId::X509Hash) => in_force.is_some(),
        };
        if is_ready { spoken } else { without(spoken, Profile::V1_0) }
    }

    /// The content of the discovery documents.
    ///
    /// # Errors
    /// The keys cannot be read.
    pub async fn published(&self) -> Result<Published, AppError> {
        let did = discovery::did_web(&self.base_url)?;
        let keys = self.store.gateway_keys().await?.published(self.now());
        let keys = keys.into_iter().map(|key| PublishedKey::new(kid(&did, &key.id), key.public));
        Ok(Published { keys: keys.collect(), did })
    }

    fn held(&self) -> Option<Held> {
        self.verifier.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn make_verifier(
        &self,
        trust: Arc<TrustSnapshot>,
        keys: Arc<GatewayKeys>,
        certificates: Arc<Certificates>,
    ) -> Result<Held, AppError> {
        let did = discovery::did_web(&self.base_url)?;
        let signer =
            Arc::new(Signer { kid: kid(&did, keys.active.id()), key: keys.active.clone() });
        let options = self.profiles.options();
        let builder = Verifier::builder(Trust::of_snapshot(self.provider, trust))
            .profiles(options.enabled.iter().copied());
        let builder = match self.request_mode {
            RequestMode::Inline => builder.unsigned(&*self.base_url),
            RequestMode::Jar => builder.signed(&*self.base_url, signer.clone()),
        };
        // In inline mode, too: sessions created before the mode was changed are still open.
        let mut builder = builder.signer(signer);
        for retired in &keys.retired {
            let Some(key) = retired.signer.clone() else { continue };
            builder = builder.named_signer(Signer { kid: kid(&did, key.id()), key });
        }
        for certified in &certificates.keys {
            builder = builder.named_signer(CertifiedSigner::of(certified.clone()));
        }
        let verifier = builder.profile_options(options).build()?;
        let held = Held { verifier: Arc::new(verifier), keys, certificates };
        *self.verifier.write().unwrap_or_else(PoisonError::into_inner) = Some(held.clone());
        Ok(held)
    }
}

/// Signs with a certified key. The key's name is the certificate's hash.
#[derive(Debug)]
struct CertifiedSigner {
    certified: Arc<CertifiedKey>,
    name: String,
}

impl CertifiedSigner {
    fn of(certified: Arc<CertifiedKey>) -> Self {
        Self { name: certified.certificate.x509_hash.clone(), certified }
    }
}

impl RequestSigner for CertifiedSigner {
    fn alg(&self) -> Alg {
        Alg::Es256
    }

    fn key_id(&self) -> &str {
        &self.name
    }

    fn certificate_chain(&self) -> &[Vec<u8>] {
        &self.certified.certificate.chain
    }

    fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignerUnavailable> {
        let signed = self.certified.key.sign(signing_input);
        signed.map_err(|error| SignerUnavailable::new(error.to_string()))
    }
}

/// Signs with the gateway's key.
#[derive(Debug)]
struct Signer {
    key: Arc<GatewayKey>,
    kid: String,
}

impl RequestSigner for Signer {
    fn alg(&self) -> Alg {
        Alg::Es256
    }

    fn key_id(&self) -> &str {
        &self.kid
    }

    fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignerUnavailable> {
        self.key.sign(signing_input).map_err(|error| SignerUnavailable::new(error.to_string()))
    }
}

fn kid(did: &str, id: &str) -> String {
    [did, "#", id].concat()
}
