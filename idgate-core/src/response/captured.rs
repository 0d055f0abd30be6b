//! A captured answer to a DCQL query, outside of a session.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

use super::{VpToken, dcql};
#[cfg(doc)]
use crate::error::Reason;
use crate::error::{NotAnAnswer, VerifyError};
use crate::request::CredentialSet;
use crate::session::QueryLanguage;

/// A captured `vp_token` that answers a DCQL query (OpenID4VP 8.1); its content is untrusted.
pub struct CapturedAnswer(VpToken<'static>);

impl CapturedAnswer {
    /// Parses the JSON text.
    ///
    /// # Errors
    /// The text is not a JSON object.
    pub fn parse(vp_token: &str) -> Result<Self, NotAnAnswer> {
        VpToken::from_text(Cow::Borrowed(vp_token), QueryLanguage::Dcql)
            .map(|vp_token| Self(vp_token.into_owned()))
    }

    /// Returns the presentation for each id of the query, in its order. `None`: there is none,
    /// which the query's `credential_sets` allow; without sets each must be there. The rules are
    /// those for an answer to a session (OpenID4VP 8.6).
    ///
    /// # Errors
    /// [`Reason::SubmissionMismatch`], [`Reason::MalformedPresentation`] and
    /// [`Reason::LimitExceeded`].
    pub fn assign(
        &self,
        ids: &[&str],
        sets: &[CredentialSet],
    ) -> Result<Vec<Option<&str>>, VerifyError> {
        let asked: Vec<_> = ids.iter().map(|id| (Cow::Borrowed(*id), *id)).collect();
        dcql::assign_by_id(&asked, sets, &self.0)
    }
}

/// Omits the presentations.
impl fmt::Debug for CapturedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CapturedAnswer")
    }
}
