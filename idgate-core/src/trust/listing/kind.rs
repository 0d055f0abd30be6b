//! The supported kinds of lists, by the identifiers of ETSI TS 119 602 annexes D and H and of the
//! Commission's mDL list. Only types and services are compared exactly, because publishers mistype
//! the other identifiers.

use alloc::string::String;
use alloc::vec::Vec;

/// A kind of trusted list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ListType {
    /// Providers of person identification data (annex D).
    Pid,
    /// Issuers of mobile driving licences, as the Commission lists them.
    Mdl,
    /// Public bodies that issue electronic attestations of attributes (annex H).
    PubEaa,
    /// Providers of the European proof of age. This list is in XML only (ETSI TS 119 612).
    Av,
    /// Qualified providers of electronic attestations of attributes. These lists are in XML only
    /// (ETSI TS 119 612).
    Qeaa,
}

/// The role of a listed service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ListRole {
    /// It signs credentials.
    Issuance,
    /// It signs the status of credentials.
    Revocation,
}

impl ListRole {
    /// Returns the name, for example `issuance`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issuance => "issuance",
            Self::Revocation => "revocation",
        }
    }
}

impl ListType {
    const ALL: [Self; 5] = [Self::Pid, Self::Mdl, Self::PubEaa, Self::Av, Self::Qeaa];
    /// The kinds that have lists in JSON.
    const OF_JSON: [Self; 3] = [Self::Pid, Self::Mdl, Self::PubEaa];

    /// Returns the kind with this name, for example `pub-eaa`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Returns the name, for example `pub-eaa`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pid => "pid",
            Self::Mdl => "mdl",
            Self::PubEaa => "pub-eaa",
            Self::Av => "av",
            Self::Qeaa => "qeaa",
        }
    }

    /// Returns the kind for this `LoTEType`, or why lists of that type cannot be used here.
    pub(crate) fn from_uri(uri: &str) -> Result<Self, &'static str> {
        if let Some(known) = Self::OF_JSON.into_iter().find(|known| known.uri() == Some(uri)) {
            return Ok(known);
        }
        let other = OTHER_TYPES.iter().find(|(known, _)| *known == uri);
        Err(other.map_or("is of a type that is not known here", |(_, why)| *why))
    }

    /// The role of a service of this type in such a list; `None`: it does not belong there.
    pub(crate) fn role(self, service_type: &str) -> Option<ListRole> {
        let (issuance, revocation): (&[&str], &[&str]) = match self {
            Self::Pid => (
                &["http://uri.etsi.org/19602/SvcType/PID/Issuance"],
                &["http://uri.etsi.org/19602/SvcType/PID/Revocation"],
            ),
            Self::PubEaa => (
                &["http://uri.etsi.org/19602/SvcType/PubEAA/Issuance"],
                &["http://uri.etsi.org/19602/SvcType/PubEAA/Revocation"],
            ),
            Self::Mdl => (
                &[
                    "http://trust.ec.europa.eu/lists/mDL/SvcType/Issuance",
                    "http://uri.etsi.org/19602/SvcType/mDL/Issuance",
                ],
                &[
                    "http://trust.ec.europa.eu/lists/mDL/SvcType/Revocation",
                    "http://uri.etsi.org/19602/SvcType/mDL/Revocation",
                ],
            ),
            Self::Av | Self::Qeaa => (&[], &[]),
        };
        match service_type {
            known if issuance.contains(&known) => Some(ListRole::Issuance),
            known if revocation.contains(&known) => Some(ListRole::Revocation),
            _ => None,
        }
    }

    /// The differences between the scheme and its profile.
    pub(crate) fn departures(
        self,
        territory: &str,
        approach: &str,
        rules: &[String],
    ) -> Vec<String> {
        let (own_approach, own_rules) = match self {
            Self::Pid => (
                "http://uri.etsi.org/19602/PIDProvidersList/StatusDetn/EU",
                "http://uri.etsi.org/19602/PIDProviders/schemerules/EU",
            ),
            Self::PubEaa => (
                "http://uri.etsi.org/19602/PubEAAProvidersList/StatusDetn/EU",
                "http://uri.etsi.org/19602/PubEAAProvidersList/schemerules/EU",
            ),
            Self::Mdl => (
                "http://trust.ec.europa.eu/lists/mDL/mDLProvidersListStatusDetn",
                "http://trust.ec.europa.eu/lists/mDL/schemerules",
            ),
            Self::Av | Self::Qeaa => return Vec::new(),
        };
        let found = [
            (territory != "EU", "SchemeTerritory"),
            (approach != own_approach, "StatusDeterminationApproach"),
            (!rules.iter().any(|rule| rule == own_rules), "SchemeTypeCommunityRules"),
        ];
        let departs = found.iter().filter(|(departs, _)| *departs);
        departs.map(|(_, member)| [member, " is not the one of its profile"].concat()).collect()
    }

    /// The `LoTEType`; `None`: its lists are in XML only.
    const fn uri(self) -> Option<&'static str> {
        match self {
            Self::Pid => Some("http://uri.etsi.org/19602/LoTEType/EUPIDProvidersList"),
            Self::Mdl => Some("http://trust.ec.europa.eu/lists/mDL/mDLProvidersListType"),
            Self::PubEaa => Some("http://uri.etsi.org/19602/LoTEType/EUPubEAAProvidersList"),
            Self::Av | Self::Qeaa => None,
        }
    }
}

/// Lists of entities other than issuers (annexes E, F, G, I): an access CA must never become an
/// issuer.
const OTHER_TYPES: [(&str, &str); 4] = [
    (
        "http://uri.etsi.org/19602/LoTEType/EUWalletProvidersList",
        "is a list of wallet providers, which issue no credentials",
    ),
    (
        "http://uri.etsi.org/19602/LoTEType/EUWRPACProvidersList",
        "is a list of access CAs, which issue no credentials",
    ),
    (
        "http://uri.etsi.org/19602/LoTEType/EUWRPRCProvidersList",
        "is a list of providers of registration certificates, which issue no credentials",
    ),
    (
        "http://uri.etsi.org/19602/LoTEType/EURegistrarsAndRegistersList",
        "is a list of registrars, which issue no credentials",
    ),
];

/// The code of a state as certificates use it (ISO 3166-1): lists write EL for Greece and UK (ETSI
/// TS 119 602 6.1.5).
#[cfg_attr(feature = "shell", visibility::make(pub))]
pub(crate) fn member_state(code: &str) -> String {
    match code.to_ascii_uppercase().as_str() {
        "EL" => "GR".into(),
        "UK" => "GB".into(),
        code => code.into(),
    }
}
