//! Trusted lists in XML (ETSI TS 119 612): a strict subset of XML and of XML signatures, enough for the lists that the
//! member states and the Commission publish.
//!
//! The reader uses only the bytes that were digested. It brings the list without its signature into its canonical form,
//! holds that form to the digest in the signature, and reads the list from that form alone. So a wrong canonicalisation
//! can refuse a good list, and cannot let other content pass.
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
mod names;
mod properties;
mod scan;
mod signature;
mod signed_info;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
mod tree;

use idgate_core::shell::{ListAnchors, ListRules, ReadList, TrustedList, TrustedListError};
use idgate_core::trust::ListType;
use idgate_core::{CryptoProvider, UnixMillis};

use self::signature::Signed;

/// Whether a list is in XML: a compact JWS begins otherwise.
pub fn is_xml(file: &[u8]) -> bool {
    without_bom(file).first() == Some(&b'<')
}

/// Takes a list in XML or JSON by the rules of every list. [`ListRules::list_type`] chooses among the types that a
/// national list in XML has services of; without it those are the qualified providers of attestations.
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
    let read = read(provider, file, rules.list_type, rules.anchors)?;
    TrustedList::from_read(provider, read, rules, now)
}

/// Reads a list in XML or JSON again that was taken as one of `list_type` and kept where only the operator writes:
/// neither its signature nor its dates nor its number are looked at.
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
    TrustedList::recall_read(provider, read(provider, file, list_type, anchors)?, now)
}

/// The content of a list whose digests fit. The caller checks the signature over them.
fn read(
    provider: &CryptoProvider,
    file: &[u8],
    list_type: Option<ListType>,
    anchors: Option<&ListAnchors>,
) -> Result<ReadList, TrustedListError> {
    let text = scan::checked(without_bom(file))?;
    let signed = Signed::read(provider, text, anchors)?;
    content::read(provider, signed, list_type)
}

fn without_bom(file: &[u8]) -> &[u8] {
    file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file)
}
