//! The outcome of a use case.

use std::future::Future;
use std::pin::Pin;

use super::types::StoreError;
use crate::gateway_key::KeyUnusable;
use crate::seal::{NotSealed, Unsealable};

/// The outcome of a statement, of a use case or of a transaction.
pub(super) type Done<T> = Result<T, Failure>;

/// A use case that is under way, or a step of one.
pub(super) type Boxed<'a, T> = Pin<Box<dyn Future<Output = Done<T>> + Send + 'a>>;

/// Why a transaction did not do what it should.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another one was in its way: nothing was changed, and it can be tried again.
    Again(String),
    /// The connection broke during COMMIT: the outcome is not known yet.
    InDoubt(String),
    /// A client would have more open sessions than it may.
    NoRoom,
    /// There is nothing to try again.
    Store(StoreError),
}

impl Failure {
    /// The database failed in a way that the operator must know of.
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
