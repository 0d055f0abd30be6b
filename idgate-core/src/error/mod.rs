//! Errors, grouped by who must act. Texts are for people and never contain claim values, tokens,
//! keys or nonces; programs read the codes of [`ErrorCode`] and [`Reason`].

pub(crate) mod check;
mod code;
mod remedy;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt;

pub use self::check::Check;
pub(crate) use self::check::CheckSet;
pub use self::code::{ErrorCode, Reason, WalletError};
pub use self::remedy::Remedy;
use crate::crypto::SignerUnavailable;
use crate::entropy::EntropyUnavailable;

/// A configuration that cannot work; the operator must change it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The gateway's base URL cannot be used; the text says why.
    BaseUrl(&'static str),
    /// The text is not the origin of a page; the message says why.
    PageOrigin(&'static str),
    /// The profiles cannot be used; the text says why.
    Profiles(&'static str),
    /// The trust material cannot be used; the text says why.
    TrustMaterial(Cow<'static, str>),
    /// The provider lacks something that verification needs.
    Provider(&'static str),
    /// The signer of Request Objects cannot be used; the text says why.
    Signer(&'static str),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BaseUrl(why) => write!(f, "the base URL {why}"),
            Self::PageOrigin(why) => write!(f, "the origin of a page {why}"),
            Self::Profiles(why) => write!(f, "the profiles {why}"),
            Self::TrustMaterial(why) => write!(f, "the trust material {why}"),
            Self::Provider(why) => write!(f, "the crypto provider {why}"),
            Self::Signer(why) => write!(f, "the signer of Request Objects {why}"),
        }
    }
}

impl core::error::Error for ConfigError {}

/// A session request that breaks a rule; the tenant must change it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RequestError {
    /// The kind of mistake.
    pub code: ErrorCode,
    /// The path of the field, for example `credentials[0].claims[2]`; empty for the body as a
    /// whole.
    pub path: String,
    /// The broken rule and the remedy.
    pub rule: Cow<'static, str>,
    /// The remedy as a value, where the tenant alone cannot correct the request.
    pub remedy: Option<Remedy>,
}

impl RequestError {
    /// Creates an error at `path`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn new(
        code: ErrorCode,
        path: impl Into<String>,
        rule: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { code, path: path.into(), rule: rule.into(), remedy: None }
    }

    /// Adds the remedy that the rule ends with.
    #[must_use]
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.rule = format!("{}; {remedy}", self.rule).into();
        self.remedy = Some(remedy);
        self
    }

    /// The rule without the remedy, for a program with its own words for the remedy.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn fault(&self) -> &str {
        let remedy = self.remedy.as_ref().map(|remedy| format!("; {remedy}"));
        remedy.and_then(|end| self.rule.strip_suffix(&*end)).unwrap_or(&self.rule)
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "the request body {}", self.rule)
        } else {
            write!(f, "{}: {}", self.path, self.rule)
        }
    }
}

impl core::error::Error for RequestError {}

/// The reason why a session could not be created.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CreateError {
    /// The tenant must correct the request.
    Request(RequestError),
    /// The operator must fix the random source.
    Entropy(EntropyUnavailable),
}

impl From<RequestError> for CreateError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<EntropyUnavailable> for CreateError {
    fn from(error: EntropyUnavailable) -> Self {
        Self::Entropy(error)
    }
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(f),
            Self::Entropy(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CreateError {}

/// An answer that leaves the session unchanged. There is nothing to store.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum NotAnAnswer {
    /// The session is settled, expired or being verified.
    SessionClosed,
    /// `state` differs from the session's.
    StateMismatch,
    /// The answer is not well-formed; the text says what is wrong, never what was sent.
    Malformed(&'static str),
    /// The encrypted answer does not decrypt with the session's key. There is no detail, because
    /// details would be an oracle.
    DecryptionFailed,
    /// The answer is over [`crate::limits::MAX_RESPONSE_BYTES`].
    TooLarge,
    /// The operator must fix the random source.
    Entropy(EntropyUnavailable),
}

impl NotAnAnswer {
    /// Returns the `error` code of the reply to the wallet.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::SessionClosed => ErrorCode::SessionNotPending,
            Self::StateMismatch => ErrorCode::StateMismatch,
            Self::Malformed(_) => ErrorCode::InvalidResponse,
            Self::DecryptionFailed => ErrorCode::DecryptionFailed,
            Self::TooLarge => ErrorCode::PayloadTooLarge,
            Self::Entropy(_) => ErrorCode::InternalError,
        }
    }
}

impl fmt::Display for NotAnAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SessionClosed => f.write_str("the session no longer accepts a response"),
            Self::StateMismatch => f.write_str("state is not the one of the request"),
            Self::Malformed(what) => f.write_str(what),
            Self::DecryptionFailed => {
                f.write_str("the response is not encrypted to this session's key as offered")
            }
            Self::TooLarge => f.write_str("the response is larger than 1 MiB"),
            Self::Entropy(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NotAnAnswer {}

/// The reason why there is no Request Object. The session is unchanged.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum NotFetched {
    /// The session's request travels by value, or the session no longer takes an answer.
    NotFetchable,
    /// `wallet_nonce` has more than 256 characters.
    WalletNonce,
    /// The wallet did not post a form with at most one `wallet_nonce`; the text says what is wrong.
    Malformed(&'static str),
    /// The form is over [`crate::limits::MAX_FETCH_FORM_BYTES`].
    TooLarge,
    /// The operator must fix the signer.
    Signer(SignerUnavailable),
}

impl NotFetched {
    /// Returns the `error` code of the reply to the wallet.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NotFetchable => ErrorCode::NotFound,
            Self::WalletNonce | Self::Malformed(_) => ErrorCode::InvalidRequest,
            Self::TooLarge => ErrorCode::PayloadTooLarge,
            Self::Signer(_) => ErrorCode::TemporarilyUnavailable,
        }
    }
}

impl fmt::Display for NotFetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFetchable => f.write_str("the session has no Request Object to fetch"),
            Self::WalletNonce => f.write_str("wallet_nonce must have at most 256 characters"),
            Self::Malformed(what) => f.write_str(what),
            Self::TooLarge => f.write_str("the form is larger than 64 KiB"),
            Self::Signer(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NotFetched {}

/// A presentation that was evaluated and refused.
///
/// The wallet learns only that it was refused. The tenant reads [`VerifyError::reason`], and the
/// operator sees which [`Check`] failed.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct VerifyError {
    /// The stable code for the tenant.
    pub reason: Reason,
    /// The check that failed, with its clause.
    pub check: Check,
    /// The fault, for operators; never contains the input.
    pub detail: &'static str,
}

impl VerifyError {
    /// A failed `check`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const fn new(reason: Reason, check: Check, detail: &'static str) -> Self {
        Self { reason, check, detail }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({}; {})", self.reason, self.detail, self.check, self.check.clause())
    }
}

impl core::error::Error for VerifyError {}

#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
