//! The list of lists (ETSI TS 119 612, `EUlistofthelists`) names the URL and the signers of each
//! national list.

use idgate_core::shell::{
    ListAnchors, ListOfLists, ListPointer, ListRules, ReadPointers, TrustedListError,
};
use idgate_core::{CryptoProvider, UnixMillis};
use roxmltree::Node;

use crate::content::{
    LIST_OF_LISTS, certificates, is_own, list_type_uri, own, pointers, read_scheme,
    scheme_information,
};
use crate::error::unusable;
use crate::names::ns;
use crate::signature::Signed;
use crate::tree::{self, elements};
use crate::{is_xml, signed};

/// Accepts a list of lists by the rules of every list; it has no type and no providers.
///
/// # Errors
/// The first of the rules that it breaks.
pub fn import_list_of_lists(
    provider: &CryptoProvider,
    file: &[u8],
    rules: &ListRules<'_>,
    now: UnixMillis,
) -> Result<ListOfLists, TrustedListError> {
    let Signed { content, list } = signed_xml(provider, file, rules.anchors)?;
    let authentic = list.authenticate(provider, rules, now)?;
    authentic.list_of_lists(read(&content)?, rules, now)
}

/// Reads a list again that was accepted before and stored where only the operator can write: its
/// signature, dates and number are not checked.
///
/// # Errors
/// It was never a list of lists.
pub fn recall_list_of_lists(
    provider: &CryptoProvider,
    file: &[u8],
    anchors: Option<&ListAnchors>,
) -> Result<ListOfLists, TrustedListError> {
    let Signed { content, list } = signed_xml(provider, file, anchors)?;
    list.recall_list_of_lists(provider, read(&content)?)
}

fn signed_xml(
    provider: &CryptoProvider,
    file: &[u8],
    anchors: Option<&ListAnchors>,
) -> Result<Signed, TrustedListError> {
    match is_xml(file) {
        true => signed(provider, file, anchors),
        false => Err(unusable("is not XML (ETSI TS 119 612)")),
    }
}

/// Reads the signed text.
fn read(signed: &str) -> Result<ReadPointers, TrustedListError> {
    let document = tree::parsed(signed)?;
    let scheme = scheme_information(document.root_element())?;
    if list_type_uri(scheme) != LIST_OF_LISTS {
        return Err(unusable(
            "is not of the type EUlistofthelists; give the list of one member state with --trusted-list",
        ));
    }
    let pointers = pointers(scheme)?.into_iter().map(pointer).collect();
    Ok(ReadPointers { scheme: read_scheme(scheme)?, pointers })
}

/// Reads an `OtherTSLPointer` (5.3.13).
fn pointer(pointer: Node<'_, '_>) -> ListPointer {
    let identities = own(pointer, "ServiceDigitalIdentities").into_iter().flat_map(elements);
    let location = own(pointer, "TSLLocation").and_then(tree::text).unwrap_or_default();
    ListPointer {
        list_type: information(pointer, ns::LIST, "TSLType"),
        territory: information(pointer, ns::LIST, "SchemeTerritory"),
        mime_type: information(pointer, ns::ADDITIONAL, "MimeType"),
        location: location.to_owned(),
        signers: identities.flat_map(|one| certificates(Some(one))).collect(),
    }
}

/// Returns the value of the only `OtherInformation` with this name. Repeated values are ignored.
fn information(pointer: Node<'_, '_>, namespace: &str, name: &str) -> String {
    let all = own(pointer, "AdditionalInformation").into_iter().flat_map(elements);
    let all = all.filter(|one| is_own(one, "OtherInformation")).flat_map(elements);
    let mut named = all.filter(|one| one.has_tag_name((namespace, name)));
    match (named.next(), named.next()) {
        (Some(only), None) => tree::text(only).unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}
