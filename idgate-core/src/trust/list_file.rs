//! A list of certificates as received, the rules for importing it, and the report about it.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::issuer::Field;
use super::listing::ListType;
use super::trusted_list::{ListMark, TrustedList};
use crate::ids::IssuerId;
use crate::time::UnixMillis;

/// A VICAL, an ICAO Master List or a European trusted list, with the rules for importing it.
///
/// ```
/// use idgate_core::{Issuer, UnixMillis, trust::ListFile};
///
/// # let (vical, ca, now) = ("", "", UnixMillis(0));
/// let file = ListFile::new(vical, now).signed_below(ca);
/// let licences = Issuer::new("https://aamva.example").vical(file);
/// ```
#[derive(Clone)]
pub struct ListFile {
    pub(super) bytes: Vec<u8>,
    pub(super) now: UnixMillis,
    pub(super) signer_ca: Option<Vec<u8>>,
    pub(super) crls: Vec<Vec<u8>>,
    pub(super) allow_stale: bool,
    pub(super) former: Option<ListState>,
}

impl ListFile {
    /// Creates a list that is read at `now`.
    pub fn new(bytes: impl Into<Vec<u8>>, now: UnixMillis) -> Self {
        let (signer_ca, former) = (None, None);
        Self { bytes: bytes.into(), now, signer_ca, crls: Vec::new(), allow_stale: false, former }
    }

    /// Sets the CA that the list's signer must be below, in PEM or DER; for a trusted list it may
    /// also be the signer itself. Without it anyone could have made the list, so only a test-only
    /// issuer accepts it.
    pub fn signed_below(mut self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.signer_ca = Some(pem_or_der.into());
        self
    }

    /// Adds CRLs of that CA, in PEM or DER, for a trusted list. Each must be valid for the signer
    /// of the list and not revoke it.
    pub fn crls(mut self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.crls.push(pem_or_der.into());
        self
    }

    /// Accepts a VICAL or a trusted list although a newer one is due.
    pub fn allow_stale(mut self) -> Self {
        self.allow_stale = true;
        self
    }

    /// Compares a trusted list with the previous one: it must have the same type and the same
    /// organization, and must not be older.
    pub fn after(mut self, state: &ListState) -> Self {
        self.former = Some(state.clone());
        self
    }
}

/// Shows the size.
impl fmt::Debug for ListFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListFile").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

/// The state of a trusted list, which the issuer's next list is compared with
/// ([`ListFile::after`]). Store it as text if it must survive a restart.
///
/// ```
/// use idgate_core::trust::ListState;
/// assert!("not a state".parse::<ListState>().is_err());
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListState {
    pub(super) mark: ListMark,
    pub(super) list_type: ListType,
    /// The organization of the first list's signer. Without it any customer of its CA could publish
    /// lists.
    pub(super) organization: Option<String>,
}

impl ListState {
    pub(super) fn of(list: &TrustedList, before: Option<&Self>, now: UnixMillis) -> Self {
        let mark = list.mark(before.map(|before| &before.mark), now);
        let first = before.and_then(|before| before.organization.clone());
        let organization = first.or_else(|| list.signer.organization.clone());
        Self { mark, list_type: list.list_type, organization }
    }
}

/// The text of a [`ListState`].
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct StateText<'s> {
    list_type: Cow<'s, str>,
    sequence: u64,
    issued_at_ms: u64,
    seen_at_ms: u64,
    payload_sha256: [u8; 32],
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<Cow<'s, str>>,
}

impl fmt::Display for ListState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = StateText {
            list_type: Cow::Borrowed(self.list_type.name()),
            sequence: self.mark.sequence,
            issued_at_ms: self.mark.issued_at.0,
            seen_at_ms: self.mark.seen_at.0,
            payload_sha256: self.mark.payload_sha256,
            organization: self.organization.as_deref().map(Cow::Borrowed),
        };
        f.write_str(&serde_json::to_string(&text).map_err(|_| fmt::Error)?)
    }
}

/// The error for a text that is not a [`ListState`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct NotAListState;

impl fmt::Display for NotAListState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not the text of a list state")
    }
}

impl core::error::Error for NotAListState {}

impl core::str::FromStr for ListState {
    type Err = NotAListState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let stored: StateText<'_> = serde_json::from_str(text).map_err(|_| NotAListState)?;
        let mark = ListMark {
            sequence: stored.sequence,
            issued_at: UnixMillis(stored.issued_at_ms),
            payload_sha256: stored.payload_sha256,
            seen_at: UnixMillis(stored.seen_at_ms),
        };
        let list_type = ListType::from_name(&stored.list_type).ok_or(NotAListState)?;
        Ok(Self { mark, list_type, organization: stored.organization.map(Cow::into_owned) })
    }
}

/// A report on a list that was given for an issuer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListReport {
    /// The issuer.
    pub issuer: IssuerId,
    /// The field that the list was given in, which says its kind.
    pub field: Field,
    /// The number of imported certificates.
    pub taken: usize,
    /// Certificates that cannot be used: the subject (RFC 4514) and the reason.
    pub skipped: Vec<(String, String)>,
    /// When a newer list is due. From then on a trusted list is no longer in force.
    pub next_update: Option<UnixMillis>,
    /// For a trusted list: the state that the next one is compared with.
    pub state: Option<ListState>,
}
