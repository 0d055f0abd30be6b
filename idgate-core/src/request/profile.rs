//! Which generation of OpenID4VP a request speaks. One request speaks one profile (decisions 20).

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Remedy;

/// A profile of OpenID4VP, by the name that tenants and operators use for it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[non_exhaustive]
pub enum Profile {
    /// `draft`: `presentation_definition`, as wallets of drafts 18 to 24 read it.
    #[serde(rename = "draft")]
    Draft,
    /// `1.0`: OpenID4VP 1.0 with `dcql_query`.
    #[serde(rename = "1.0")]
    V1_0,
    /// `haip`: OpenID4VP 1.0 within the High Assurance Interoperability Profile 1.0.
    #[serde(rename = "haip")]
    Haip,
}

impl Profile {
    /// All of them, oldest first.
    pub const ALL: [Self; 3] = [Self::Draft, Self::V1_0, Self::Haip];

    /// From its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Its name: `draft`, `1.0` or `haip`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::V1_0 => "1.0",
            Self::Haip => "haip",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which profiles a tenant may ask for.
///
/// ```
/// use idgate_core::request::{Profile, SpokenProfiles};
/// let profiles = SpokenProfiles::new([Profile::Haip, Profile::Draft]).without(Profile::Haip);
/// assert_eq!(profiles.enabled(), [Profile::Haip, Profile::Draft]);
/// assert!(!profiles.is_ready(Profile::Haip) && profiles.is_ready(Profile::Draft));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SpokenProfiles {
    /// Never empty.
    enabled: Vec<Profile>,
    /// Profiles that cannot be used now, with the remedy.
    unready: Vec<(Profile, Remedy)>,
    /// Whether requests go to browsers, too.
    dc_api: bool,
    /// The text of a refusal where `draft` alone is enabled and a tenant asks for more.
    why_draft_alone: &'static str,
}

impl SpokenProfiles {
    /// These, all of them ready; the first is for requests that name none. None is `draft` alone.
    pub fn new(enabled: impl IntoIterator<Item = Profile>) -> Self {
        let mut enabled: Vec<Profile> = enabled.into_iter().collect();
        if enabled.is_empty() {
            enabled.push(Profile::Draft);
        }
        let why_draft_alone =
            "this verifier speaks only draft; make it with the profiles 1.0 or haip, too";
        Self { enabled, unready: Vec::new(), dc_api: false, why_draft_alone }
    }

    /// Of an enabled one: it cannot be used now, as without its certificate.
    #[must_use]
    pub fn without(mut self, profile: Profile) -> Self {
        self.unready.push((profile, Remedy::AddCertificate));
        self
    }

    /// The same of one whose certificate has expired: wallets would refuse it.
    #[must_use]
    pub fn with_expired(mut self, profile: Profile) -> Self {
        self.unready.push((profile, Remedy::RenewCertificate));
        self
    }

    /// The same where a request may also go to the browser of a page, in any profile but `draft`: then
    /// `dc_api` is known.
    #[must_use]
    pub fn with_dc_api(mut self) -> Self {
        self.dc_api = true;
        self
    }

    /// The same with another text for refusals where `draft` alone is enabled: it says that, and how others are
    /// enabled.
    #[must_use]
    pub fn explaining_draft_alone(mut self, text: &'static str) -> Self {
        self.why_draft_alone = text;
        self
    }

    /// What is enabled, the first for requests that name none.
    pub fn enabled(&self) -> &[Profile] {
        &self.enabled
    }

    /// Whether it is enabled and can be used now.
    pub fn is_ready(&self, profile: Profile) -> bool {
        self.enabled.contains(&profile) && self.unready(profile).is_none()
    }

    /// The remedy for a profile that cannot be used now.
    pub(crate) fn unready(&self, profile: Profile) -> Option<&Remedy> {
        self.unready.iter().find(|(unready, _)| *unready == profile).map(|(_, remedy)| remedy)
    }

    /// Whether requests may go to browsers.
    pub(crate) fn has_dc_api(&self) -> bool {
        self.dc_api && !self.is_draft_alone()
    }

    /// The text of a refusal where `draft` alone is enabled.
    pub(crate) fn why_draft_alone(&self) -> &'static str {
        self.why_draft_alone
    }

    /// Whether no profile but the oldest is enabled: then a request has the oldest fields alone.
    pub(crate) fn is_draft_alone(&self) -> bool {
        self.enabled.iter().all(|profile| *profile == Profile::Draft)
    }
}

impl Default for SpokenProfiles {
    fn default() -> Self {
        Self::new([Profile::Draft])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_stored_ones_and_lead_back() {
        for profile in Profile::ALL {
            assert_eq!(Profile::from_name(profile.name()), Some(profile));
            let stored = serde_json::to_value(profile).unwrap();
            assert_eq!(stored, profile.name());
            assert_eq!(serde_json::from_value::<Profile>(stored).unwrap(), profile);
        }
        for unknown in ["", "Draft", "1", "1.0 ", "HAIP"] {
            assert_eq!(Profile::from_name(unknown), None, "{unknown}");
        }
    }
}
