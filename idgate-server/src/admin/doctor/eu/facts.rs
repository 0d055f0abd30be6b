//! The facts that rules judge.

use idgate_core::shell::AGE_DOC_TYPE;
use idgate_core::trust::{OnUnknownRevocation, RevocationPolicy};
use idgate_core::{Profile, UnixMillis};

use crate::config::{ClientId, Config, RequestMode};
use crate::failure::Failure;
use idgate_store::gateway_key::Registration;
use idgate_store::{CertificateRecord, ClientRecord, OperatorStore, TrustRecord};

/// The start of the types of identities, of an SD-JWT VC and of an mdoc.
const PID: [&str; 2] = ["urn:eudi:pid:", "eu.europa.ec.eudi.pid."];

/// The settings of a gateway, and the contents of its store.
pub(super) struct Facts<'c> {
    pub(super) config: &'c Config,
    /// Clients whose sessions are live and that have a key.
    pub(super) clients: Vec<ClientRecord>,
    /// Certificates in force that are valid now.
    pub(super) certificates: Vec<CertificateRecord>,
    /// Registration certificates that go to wallets: valid ones, of the party and service of the certificate that signs.
    pub(super) registrations: Vec<Registration>,
    pub(super) trust: Vec<TrustRecord>,
}

impl<'c> Facts<'c> {
    pub(super) fn read(
        config: &'c Config,
        store: &OperatorStore,
        now: UnixMillis,
    ) -> Result<Self, Failure> {
        let clients = store.clients()?;
        let clients: Vec<_> = clients
            .into_iter()
            .filter(|client| client.livemode && client.revoked_at.is_none())
            .collect();
        let in_force = |record: &CertificateRecord| {
            record.replaced_at.is_none() && record.certificate.is_valid_at(now)
        };
        let certificates: Vec<_> = store.certificates(None)?.into_iter().filter(in_force).collect();
        let goes = |one: &Registration| {
            let signing = CertificateRecord::signing_for(&certificates, &one.client_id);
            let is_other = signing.is_none_or(|signing| one.is_of_another(&signing.certificate));
            one.certificate.is_valid_at(now) && !is_other
        };
        let registrations = store.registrations()?.into_iter().filter(goes).collect();
        Ok(Self { config, clients, certificates, registrations, trust: store.trust_entries()? })
    }

    /// Whether requests by link go under `x509_hash`, with the registration certificate.
    pub(super) fn sends_registration(&self) -> bool {
        let signs_1_0 = self.speaks(Profile::V1_0)
            && self.config.request_mode == RequestMode::Jar
            && self.config.profiles.client_id == ClientId::X509Hash;
        self.speaks(Profile::Haip) || signs_1_0
    }

    pub(super) fn speaks(&self, profile: Profile) -> bool {
        self.config.profiles.enabled.contains(&profile)
    }

    /// The trust entries for European proofs of age.
    pub(super) fn age_entries(&self) -> Vec<&TrustRecord> {
        let is_age = |entry: &&TrustRecord| entry.doc_types.iter().any(|name| name == AGE_DOC_TYPE);
        self.trust.iter().filter(is_age).collect()
    }

    /// The entries by which a credential can be accepted although its status cannot be learned.
    pub(super) fn lenient_entries(&self) -> Vec<String> {
        let is_lenient = |entry: &&TrustRecord| {
            entry.on_unknown_revocation != OnUnknownRevocation::Refuse
                && entry.revocation == RevocationPolicy::IfPublished
        };
        self.trust.iter().filter(is_lenient).map(|entry| entry.issuer_id.clone()).collect()
    }

    /// The trust entries for identities.
    pub(super) fn pid_entries(&self) -> Vec<&TrustRecord> {
        let is_pid = |name: &String| PID.iter().any(|start| name.starts_with(start));
        let of = |entry: &&TrustRecord| entry.doc_types.iter().chain(&entry.vct).any(is_pid);
        self.trust.iter().filter(of).collect()
    }
}

/// Whether every issuer of this entry is from a list, whose signer leads to an anchor.
fn is_by_list(entry: &TrustRecord) -> bool {
    let by_hand = [&entry.roots, &entry.sd_jwt_roots].iter().any(|roots| !roots.is_empty())
        || [&entry.pinned_signers, &entry.sd_jwt_signers].iter().any(|one| !one.is_empty())
        || !entry.keys.is_empty();
    entry.trusted_list.as_ref().is_some_and(|list| !list.row.test_only) && !by_hand
}

/// The names of these entries that trust other issuers than those of a list.
pub(super) fn by_hand(entries: &[&TrustRecord]) -> Vec<String> {
    let by_hand = entries.iter().filter(|entry| !is_by_list(entry));
    by_hand.map(|entry| entry.issuer_id.clone()).collect()
}
