//! The errors of use cases.

use std::fmt;

use crate::gateway_key::KeyUnusable;
use crate::seal::{NotSealed, Unsealable};

/// A fault of the store.
#[derive(Clone, Debug)]
pub enum StoreError {
    /// A queue is full, or this client's share of it. The load is shed.
    Busy,
    /// The disk is full: only erasing continues.
    Full,
    /// The database cannot be written or read at present, for example because another program locks
    /// it or no file descriptors are left. The text is for the operator.
    Unavailable(String),
    /// Stored data was altered. The text is for the operator.
    Damaged(String),
    /// The database failed; the text is for the operator.
    Failed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("too much is waiting for the database"),
            Self::Full => f.write_str("the disk is full; free disk space"),
            Self::Unavailable(text) | Self::Damaged(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<NotSealed> for StoreError {
    fn from(error: NotSealed) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<Unsealable> for StoreError {
    fn from(error: Unsealable) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<KeyUnusable> for StoreError {
    fn from(error: KeyUnusable) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Why a page of a list cannot be returned.
#[derive(Debug)]
pub enum PageError {
    /// The cursor was not made for this list and client, or is too old.
    Cursor,
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
