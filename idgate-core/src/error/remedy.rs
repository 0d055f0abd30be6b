//! Remedies for requests that are refused because something is missing on the verifier's side.

use alloc::vec::Vec;
use core::fmt;

use crate::profile::Profile;

/// A remedy that the program around the verifier can apply, and the tenant cannot. Its text is the
/// end of [`RequestError::rule`](super::RequestError::rule). A program with its own words for it,
/// for example the name of a command-line option, matches on the value.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Remedy {
    /// The issuer needs a type of SD-JWT VC.
    AddVct,
    /// The issuer needs an mdoc document type.
    AddDocType,
    /// The issuer needs a newer issue of its trusted list.
    UpdateTrustedList,
    /// The profile needs a certificate.
    AddCertificate,
    /// The certificate that the rule names must be renewed.
    RenewCertificate,
    /// The verifier needs a signer that fits the profile: one with a key, or with a certificate
    /// that is in force and names its host.
    AddSigner,
    /// The verifier needs a certificate in force for readerAuth (ISO/IEC 18013-5 9.1.4), or must
    /// omit the request of ISO/IEC TS 18013-7 Annex C.
    AddReaderCertificate,
    /// The request must name one of these profiles, which the verifier supports.
    ChooseProfile(Vec<Profile>),
    /// The profile must be enabled.
    EnableProfile,
    /// Requests to browsers must be enabled.
    EnableDcApi,
    /// Pages for people must be enabled.
    EnablePages,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::AddVct => "give the issuer a vct",
            Self::AddDocType => "give the issuer a doc_type",
            Self::UpdateTrustedList => "give the issuer a newer one",
            Self::AddCertificate => "give the verifier a certificate for it",
            Self::RenewCertificate => "renew it",
            Self::AddSigner => "leave it out, or give the verifier one",
            Self::AddReaderCertificate => "set it to false, or give the verifier one",
            Self::ChooseProfile(spoken) => {
                let names: Vec<&str> = spoken.iter().map(|profile| profile.name()).collect();
                return write!(f, "name one of {}", names.join(", "));
            }
            Self::EnableProfile => "leave it out, or enable it",
            Self::EnableDcApi => "leave it out, or enable requests to browsers",
            Self::EnablePages => "leave it out, or enable pages",
        };
        f.write_str(text)
    }
}
