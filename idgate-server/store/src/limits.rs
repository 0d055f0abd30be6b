//! Every limit on stored data, with its reason.

/// How many credential types are counted by name per hour. Tenants choose document types, so
/// further types are counted together.
pub(crate) const MAX_COUNTED_TYPES: i64 = 1000;
/// How many URLs trusted lists may be fetched from. The EU has three lists of issuers; pilots add
/// some.
pub(crate) const MAX_LIST_SOURCES: usize = 32;
/// Half of the memory for open sessions. A session takes 2 to 3 KiB, so there are about 800 in all.
pub(crate) const RECENT_SESSION_BYTES: usize = 1024 * 1024;
/// Registration certificates per client. The example in the EU's architecture needs 7.
pub const MAX_REGISTRATIONS: usize = 32;
