//! Trusted lists in XML (ETSI TS 119 612). The reader accepts a strict subset of XML and of XML
//! signatures, which is enough for the lists of the member states and the Commission.
//!
//! The reader uses only the bytes that were digested. It canonicalizes the list without its
//! signature, compares the digest of that form with the one in the signature, and reads the list
//! only from that form. So a wrong canonicalization can refuse a good list, but never accepts
//! content that was not signed.
//!
//! ```
//! use idgate_xml_list::is_xml;
//!
//! assert!(is_xml(b"\xef\xbb\xbf<TrustServiceStatusList/>"));
//! assert!(!is_xml(b"eyJhbGciOiJFUzI1NiJ9.e30.AA"));
//! ```

mod canonical;
mod content;
mod error;
mod limits;
mod list_of_lists;
mod names;
mod properties;
mod scan;
mod signature;
mod signed_info;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
mod tree;

use idgate_core::shell::{ListAnchors, ListRules, TrustedList, TrustedListError};
use idgate_core::trust::ListType;
use idgate_core::{CryptoProvider, UnixMillis};

pub use self::list_of_lists::{import_list_of_lists, recall_list_of_lists};
use self::signature::Signed;

/// Whether a list is in XML. A compact JWS begins with another character.
pub fn is_xml(file: &[u8]) -> bool {
    without_bom(file).first() == Some(&b'<')
}

/// Accepts a list in XML or JSON by the rules of every list. A national list in XML has services of
/// several types, of which [`ListRules::list_type`] chooses one. Without it, the services of
/// qualified providers of attestations are read.
///
/// # Errors
/// The first of the rules that it breaks.
pub fn import_trusted_list(
    provider: &CryptoProvider,
    file: &[u8],
    rules: &ListRules<'_>,
    now: UnixMillis,
) -> Result<TrustedList, TrustedListError> {
    if !is_xml(file) {
        return idgate_core::shell::import_trusted_list(provider, file, rules, now);
    }
    let Signed { content, list } = signed(provider, file, rules.anchors)?;
    let authentic = list.authenticate(provider, rules, now)?;
    let read = content::read(provider, &content, rules.list_type)?;
    authentic.list(provider, read, rules, now)
}

/// Reads a list in XML or JSON again that was accepted before as one of `list_type`, and stored
/// where only the operator can write: its signature, dates and number are not checked.
///
/// # Errors
/// It was never a list.
pub fn recall(
    provider: &CryptoProvider,
    file: &[u8],
    (list_type, anchors): (Option<ListType>, Option<&ListAnchors>),
    now: UnixMillis,
) -> Result<TrustedList, TrustedListError> {
    if !is_xml(file) {
        return TrustedList::recall(provider, file, now);
    }
    let Signed { content, list } = signed(provider, file, anchors)?;
    list.recall(provider, content::read(provider, &content, list_type)?, now)
}

/// Returns the text of a list after its digests were checked, and the signature over them. The
/// caller verifies the signature before it reads the text.
fn signed(
    provider: &CryptoProvider,
    file: &[u8],
    anchors: Option<&ListAnchors>,
) -> Result<Signed, TrustedListError> {
    Signed::read(provider, scan::checked(without_bom(file))?, anchors)
}

fn without_bom(file: &[u8]) -> &[u8] {
    file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file)
}
