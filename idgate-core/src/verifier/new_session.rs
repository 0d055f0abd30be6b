//! The owner and the mode of a new session, and a tenant's further settings.

use alloc::string::String;
use alloc::vec::Vec;

use crate::ids::TenantId;
use crate::mode::Mode;
use crate::request::{RegistrationCertificate, VerifierInfo};

/// The settings of a session to create: live or test, the tenant, and the tenant's signer and
/// attestations.
///
/// ```
/// use idgate_core::{NewSession, TenantId};
/// let shop = NewSession::live().tenant(TenantId::new("shop"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "pass it to Verifier::create_session"]
pub struct NewSession {
    pub(super) mode: Mode,
    pub(super) tenant: TenantId,
    pub(super) signer: Option<String>,
    pub(super) verifier_info: Vec<VerifierInfo>,
    pub(super) registration: Option<Registered>,
}

#[derive(Clone, Debug)]
pub(super) struct Registered {
    pub(super) certificate: RegistrationCertificate,
    pub(super) strict: bool,
}

impl NewSession {
    /// A live session, which accepts no test material.
    pub fn live() -> Self {
        Self::of(Mode::Live)
    }

    /// A test session, which also accepts keys and certificates for tests.
    pub fn test() -> Self {
        Self::of(Mode::Test)
    }

    /// A session of this mode.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn of(mode: Mode) -> Self {
        let (tenant, verifier_info) = (TenantId::new(""), Vec::new());
        Self { mode, tenant, signer: None, verifier_info, registration: None }
    }

    /// Sets the tenant that owns the session. A program with one tenant needs none.
    pub fn tenant(mut self, tenant: TenantId) -> Self {
        self.tenant = tenant;
        self
    }

    /// Sets the [`RequestSigner::key_id`](crate::crypto::RequestSigner::key_id) of a signer with
    /// the tenant's own certificate; without it the verifier's signers sign. A certificate signs
    /// for new sessions only within its validity period. Where `x509_san_dns` is the client
    /// identifier, the host of the verifier's base URL must be one of its dNSNames (OpenID4VP
    /// 5.9.3).
    pub fn signer(mut self, key_id: impl Into<String>) -> Self {
        self.signer = Some(key_id.into());
        self
    }

    /// Adds a registration certificate of the tenant. While it is in force, it goes to wallets with
    /// requests that are signed under `x509_hash` and with DeviceRequests that its certificate
    /// signs. It also goes with a request that asks for more than is registered: the wallet may
    /// then refuse or warn.
    pub fn registration(self, certificate: &RegistrationCertificate) -> Self {
        self.registered(certificate, false)
    }

    /// Adds a registration certificate as [`NewSession::registration`] does, but refuses a request
    /// that asks for more than is registered, and every request after the certificate has expired.
    pub fn strict_registration(self, certificate: &RegistrationCertificate) -> Self {
        self.registered(certificate, true)
    }

    fn registered(mut self, certificate: &RegistrationCertificate, strict: bool) -> Self {
        self.registration = Some(Registered { certificate: certificate.clone(), strict });
        self
    }

    /// Adds attestations of the tenant for wallets, which the shell itself has compared with
    /// [`Verifier::attest`](crate::Verifier::attest). They go only with requests under `x509_hash`,
    /// because wallets compare them with the certificate.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn attested(
        mut self,
        verifier_info: impl IntoIterator<Item = VerifierInfo>,
    ) -> Self {
        self.verifier_info.extend(verifier_info);
        self
    }
}
