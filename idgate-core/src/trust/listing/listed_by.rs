//! The provider that a trusted list names for the signer of a credential.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Serialize, Serializer};

use super::{ListType, Listing, TrustServiceProvider};

/// The provider that a trusted list names for the signer of a credential. It comes from the
/// authenticated list, never from the credential.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ListedBy {
    /// The kind of list.
    pub list_type: ListType,
    /// Its sequence number.
    pub list_sequence: u64,
    /// The provider; several if the list names them all for one certificate and the signer does not
    /// say which it is.
    pub providers: Vec<Arc<TrustServiceProvider>>,
}

impl ListedBy {
    /// Whether one of the providers is in `listing`.
    pub(crate) fn shares_provider(&self, listing: &Listing) -> bool {
        self.providers.iter().any(|provider| listing.is_of(provider))
    }
}

/// A provider of a trusted list, or the candidates.
#[derive(Serialize)]
struct Told<'d> {
    #[serde(flatten)]
    one: Option<&'d TrustServiceProvider>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<&'d TrustServiceProvider>,
    list_type: &'static str,
    list_sequence: u64,
}

/// The form in results: the members of the provider, or `candidates`; `list_type` and
/// `list_sequence`.
impl Serialize for ListedBy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut candidates: Vec<&TrustServiceProvider> =
            self.providers.iter().map(AsRef::as_ref).collect();
        let one = if candidates.len() == 1 { candidates.pop() } else { None };
        let (list_type, list_sequence) = (self.list_type.name(), self.list_sequence);
        Told { one, candidates, list_type, list_sequence }.serialize(serializer)
    }
}
