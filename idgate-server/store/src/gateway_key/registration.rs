//! Registration certificates of clients, one for each intended use.

use std::fmt;

use idgate_core::RegistrationCertificate;
use idgate_core::shell::VerifierCertificate;

/// The name of the first registration if the operator gives none.
pub const UNNAMED_USE: &str = "default";

/// A registration certificate of a client.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The client.
    pub client_id: String,
    /// The name of its intended use in sessions.
    pub intended_use: String,
    /// Whether it applies to sessions that name no intended use.
    pub is_default: bool,
    /// The registrar's certificate.
    pub certificate: RegistrationCertificate,
    /// Whether a session that asks for more is rejected.
    pub strict: bool,
}

impl Registration {
    /// Whether it is for another party than this certificate, or for another of the party's
    /// services, if the certificate names one. Wallets refuse such a pair.
    pub fn is_of_another(&self, certificate: &VerifierCertificate) -> bool {
        let party = certificate.organization_identifier.as_ref();
        party.is_some_and(|party| *party != self.certificate.subject)
            || self.certificate.check_service(&certificate.services).is_err()
    }

    /// Whether it applies to a session that names this intended use, or none.
    pub fn goes_with(&self, intended_use: Option<&str>) -> bool {
        intended_use.map_or(self.is_default, |name| self.intended_use == name)
    }

    /// The client and the intended use, for messages.
    pub fn whose(&self) -> Whose<'_> {
        Whose(self)
    }
}

/// Displays the client and the intended use.
#[derive(Clone, Copy, Debug)]
pub struct Whose<'r>(&'r Registration);

impl fmt::Display for Whose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Registration { client_id, intended_use, .. } = self.0;
        match &**intended_use {
            UNNAMED_USE => f.write_str(client_id),
            named => write!(f, "{client_id} for {named}"),
        }
    }
}
