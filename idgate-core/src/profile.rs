//! The profiles of OpenID4VP. Each request uses one of them.

use core::fmt;

use serde::{Deserialize, Serialize};

/// A profile of OpenID4VP, by the name that tenants and operators use.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[non_exhaustive]
pub enum Profile {
    /// `draft`: `presentation_definition`, as wallets of drafts 18 to 24 expect it.
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
    /// All profiles, oldest first.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const ALL: [Self; 3] = [Self::Draft, Self::V1_0, Self::Haip];

    /// Returns the profile with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Returns the name: `draft`, `1.0` or `haip`.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_stored_ones_and_round_trip() {
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
