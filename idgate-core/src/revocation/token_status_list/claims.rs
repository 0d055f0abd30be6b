//! The claims of a status list token, which are the same in JWT and CWT (draft 5.1, 5.2), and their
//! rules.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::context::unknown;
use super::identifiers::Identifiers;
use crate::error::VerifyError;
use crate::limits::CLOCK_SKEW_MS;
use crate::time::UnixMillis;

const DAY_MS: u64 = 86_400_000;

/// The claims of an authenticated token.
#[derive(Debug)]
pub(super) struct Claims {
    pub(super) sub: String,
    pub(super) iat: UnixMillis,
    pub(super) nbf: Option<UnixMillis>,
    pub(super) exp: Option<UnixMillis>,
    /// Milliseconds.
    pub(super) ttl: Option<u64>,
    pub(super) list: Listed,
}

/// The content of a token's list.
#[derive(Debug)]
pub(super) enum Listed {
    /// A status for each place.
    Statuses {
        /// Bits for each status, as received.
        bits: u64,
        /// zlib, as received.
        lst: Vec<u8>,
    },
    /// The identifiers of revoked mdocs.
    Identifiers(Identifiers),
}

impl Claims {
    /// Draft 8.3: the token is for this list, and is already valid.
    pub(super) fn check(&self, uri: &str, now: UnixMillis) -> Result<(), VerifyError> {
        if self.sub != uri {
            return Err(unknown("sub of the status list token is not the credential's uri"));
        }
        let ahead = |date: UnixMillis| date > now.plus(CLOCK_SKEW_MS);
        if ahead(self.iat) || self.nbf.is_some_and(ahead) {
            return Err(unknown("iat or nbf of the status list token is in the future"));
        }
        Ok(())
    }

    /// Draft 8.3: whether the token, which ends at `end`, has expired, and why.
    pub(super) fn over(&self, end: UnixMillis, now: UnixMillis) -> Option<VerifyError> {
        let is_over = end.plus(CLOCK_SKEW_MS) <= now;
        is_over.then_some(unknown(match self.exp {
            Some(_) => "exp of the status list token is in the past",
            None => "the status list token has no exp and is older than the entry allows",
        }))
    }

    /// When it expires: `exp`, or the age that the trust entry allows after `iat`.
    pub(super) fn end(&self, max_age_days: u32) -> UnixMillis {
        self.exp.unwrap_or_else(|| self.iat.plus(DAY_MS.saturating_mul(max_age_days.into())))
    }

    /// Draft 13.7.
    pub(super) fn fresh_until(&self, end: UnixMillis, fetched_at: UnixMillis) -> UnixMillis {
        let by_ttl = self.ttl.map(|ttl| fetched_at.plus(ttl));
        by_ttl.into_iter().chain(self.exp).min().unwrap_or(fetched_at).min(end)
    }
}

/// Milliseconds from a fractional number of seconds. `as` saturates.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn millis(secs: f64) -> Option<u64> {
    secs.is_finite().then_some((secs * 1000.0) as u64)
}

/// `ttl` is a positive number (draft 5.1).
pub(super) fn positive(ttl: u64) -> Result<u64, VerifyError> {
    if ttl == 0 {
        return Err(unknown("ttl of the status list token is not a positive number"));
    }
    Ok(ttl)
}
