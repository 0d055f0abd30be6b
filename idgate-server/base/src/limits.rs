//! All limits of this crate, with their reasons.

/// Parties of one generation whose rates are remembered: what fits into a table of 2^20 places of
/// 17 bytes. Two generations stay below 48 MiB, even while the younger grows.
pub(crate) const LIMITED_PARTIES: usize = 917_504;
/// Spans that wait for the collector: some 2 MiB. Further ones are dropped and counted.
pub(crate) const MAX_WAITING_SPANS: usize = 4096;
/// Spans in one request to the collector: some 150 KiB.
pub(crate) const SPANS_IN_A_BATCH: usize = 512;
/// Spans of one request: an answer in four parts, each with its fetches, has about 20.
pub(crate) const SPANS_OF_A_REQUEST: u64 = 64;
