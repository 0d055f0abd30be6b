//! Every number that bounds what is stored, with its reason.

/// Credential types counted by name in one hour. Document types are the tenants' words; beyond so
/// many they are counted together.
pub(crate) const MAX_COUNTED_TYPES: i64 = 1000;
/// URLs that trusted lists are fetched from. There are three lists of issuers in the EU; some more are for
/// pilots.
pub(crate) const MAX_LIST_SOURCES: usize = 32;
/// Registration certificates of a client: the example of the EU's architecture comes to 7.
pub const MAX_REGISTRATIONS: usize = 32;
