//! The owner and the mode of a new session, and further settings of one tenant.

use alloc::string::String;
use alloc::vec::Vec;

use crate::ids::TenantId;
use crate::mode::Mode;
use crate::request::{RegistrationCertificate, VerifierInfo};

/// A session to make: live or a test, for a tenant who may have a signer and attestations.
///
/// ```
/// use idgate_core::{NewSession, TenantId};
/// let shop = NewSession::live().tenant(TenantId::new("shop"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "give it to Verifier::create_session"]
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
    /// One that counts.
    pub fn live() -> Self {
        Self::of(Mode::Live)
    }

    /// One for trying things out: keys and material for tests serve it, too.
    pub fn test() -> Self {
        Self::of(Mode::Test)
    }

    /// One of that mode.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn of(mode: Mode) -> Self {
        let (tenant, verifier_info) = (TenantId::new(""), Vec::new());
        Self { mode, tenant, signer: None, verifier_info, registration: None }
    }

    /// The owner. A program with one tenant needs none.
    pub fn tenant(mut self, tenant: TenantId) -> Self {
        self.tenant = tenant;
        self
    }

    /// The [`RequestSigner::key_id`](crate::crypto::RequestSigner::key_id) of a signer with a certificate
    /// of the tenant's own; without it the verifier's sign. A certificate signs for new sessions inside
    /// its dates alone, and where `x509_san_dns` names the verifier only if the host of its base URL is
    /// one of its dNSNames (OpenID4VP 5.9.3).
    pub fn signer(mut self, key_id: impl Into<String>) -> Self {
        self.signer = Some(key_id.into());
        self
    }

    /// A registration certificate of the tenant, which goes to wallets with requests that are signed under
    /// `x509_hash` and with DeviceRequests that its certificate signs, while it is in force. It goes with a request that
    /// asks for more than is registered, too: the wallet may then refuse or warn.
    pub fn registration(self, certificate: &RegistrationCertificate) -> Self {
        self.registered(certificate, false)
    }

    /// The same, but a request that asks for more than is registered is refused, and so is every request once the
    /// certificate has expired.
    pub fn strict_registration(self, certificate: &RegistrationCertificate) -> Self {
        self.registered(certificate, true)
    }

    fn registered(mut self, certificate: &RegistrationCertificate, strict: bool) -> Self {
        self.registration = Some(Registered { certificate: certificate.clone(), strict });
        self
    }

    /// Attestations of the tenant for wallets, compared by the shell itself with
    /// [`Verifier::attest`](crate::Verifier::attest). They go with requests under `x509_hash` alone,
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
