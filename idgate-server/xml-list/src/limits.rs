//! Every bound of the reader.

/// Elements, texts, comments and attributes together. National lists have about a tenth.
pub(crate) const MAX_NODES: u32 = 512 * 1024;
/// Elements around an element, and itself. Lists have about fifteen.
pub(crate) const MAX_DEPTH: usize = 40;
/// Attributes of an element, the declarations of namespaces among them.
pub(crate) const MAX_ATTRIBUTES: u32 = 32;
/// Declarations of namespaces on an element and those around it.
pub(crate) const MAX_NAMESPACES: usize = 32;
/// Bytes of a namespace. Those of lists have about 60.
pub(crate) const MAX_NAMESPACE_BYTES: usize = 256;
/// Bytes of the name of an element or attribute, its prefix included. Those of lists have about 40.
pub(crate) const MAX_NAME_BYTES: usize = 128;
/// Signs `=` in a text, for each of which the tree reserves room for an attribute. Base64 and addresses have some, too.
pub(crate) const MAX_EQUALS_SIGNS: usize = 1_000_000;
/// Largest canonical form, twice the largest list: a namespace may be written many times that is declared once.
pub(crate) const MAX_CANONICAL_BYTES: usize = 32 * 1024 * 1024;
/// Certificates in a `ds:KeyInfo`; the header of a list in JSON may have as many.
pub(crate) const MAX_CHAIN: usize = 10;
/// Pointers to other lists. The list of the lists has about 70.
pub(crate) const MAX_POINTERS: usize = 256;
/// Certificates of signers that a list announces.
pub(crate) const MAX_ANNOUNCED: usize = 32;
/// Characters of the explanation why a text is not well-formed.
pub(crate) const MAX_EXPLAINED: usize = 160;
