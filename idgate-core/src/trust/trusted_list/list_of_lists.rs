//! The list of lists (ETSI TS 119 612, `EUlistofthelists`) names the URL and the signers of each
//! national list.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::{TrustedListError, unusable};
use super::{ListMark, ListSigner, ReadScheme, issue};
use crate::limits::{MAX_NAMED_LIST_SIGNERS, MAX_NAMED_LIST_URL_BYTES};
use crate::time::UnixMillis;
use crate::trust::certificate::Certificate;
use crate::trust::listing::member_state;
use crate::trust::trusted_list::anchors::is_ca;

/// The type of the list of a member state.
const NATIONAL_LIST: &str = "http://uri.etsi.org/TrstSvc/TrustedList/TSLType/EUgeneric";
/// The media type of a list in XML.
const XML_LIST: &str = "application/vnd.etsi.tsl+xml";

/// The content of a list of lists before the rules are applied.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ReadPointers {
    /// The issue.
    pub scheme: ReadScheme,
    /// Its pointers, in order.
    pub pointers: Vec<ListPointer>,
}

/// A pointer to another list (`OtherTSLPointer`, 5.3.13). A value that is absent or repeated is
/// empty.
#[derive(Clone, Debug, Default)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ListPointer {
    /// `TSLType`.
    pub list_type: String,
    /// `SchemeTerritory`.
    pub territory: String,
    /// `MimeType`.
    pub mime_type: String,
    /// `TSLLocation`.
    pub location: String,
    /// The certificates in `ServiceDigitalIdentities`, in DER.
    pub signers: Vec<Vec<u8>>,
}

/// A list of lists that was accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListOfLists {
    /// The sequence number: each issue has a greater one than its predecessor.
    pub sequence: u64,
    /// The publisher: `SchemeOperatorName`.
    pub operator: String,
    /// `SchemeTerritory`.
    pub territory: String,
    /// The time when it was issued.
    pub issued_at: UnixMillis,
    /// The time when the next one is due: from then on its pointers are not used.
    pub next_update: UnixMillis,
    /// The signer.
    pub signer: ListSigner,
    /// SHA-256 of its content.
    pub payload_sha256: [u8; 32],
    pointers: Vec<ListPointer>,
}

/// The URL of a national list, and its signers.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct NamedList {
    /// The URL.
    pub location: String,
    /// The certificates of its signers, in DER, each once, in order.
    pub signers: Vec<Vec<u8>>,
}

impl ReadPointers {
    pub(super) fn with_signer(self, signer: ListSigner, payload_sha256: [u8; 32]) -> ListOfLists {
        let ReadScheme { sequence, operators, territory, issued_at, next_update } = self.scheme;
        let operator = operators.into_iter().next().unwrap_or_default();
        let pointers = self.pointers;
        ListOfLists {
            sequence,
            operator,
            territory,
            issued_at,
            next_update,
            signer,
            payload_sha256,
            pointers,
        }
    }
}

impl ListOfLists {
    /// The list in XML of the member state `country`, which exactly one pointer must name.
    ///
    /// # Errors
    /// No pointer or more than one names it, or none of the named certificates can be a signer.
    pub fn list_of(&self, country: &str) -> Result<NamedList, TrustedListError> {
        let wanted = member_state(country);
        let mut named = self.pointers.iter().filter(|pointer| {
            pointer.list_type == NATIONAL_LIST
                && pointer.mime_type == XML_LIST
                && member_state(&pointer.territory) == wanted
        });
        match (named.next(), named.next()) {
            (Some(only), None) => only.list(country),
            (None, _) => Err(unusable(format!("has no pointer to a list in XML of {country}"))),
            (Some(_), Some(_)) => {
                Err(unusable(format!("has several pointers to lists in XML of {country}")))
            }
        }
    }

    /// How many lists it points to.
    pub fn pointers(&self) -> usize {
        self.pointers.len()
    }

    /// Checks that it is not older than the newest known one of its source.
    ///
    /// # Errors
    /// It is older, or a different one with the same number.
    pub fn check_newer(&self, mark: &ListMark) -> Result<(), TrustedListError> {
        issue::check_mark((self.sequence, self.issued_at), &self.payload_sha256, mark)
    }

    /// The state to store for the next issue, first seen at `now` unless `former` is for the same
    /// issue.
    pub fn mark(&self, former: Option<&ListMark>, now: UnixMillis) -> ListMark {
        issue::mark((self.sequence, self.issued_at), self.payload_sha256, former, now)
    }
}

impl ListPointer {
    /// The signers are the certificates that can sign a list. A CA never signs a list (5.7.1), and
    /// would let in all its customers.
    fn list(&self, country: &str) -> Result<NamedList, TrustedListError> {
        if !is_https(&self.location) {
            return Err(unusable(format!("names no https URL of the list of {country}")));
        }
        if self.signers.len() > MAX_NAMED_LIST_SIGNERS {
            return Err(unusable(format!("names more than 32 signers of the list of {country}")));
        }
        let can_sign = |der: &&Vec<u8>| {
            Certificate::parse(der).is_ok_and(|one| !is_ca(&one) && one.key().is_ok())
        };
        let mut signers: Vec<Vec<u8>> = self.signers.iter().filter(can_sign).cloned().collect();
        signers.sort_unstable();
        signers.dedup();
        if signers.is_empty() {
            let why = format!("names no certificate that can sign the list of {country}");
            return Err(unusable(why));
        }
        Ok(NamedList { location: self.location.clone(), signers })
    }
}

/// Whether a list may be fetched from there: only over https, like every list.
fn is_https(location: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    location.len() <= MAX_NAMED_LIST_URL_BYTES
        && location.bytes().all(is_plain)
        && location.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"))
}
