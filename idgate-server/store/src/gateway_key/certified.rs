//! Keys with certificates: they sign for relying parties whose wallets ask for one.

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_core::shell::VerifierCertificate;

use super::{GatewayKey, Registration};

/// How long a certificate that was replaced still signs for sessions that were made with it: as
/// long as a session may live, and an hour.
pub const REPLACED_SIGNS_MS: u64 = 25 * 60 * 60 * 1000;

/// How long before its end a certificate is warned of.
pub const RENEW_BEFORE_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// A key and the certificate that was made for it.
#[derive(Debug)]
pub struct CertifiedKey {
    /// The client that it signs for; empty: the gateway, and clients without one of their own.
    pub client_id: String,
    /// What signs.
    pub key: GatewayKey,
    /// What wallets see of it.
    pub certificate: VerifierCertificate,
    /// Since when another one is in force in its place.
    pub replaced_at: Option<UnixMillis>,
}

/// The certificates of a gateway at one moment.
#[derive(Debug)]
pub struct Certificates {
    /// Goes up with every import.
    pub version: u64,
    /// Those that may sign, newest first.
    pub keys: Vec<Arc<CertifiedKey>>,
    /// Those of each client with its default first.
    pub registrations: Vec<Registration>,
}

impl Certificates {
    /// What signs for new sessions of this client: its own certificate, or else the gateway's.
    /// Nothing once its dates are over: wallets would refuse it.
    pub fn in_force(&self, client_id: &str, now: UnixMillis) -> Option<&Arc<CertifiedKey>> {
        self.latest(client_id).filter(|key| key.certificate.is_valid_at(now))
    }

    /// The same whether or not its dates are over.
    pub fn latest(&self, client_id: &str) -> Option<&Arc<CertifiedKey>> {
        self.of(client_id).or_else(|| self.of(""))
    }

    /// The registration of this client for that use; without one its default.
    pub fn registration(
        &self,
        client_id: &str,
        intended_use: Option<&str>,
    ) -> Option<&Registration> {
        self.registrations_of(client_id).find(|own| own.goes_with(intended_use))
    }

    /// All registrations of this client, its default first.
    pub fn registrations_of(&self, client_id: &str) -> impl Iterator<Item = &Registration> {
        self.registrations.iter().filter(move |own| own.client_id == client_id)
    }

    fn of(&self, owner: &str) -> Option<&Arc<CertifiedKey>> {
        self.keys.iter().find(|key| key.client_id == owner && key.replaced_at.is_none())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use idgate_core::crypto::aws_lc_rs::PROVIDER;
    use idgate_testkit::keys::{Curve, SigningKey};
    use idgate_testkit::x509::{CertificateBuilder, Identity, Name};

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_790_000_000_000);
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;

    fn certified(client_id: &str, days: u64, replaced: bool) -> Arc<CertifiedKey> {
        let root = Identity::iaca(Curve::P256, NOW.0);
        let (key, _) = GatewayKey::generate().unwrap();
        let name = Name::new("UT", client_id);
        let unused = SigningKey::from_seed(Curve::P256, "unused");
        let builder = CertificateBuilder::new(name.clone(), name, &unused, NOW.0, days)
            .with(|own| own.spki = key.public().spki_der())
            .under(&root);
        let certificate =
            VerifierCertificate::from_chain(&PROVIDER, &[builder.sign(&root.key)]).unwrap();
        let replaced_at = replaced.then_some(NOW);
        Arc::new(CertifiedKey { client_id: client_id.into(), key, certificate, replaced_at })
    }

    #[test]
    fn a_client_signs_with_its_own_certificate_or_else_with_the_gateways() {
        let keys = vec![
            certified("cli_a", 30, false),
            certified("cli_a", 30, true),
            certified("", 30, false),
        ];
        let certificates = Certificates { version: 1, keys, registrations: Vec::new() };
        let found = |client| certificates.in_force(client, NOW).map(|key| key.client_id.clone());
        assert_eq!(found("cli_a").as_deref(), Some("cli_a"));
        assert_eq!(found("cli_b").as_deref(), Some(""));
        let without = Certificates {
            version: 1,
            keys: vec![certified("cli_a", 30, true)],
            registrations: Vec::new(),
        };
        assert!(without.in_force("cli_a", NOW).is_none() && without.in_force("", NOW).is_none());
    }

    #[test]
    fn an_expired_certificate_signs_for_no_new_session() {
        let keys = vec![certified("cli_a", 30, false), certified("", 60, false)];
        let certificates = Certificates { version: 1, keys, registrations: Vec::new() };
        let found = |days| certificates.in_force("cli_a", NOW.plus(days * DAY_MS));
        assert!(found(28).is_some());
        let other = |days| certificates.in_force("cli_b", NOW.plus(days * DAY_MS));
        assert!(other(30).is_some() && other(60).is_none());
        assert!(found(30).is_none(), "the gateway's is not put in its place");
        let latest = |client| certificates.latest(client).map(|key| key.client_id.clone());
        assert_eq!(
            (latest("cli_a").as_deref(), latest("cli_b").as_deref()),
            (Some("cli_a"), Some(""))
        );
    }
}
