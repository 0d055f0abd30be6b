//! Every limit on stored data, with its reason.

/// How many credential types are counted by name per hour. Tenants choose document types, so
/// further types are counted together.
pub(crate) const MAX_COUNTED_TYPES: i64 = 1000;
/// How many URLs trusted lists may be fetched from. The EU has three lists of issuers; pilots add
/// some.
pub(crate) const MAX_LIST_SOURCES: usize = 32;
/// Half of the open sessions that a gateway keeps in memory, in bytes as stored. With 2 KiB each
/// these are 512 of 1,024 sessions.
pub(crate) const RECENT_SESSION_BYTES: usize = 1024 * 1024;
/// Registration certificates per client. The example in the EU's architecture needs 7.
pub const MAX_REGISTRATIONS: usize = 32;
