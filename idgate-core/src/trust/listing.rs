//! The statements of a trusted list about a certificate: its provider, its period, and the rules
//! for signers below it. They are stored with the certificate in the trust entry.

mod kind;
mod listed_by;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

#[cfg_attr(feature = "shell", visibility::make(pub))]
pub(crate) use self::kind::member_state;
pub use self::kind::{ListRole, ListType};
pub use self::listed_by::ListedBy;
use crate::time::UnixMillis;
use crate::trust::certificate::Certificate;
use crate::trust::names::{self, ORGANIZATION_IDENTIFIER, ORGANIZATION_NAME};

/// A provider as named in a trusted list.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TrustServiceProvider {
    /// `TEName`, the English one if there is one.
    pub name: String,
    /// The registration identifiers in `TETradeName`, in the form of organizationIdentifier.
    pub identifiers: Vec<String>,
    /// The responsible state, with the code that certificates use (ISO 3166-1).
    pub country: Option<String>,
    /// Every `TEName`.
    pub(crate) names: Vec<String>,
    /// Distinguishes providers that are otherwise equal.
    pub(crate) place: usize,
}

impl TrustServiceProvider {
    /// Its first registration identifier.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn identifier(&self) -> Option<&str> {
        self.identifiers.first().map(String::as_str)
    }

    /// Whether the subject of a certificate names this provider: by its organizationIdentifier, or
    /// if it has none by its organizationName.
    fn is_named_by(&self, signer: &Certificate<'_>) -> bool {
        let subject = signer.subject().as_raw();
        let identifiers = names::attribute_texts(subject, ORGANIZATION_IDENTIFIER);
        if !identifiers.is_empty() {
            return identifiers.iter().any(|own| self.identifiers.iter().any(|id| id == own));
        }
        let organizations = names::attribute_texts(subject, ORGANIZATION_NAME);
        organizations.iter().any(|own| self.has_name(own))
    }

    /// Whether `text` is one of its names.
    pub(crate) fn has_name(&self, text: &str) -> bool {
        self.names.iter().any(|name| names::is_same_text(name, text))
    }
}

/// The form in results: `name`, `identifier`, `country`.
impl Serialize for TrustServiceProvider {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut told = serializer.serialize_struct("TrustServiceProvider", 3)?;
        told.serialize_field("name", &self.name)?;
        told.serialize_field("identifier", &self.identifier())?;
        told.serialize_field("country", &self.country)?;
        told.end()
    }
}

/// The mark that the signer of a credential must have below a listed CA, because the CA may sign
/// many other certificates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ListProfile {
    /// One of the entry's extended key usages; mdocs must follow ISO/IEC 18013-5 B.1.4.
    Iso,
    /// The qcStatement of the kind of provider (ETSI TS 119 412-6); for mdocs, B.1.4 without its
    /// limit on lifetimes and its issuerAltName.
    Etsi,
    /// Either of the two.
    Either,
    /// None: every certificate of the CA may sign credentials.
    Any,
}

impl ListProfile {
    /// Returns the profile with this name, for example `either`.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Iso, Self::Etsi, Self::Either, Self::Any];
        all.into_iter().find(|known| known.name() == name)
    }

    /// Returns the name, for example `either`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iso => "iso",
            Self::Etsi => "etsi",
            Self::Either => "either",
            Self::Any => "any",
        }
    }

    /// The default profile for lists of this type.
    pub const fn of(list_type: ListType) -> Self {
        match list_type {
            ListType::Mdl | ListType::Av => Self::Iso,
            _ => Self::Either,
        }
    }
}

/// The facts that all certificates of a list share.
#[derive(Debug)]
pub(crate) struct ListFacts {
    /// The source of the list, for people.
    pub(crate) name: String,
    pub(crate) list_type: ListType,
    pub(crate) sequence: u64,
    /// When the list stops being in force; `None`: the operator allows stale lists.
    pub(crate) until: Option<UnixMillis>,
    pub(crate) profile: ListProfile,
}

/// The statements of a list about one certificate.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    pub(crate) list: Arc<ListFacts>,
    /// The providers, each with the time from which it counts.
    listed: Vec<(Arc<TrustServiceProvider>, UnixMillis)>,
}

impl Listing {
    pub(crate) fn new(
        list: Arc<ListFacts>,
        provider: Arc<TrustServiceProvider>,
        from: UnixMillis,
    ) -> Self {
        Self { list, listed: [(provider, from)].into() }
    }

    /// Adds the entry of another service with the same certificate.
    pub(crate) fn join(&mut self, other: Self) {
        for (provider, from) in other.listed {
            match self.listed.iter_mut().find(|(known, _)| *known == provider) {
                Some((_, known_from)) => *known_from = from.min(*known_from),
                None => self.listed.push((provider, from)),
            }
        }
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = &Arc<TrustServiceProvider>> {
        self.listed.iter().map(|(provider, _)| provider)
    }

    /// Whether the list is in force for the certificate at `now`.
    pub(crate) fn is_in_force(&self, now: UnixMillis) -> bool {
        !self.is_over(now) && self.listed.iter().any(|(_, from)| *from <= now)
    }

    /// Whether the next list is due.
    pub(crate) fn is_over(&self, now: UnixMillis) -> bool {
        self.list.until.is_some_and(|until| until <= now)
    }

    /// The times at which the result of [`Self::is_in_force`] or [`Self::attribute`] may change.
    pub(crate) fn turns(&self) -> impl Iterator<Item = UnixMillis> {
        self.listed.iter().map(|(_, from)| *from).chain(self.list.until)
    }

    fn is_of(&self, provider: &Arc<TrustServiceProvider>) -> bool {
        self.providers().any(|own| own == provider)
    }

    /// The provider that signs with `signer`, which is the certificate itself or one below it.
    pub(crate) fn attribute(&self, signer: &Certificate<'_>, now: UnixMillis) -> ListedBy {
        let current = self.listed.iter().filter(|(_, from)| *from <= now);
        let mut providers: Vec<Arc<TrustServiceProvider>> =
            current.map(|(one, _)| one.clone()).collect();
        if providers.len() > 1 {
            let named = providers.iter().filter(|one| one.is_named_by(signer));
            if let [only] = named.collect::<Vec<_>>().as_slice() {
                providers = [Arc::clone(only)].into();
            }
        }
        ListedBy { list_type: self.list.list_type, list_sequence: self.list.sequence, providers }
    }
}

/// The listing of a trusted certificate; none if only the operator trusts it.
#[derive(Clone, Default)]
pub(crate) struct OfList(Option<Arc<Listing>>);

impl OfList {
    pub(crate) fn new(listing: Listing) -> Self {
        Self(Some(Arc::new(listing)))
    }

    /// Adds the entry of another service of the list.
    pub(crate) fn join(&mut self, other: Listing) {
        if let Some(own) = &mut self.0 {
            Arc::make_mut(own).join(other);
        }
    }

    pub(crate) fn get(&self) -> Option<&Listing> {
        self.0.as_deref()
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = &TrustServiceProvider> {
        self.0.iter().flat_map(|listing| listing.providers()).map(AsRef::as_ref)
    }

    /// Whether the list, if there is one, is in force for the certificate at `now`.
    pub(crate) fn is_in_force(&self, now: UnixMillis) -> bool {
        self.get().is_none_or(|listing| listing.is_in_force(now))
    }
}
