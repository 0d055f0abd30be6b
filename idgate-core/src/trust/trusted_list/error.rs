//! Why a trusted list is not taken.

use alloc::borrow::Cow;
use core::fmt;

/// A trusted list that is not taken; the text says why.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TrustedListError {
    /// What is wrong with it.
    pub kind: TrustedListErrorKind,
    /// The same for people, after "the trusted list".
    pub why: Cow<'static, str>,
}

/// What is wrong with a trusted list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TrustedListErrorKind {
    /// It is not a list, or not one that serves here.
    Unusable,
    /// It is outside its dates.
    OutOfDate,
    /// Its signature or its signer is not what it must be: anybody may have made it.
    NotAuthentic,
    /// Its signer is none of those that were given, nor below one of the CAs: anybody may have made it.
    UnknownSigner,
    /// An older one in place of a newer one, or another one with the same number.
    Rollback,
}

impl TrustedListError {
    /// For readers of other forms than JSON; `why` goes on after "the trusted list".
    pub fn new(kind: TrustedListErrorKind, why: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, why: why.into() }
    }
}

impl TrustedListErrorKind {
    /// Whether somebody may have tampered with it.
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
