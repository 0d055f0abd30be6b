//! What the rules look at.

use idgate_core::trust::OnUnknownRevocation;
use idgate_core::{Profile, UnixMillis};

use crate::config::Config;
use crate::failure::Failure;
use idgate_store::gateway_key::Registration;
use idgate_store::{CertificateRecord, ClientRecord, OperatorStore, TrustRecord};

/// The document type of European proofs of age.
pub(super) const AGE: &str = "eu.europa.ec.av.1";
/// What the types of identities begin with, as SD-JWT VC and as mdoc.
const PID: [&str; 2] = ["urn:eudi:pid:", "eu.europa.ec.eudi.pid."];

/// The settings of a gateway, and what its store has.
pub(super) struct Facts<'c> {
    pub(super) config: &'c Config,
    /// Clients whose sessions are live and that have a key.
    pub(super) clients: Vec<ClientRecord>,
    /// Certificates in force that are valid now.
    pub(super) certificates: Vec<CertificateRecord>,
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
        let certificates = store.certificates(None)?.into_iter().filter(in_force).collect();
        let registrations = store.registrations()?;
        Ok(Self { config, clients, certificates, registrations, trust: store.trust_entries()? })
    }

    pub(super) fn speaks(&self, profile: Profile) -> bool {
        self.config.profiles.enabled.contains(&profile)
    }

    /// The trust entries for European proofs of age.
    pub(super) fn age_entries(&self) -> Vec<&TrustRecord> {
        let is_age = |entry: &&TrustRecord| entry.doc_types.iter().any(|name| name == AGE);
        self.trust.iter().filter(is_age).collect()
    }

    /// The entries by which a credential can be accepted although its status cannot be learned.
    pub(super) fn lenient_entries(&self) -> Vec<String> {
        let is_lenient =
            |entry: &&TrustRecord| entry.on_unknown_revocation != OnUnknownRevocation::Refuse;
        self.trust.iter().filter(is_lenient).map(|entry| entry.issuer_id.clone()).collect()
    }

    /// The trust entries for identities.
    pub(super) fn pid_entries(&self) -> Vec<&TrustRecord> {
        let is_pid = |name: &String| PID.iter().any(|start| name.starts_with(start));
        let of = |entry: &&TrustRecord| entry.doc_types.iter().chain(&entry.vct).any(is_pid);
        self.trust.iter().filter(of).collect()
    }
}

/// The names of these entries that have this, and of those that have it not.
pub(super) fn split(
    entries: &[&TrustRecord],
    has: impl Fn(&TrustRecord) -> bool,
) -> (Vec<String>, Vec<String>) {
    let (with, without): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| has(entry));
    let names = |entries: Vec<&&TrustRecord>| {
        entries.into_iter().map(|entry| entry.issuer_id.clone()).collect()
    };
    (names(with), names(without))
}
