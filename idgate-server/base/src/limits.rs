//! Every number that bounds what the base keeps, with its reason.

/// Parties of one generation whose rates are remembered: as many as a table of 2^20 places of 17 bytes
/// takes. Two generations stay below 48 MiB, also while the younger grows.
pub(crate) const LIMITED_PARTIES: usize = 917_504;
/// Spans that wait for the collector of traces: some 2 MiB. More are lost and counted.
pub(crate) const MAX_WAITING_SPANS: usize = 4096;
/// Spans in one request to the collector: some 150 KiB.
pub(crate) const SPANS_IN_A_BATCH: usize = 512;
/// Spans of one request: an answer in four parts, each with its fetches, has about 20.
pub(crate) const SPANS_OF_A_REQUEST: u64 = 64;
