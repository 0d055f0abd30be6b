//! Keys with certificates. They sign for relying parties whose wallets require a certificate.

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_core::shell::VerifierCertificate;

use super::{GatewayKey, Registration};

/// How long a replaced certificate still signs for sessions that were created with it: the longest
/// life of a session, plus an hour.
pub const REPLACED_SIGNS_MS: u64 = 25 * 60 * 60 * 1000;

/// How long before its expiry a certificate causes a warning.
pub const RENEW_BEFORE_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// A key and its certificate.
#[derive(Debug)]
pub struct CertifiedKey {
    /// The client that it signs for. Empty: the gateway, and clients without a certificate of their
    /// own.
    pub client_id: String,
    /// The key that signs.
    pub key: GatewayKey,
    /// The certificate chain that wallets see.
    pub certificate: VerifierCertificate,
    /// When another certificate replaced it.
    pub replaced_at: Option<UnixMillis>,
}

/// The certificates of a gateway in one snapshot.
#[derive(Debug)]
pub struct Certificates {
    /// Grows with every import.
    pub version: u64,
    /// The certificates that may sign, newest first.
    pub keys: Vec<Arc<CertifiedKey>>,
    /// All registrations, each client's default first.
    pub registrations: Vec<Registration>,
}

impl Certificates {
    /// The certificate that signs for new sessions of this client: its own, otherwise the
    /// gateway's. `None` outside its validity, because wallets would reject it.
    pub fn in_force(&self, client_id: &str, now: UnixMillis) -> Option<&Arc<CertifiedKey>> {
        self.latest(client_id).filter(|key| key.certificate.is_valid_at(now))
    }

    /// The same certificate, whether or not it is still valid.
    pub fn latest(&self, client_id: &str) -> Option<&Arc<CertifiedKey>> {
        self.of(client_id).or_else(|| self.of(""))
    }

    /// The registration of this client for that intended use, or its default if none is named.
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
    fn a_client_signs_with_its_own_certificate_or_the_gateways() {
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
