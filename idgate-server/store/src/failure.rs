//! The outcome of a use case.

use std::future::Future;
use std::pin::Pin;

use super::types::StoreError;
use crate::gateway_key::KeyUnusable;
use crate::seal::{NotSealed, Unsealable};

/// The outcome of a statement, of a use case or of a transaction.
pub(super) type Done<T> = Result<T, Failure>;

/// A use case in progress, or one step of it.
pub(super) type Boxed<'a, T> = Pin<Box<dyn Future<Output = Done<T>> + Send + 'a>>;

/// Why a transaction failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another transaction was in its way. Nothing was changed; it can be retried.
    Again(String),
    /// The connection broke during COMMIT, so the outcome is not known yet.
    InDoubt(String),
    /// The client would exceed its limit of open sessions.
    NoRoom,
    /// A retry would not help.
    Store(StoreError),
}

impl Failure {
    /// A failure of the database that the operator has to know about.
    pub(super) fn failed(text: impl Into<String>) -> Self {
        Self::Store(StoreError::Failed(text.into()))
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Store(error) => error,
            Failure::Again(text) | Failure::InDoubt(text) => Self::Unavailable(text),
            Failure::NoRoom => Self::Failed("there is no room for a session".into()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<NotSealed> for Failure {
    fn from(error: NotSealed) -> Self {
        Self::Store(error.into())
    }
}

impl From<Unsealable> for Failure {
    fn from(error: Unsealable) -> Self {
        Self::Store(error.into())
    }
}

impl From<KeyUnusable> for Failure {
    fn from(error: KeyUnusable) -> Self {
        Self::Store(error.into())
    }
}
