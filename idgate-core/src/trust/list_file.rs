//! A list of certificates as it came, with the rules that it is taken by, and the report on it.

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

/// A VICAL, an ICAO Master List or a European trusted list, and the rules that it is taken by.
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
    /// A list that is read at `now`.
    pub fn new(bytes: impl Into<Vec<u8>>, now: UnixMillis) -> Self {
        let (signer_ca, former) = (None, None);
        Self { bytes: bytes.into(), now, signer_ca, crls: Vec::new(), allow_stale: false, former }
    }

    /// The CA below which its signer must be, in PEM or DER; for a trusted list also the signer itself.
    /// Without it anyone could have made the list, so it is taken for a test-only issuer alone.
    pub fn signed_below(mut self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.signer_ca = Some(pem_or_der.into());
        self
    }

    /// CRLs of that CA, in PEM or DER, for a trusted list: one that is given must be good for the signer of the list.
    pub fn crls(mut self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.crls.push(pem_or_der.into());
        self
    }

    /// Takes a VICAL or a trusted list although a newer one is due.
    pub fn allow_stale(mut self) -> Self {
        self.allow_stale = true;
        self
    }

    /// Holds a trusted list to the one before: it is of that type, from that organization, and not older.
    pub fn after(mut self, state: &ListState) -> Self {
        self.former = Some(state.clone());
        self
    }
}

/// How large it is.
impl fmt::Debug for ListFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListFile").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

/// The next trusted list of an issuer is held to this ([`ListFile::after`]). Keep it as text, for the time
/// after a restart.
///
/// ```
/// use idgate_core::trust::ListState;
/// assert!("not a state".parse::<ListState>().is_err());
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListState {
    pub(super) mark: ListMark,
    pub(super) list_type: ListType,
    /// Of the signer of the first one: any customer of its CA could publish lists otherwise.
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

/// A text that is not a [`ListState`].
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

/// A report on a list that an issuer was given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListReport {
    /// The issuer.
    pub issuer: IssuerId,
    /// The kind of list.
    pub field: Field,
    /// How many certificates it brought.
    pub taken: usize,
    /// Those that cannot be used: the subject (RFC 4514), and why.
    pub skipped: Vec<(String, String)>,
    /// When a newer list is due. A trusted list no longer counts from then on.
    pub next_update: Option<UnixMillis>,
    /// Of a trusted list: what the next one is held to.
    pub state: Option<ListState>,
}
