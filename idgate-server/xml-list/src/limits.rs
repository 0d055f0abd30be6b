//! All limits of the reader.

/// The sum of elements, texts, comments and attributes. National lists have about a tenth.
pub(crate) const MAX_NODES: u32 = 512 * 1024;
/// The depth of an element. Lists have about fifteen.
pub(crate) const MAX_DEPTH: usize = 40;
/// Attributes of an element, including declarations of namespaces.
pub(crate) const MAX_ATTRIBUTES: u32 = 32;
/// Declarations of namespaces on an element and its ancestors.
pub(crate) const MAX_NAMESPACES: usize = 32;
/// Bytes of a namespace. Those of lists have about 60.
pub(crate) const MAX_NAMESPACE_BYTES: usize = 256;
/// Bytes of the name of an element or attribute, including its prefix. Those of lists have about
/// 40.
pub(crate) const MAX_NAME_BYTES: usize = 128;
/// `=` characters in a text. The parser reserves room for an attribute for each of them, although
/// Base64 and URLs contain some too.
pub(crate) const MAX_EQUALS_SIGNS: usize = 1_000_000;
/// The size of a canonical form: twice the largest list, because the form may repeat a namespace
/// that the list declares once.
pub(crate) const MAX_CANONICAL_BYTES: usize = 32 * 1024 * 1024;
/// Certificates in a `ds:KeyInfo`. The limit for the header of a list in JSON is the same.
pub(crate) const MAX_CHAIN: usize = 10;
/// Pointers to other lists. The list of the lists has about 70.
pub(crate) const MAX_POINTERS: usize = 256;
/// Certificates of signers that a list announces.
pub(crate) const MAX_ANNOUNCED: usize = 32;
/// Characters of the reason why a text is not well-formed.
pub(crate) const MAX_EXPLAINED: usize = 160;
