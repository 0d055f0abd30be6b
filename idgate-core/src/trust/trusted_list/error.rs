//! The reasons why a trusted list is refused.

use alloc::borrow::Cow;
use core::fmt;

/// A refused trusted list; the text says why.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TrustedListError {
    /// The kind of fault.
    pub kind: TrustedListErrorKind,
    /// The fault for people; it follows "the trusted list".
    pub why: Cow<'static, str>,
}

/// The kinds of faults of a trusted list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TrustedListErrorKind {
    /// It is not a list, or not one that can be used here.
    Unusable,
    /// It is outside its validity period.
    OutOfDate,
    /// Its signature or its signer is wrong: anyone may have made it.
    NotAuthentic,
    /// Its signer is none of the given ones, nor below one of the CAs: anyone may have made it.
    UnknownSigner,
    /// An older list in place of a newer one, or a different one with the same number.
    Rollback,
}

impl TrustedListError {
    /// Creates an error, for readers of other forms than JSON; `why` follows "the trusted list".
    pub fn new(kind: TrustedListErrorKind, why: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, why: why.into() }
    }
}

impl TrustedListErrorKind {
    /// Whether the fault may be due to tampering.
    pub const fn is_integrity(self) -> bool {
        matches!(self, Self::NotAuthentic | Self::UnknownSigner | Self::Rollback)
    }
}

impl fmt::Display for TrustedListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the trusted list {}", self.why)
    }
}

impl core::error::Error for TrustedListError {}

pub(super) fn unusable(why: impl Into<Cow<'static, str>>) -> TrustedListError {
    TrustedListError { kind: TrustedListErrorKind::Unusable, why: why.into() }
}

pub(super) fn out_of_date(why: impl Into<Cow<'static, str>>) -> TrustedListError {
    TrustedListError { kind: TrustedListErrorKind::OutOfDate, why: why.into() }
}

pub(super) fn not_authentic(why: impl Into<Cow<'static, str>>) -> TrustedListError {
    TrustedListError { kind: TrustedListErrorKind::NotAuthentic, why: why.into() }
}

pub(super) fn unknown_signer() -> TrustedListError {
    let why = "has a signer that does not lead to the CA or signer that was given";
    TrustedListError { kind: TrustedListErrorKind::UnknownSigner, why: why.into() }
}

pub(super) fn rollback(why: impl Into<Cow<'static, str>>) -> TrustedListError {
    TrustedListError { kind: TrustedListErrorKind::Rollback, why: why.into() }
}
