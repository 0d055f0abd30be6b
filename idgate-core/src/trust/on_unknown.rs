//! Credentials whose status list cannot be fetched: the operator and the request decide about that
//! risk (ARF 3.0, VCR_14).

use serde::{Deserialize, Serialize};

/// The treatment of a credential whose status list cannot be fetched: its host cannot be reached,
/// answers too late or with an error status, or has only an expired list. A status that is unknown
/// for another reason is always refused.
///
/// A list that was fetched but fails a check still leads to a refusal, and so does an unavailable
/// CRL of the credential's signer. An entry that requires a status
/// ([`RevocationPolicy::Required`](crate::trust::RevocationPolicy::Required)) always refuses.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnUnknownRevocation {
    /// The credential is refused.
    #[default]
    Refuse,
    /// The credential is accepted, and the result says so. A request may require refusal.
    Accept,
    /// A request may accept the credential; otherwise it is refused.
    Tenant,
}

impl OnUnknownRevocation {
    /// Returns the value with this name, for example `refuse`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Refuse, Self::Accept, Self::Tenant].into_iter().find(|known| known.name() == name)
    }

    /// Returns the name, for example `refuse`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Accept => "accept",
            Self::Tenant => "tenant",
        }
    }

    /// Whether the credential is accepted for a request with this `wish`.
    pub(super) fn accepts(self, wish: Option<UnknownRevocation>) -> bool {
        match self {
            Self::Refuse => false,
            Self::Accept => wish != Some(UnknownRevocation::Refuse),
            Self::Tenant => wish == Some(UnknownRevocation::Accept),
        }
    }
}

/// A request's choice for credentials whose status list cannot be fetched.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnknownRevocation {
    /// They are refused, whatever their trust entries say.
    Refuse,
    /// They are accepted if their trust entries leave that to the request.
    Accept,
}

impl UnknownRevocation {
    /// Returns the value with this name, for example `refuse`.
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
    fn a_request_may_always_refuse_and_accepts_only_if_the_entry_allows_it() {
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
