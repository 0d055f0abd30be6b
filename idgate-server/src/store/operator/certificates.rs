//! Keys with certificates, as operators ask for, import and see them.

use idgate_core::crypto::PublicKey;
use idgate_core::request::RegistrationCertificate;
use idgate_core::time::UnixMillis;
use idgate_core::trust::VerifierCertificate;

use crate::gateway_key::{GatewayKey, Registration};
use crate::store::certificates::CertificateRecord;
use crate::store::interface::StoreError;

/// What the operator does with certificates of the gateway and of clients.
pub trait CertificateOperator {
    /// The key of this client (empty: the gateway) to ask a certificate for: the one that waits for
    /// its certificate already, or a fresh one. What was replaced long ago is erased.
    ///
    /// # Errors
    /// The database failed, or there is no randomness.
    fn requested_key(&mut self, client_id: &str, now: UnixMillis)
    -> Result<GatewayKey, StoreError>;

    /// The keys of this client (empty: the gateway) that a certificate may be for.
    ///
    /// # Errors
    /// The database failed.
    fn certificate_keys(&self, client_id: &str) -> Result<Vec<PublicKey>, StoreError>;

    /// Puts a certificate in force for this client (empty: the gateway), whose key is one of
    /// [`CertificateOperator::certificate_keys`]. The one before it signs on for sessions that were made
    /// with it.
    ///
    /// # Errors
    /// The database failed, or the certificate is for another key.
    fn import_certificate(
        &mut self,
        client_id: &str,
        certificate: &VerifierCertificate,
        now: UnixMillis,
    ) -> Result<(), StoreError>;

    /// The certificates of this client (empty: the gateway), or of all (`None`), newest first.
    ///
    /// # Errors
    /// The database failed.
    fn certificates(&self, client_id: Option<&str>) -> Result<Vec<CertificateRecord>, StoreError>;

    /// What registrars attest of clients.
    ///
    /// # Errors
    /// The database failed.
    fn registrations(&self) -> Result<Vec<Registration>, StoreError>;

    /// Keeps what a registrar attests of this client, in place of what was kept before. `strict`: a
    /// session that asks for more is refused.
    ///
    /// # Errors
    /// The database failed.
    fn set_registration(
        &mut self,
        client_id: &str,
        certificate: &RegistrationCertificate,
        strict: bool,
        now: UnixMillis,
    ) -> Result<(), StoreError>;

    /// Forgets what a registrar attests of this client; `false`: there is nothing.
    ///
    /// # Errors
    /// The database failed.
    fn remove_registration(&mut self, client_id: &str) -> Result<bool, StoreError>;

    /// The keys of this client (empty: the gateway), or of all (`None`), that wait for their
    /// certificate.
    ///
    /// # Errors
    /// The database failed.
    fn requested_keys(&self, client_id: Option<&str>) -> Result<Vec<RequestedKey>, StoreError>;
}

/// A key that waits for its certificate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RequestedKey {
    /// The client that it is for; empty: the gateway.
    pub client_id: String,
    /// Its RFC 7638 thumbprint.
    pub key_id: String,
    /// When it was made.
    pub created_at: UnixMillis,
}
