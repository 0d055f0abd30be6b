//! Credentials whose status cannot be had: the operator and the request weigh that risk (ARF 3.0, VCR_14).

use serde::{Deserialize, Serialize};

/// The treatment of a credential whose status list cannot be had: its host cannot be reached, answers too
/// late or with an error status, or has nothing but a list that is past its end. A status
/// that is unknown for another reason is refused.
///
/// A list that came and fails a check decides as ever, and so does the CRL of the credential's signer.
/// An entry that demands a status ([`RevocationPolicy::Required`](crate::trust::RevocationPolicy::Required)) refuses always.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnUnknownRevocation {
    /// It is refused.
    #[default]
    Refuse,
    /// It is accepted, and the result says so. A request may demand a refusal.
    Accept,
    /// A request may accept it. Without its word it is refused.
    Tenant,
}

impl OnUnknownRevocation {
    /// From its name, as `refuse`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Refuse, Self::Accept, Self::Tenant].into_iter().find(|known| known.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Accept => "accept",
            Self::Tenant => "tenant",
        }
    }

    /// Whether it accepts the credential for a request that says `wish`.
    pub(super) fn accepts(self, wish: Option<UnknownRevocation>) -> bool {
        match self {
            Self::Refuse => false,
            Self::Accept => wish != Some(UnknownRevocation::Refuse),
            Self::Tenant => wish == Some(UnknownRevocation::Accept),
        }
    }
}

/// The word of a request on credentials whose status list cannot be had.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnknownRevocation {
    /// They are refused, whatever their trust entries say.
    Refuse,
    /// They are accepted, as far as their trust entries leave that to the request.
    Accept,
}

impl UnknownRevocation {
    /// From its name, as `refuse`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "refuse" => Some(Self::Refuse),
            "accept" => Some(Self::Accept),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_request_may_always_refuse_and_accepts_only_what_the_entry_leaves_to_it() {
        use OnUnknownRevocation::{Accept, Refuse, Tenant};
        let wishes = [None, Some(UnknownRevocation::Refuse), Some(UnknownRevocation::Accept)];
        let accepts = |choice: OnUnknownRevocation| wishes.map(|wish| choice.accepts(wish));
        assert_eq!(accepts(Refuse), [false, false, false]);
        assert_eq!(accepts(Accept), [true, false, true]);
        assert_eq!(accepts(Tenant), [false, false, true]);
    }

    #[test]
    fn each_choice_has_its_name() {
        use OnUnknownRevocation::{Accept, Refuse, Tenant};
        for (choice, name) in [(Refuse, "refuse"), (Accept, "accept"), (Tenant, "tenant")] {
            assert_eq!(choice.name(), name);
            assert_eq!(OnUnknownRevocation::from_name(name), Some(choice));
            assert_eq!(serde_json::to_value(choice).unwrap(), name);
        }
        assert_eq!(OnUnknownRevocation::from_name("maybe"), None);
        assert_eq!(UnknownRevocation::from_name("tenant"), None, "a request cannot say that");
    }
}
