//! The reply to the wallet's answer.

use alloc::string::String;
use core::fmt;

use serde::Serialize;

use crate::codec::json::json_text;
use crate::request::Profile;

/// The reply to the wallet, to be sent after the transition is committed.
#[derive(Clone, Eq, PartialEq)]
#[must_use = "the wallet waits for its answer"]
#[non_exhaustive]
pub enum WalletReply {
    /// 200 with [`WalletReply::body`]: the presentation was verified.
    Accepted {
        /// The session's `redirect_uri` with its `response_code`.
        redirect_uri: Option<String>,
        /// The profile of the answered request.
        profile: Profile,
    },
    /// 200 with [`WalletReply::body`]: the wallet reported an error, which is recorded.
    ErrorNoted {
        /// The session's `redirect_uri` with a `response_code`; never in `draft`.
        redirect_uri: Option<String>,
        /// The profile of the answered request.
        profile: Profile,
    },
    /// 400 `invalid_presentation`, the same for every reason.
    Refused,
}

/// `status` is only for drafts: OpenID4VP 1.0 has `redirect_uri` and no other member (8.2).
#[derive(Serialize)]
struct Body<'b> {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redirect_uri: Option<&'b str>,
}

impl WalletReply {
    /// The JSON body of a 200; `None`: the answer was refused. It contains the response code: keep
    /// it out of logs.
    ///
    /// ```
    /// # use idgate_core::{Profile, verify::WalletReply};
    /// # fn example(redirect_uri: Option<String>) {
    /// let drafts = WalletReply::Accepted { redirect_uri: None, profile: Profile::Draft };
    /// assert_eq!(drafts.body().as_deref(), Some(r#"{"status":"ok"}"#));
    /// let haip = WalletReply::Accepted { redirect_uri: None, profile: Profile::Haip };
    /// assert_eq!(haip.body().as_deref(), Some("{}"));
    /// assert_eq!(WalletReply::Refused.body(), None);
    /// # }
    /// # example(None);
    /// ```
    pub fn body(&self) -> Option<String> {
        let (Self::Accepted { redirect_uri, profile } | Self::ErrorNoted { redirect_uri, profile }) =
            self
        else {
            return None;
        };
        let status = (*profile == Profile::Draft).then_some("ok");
        let body = Body { status, redirect_uri: redirect_uri.as_deref() };
        Some(json_text(&body))
    }
}

/// Omits the response code.
impl fmt::Debug for WalletReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted { .. } => "Accepted",
            Self::ErrorNoted { .. } => "ErrorNoted",
            Self::Refused => "Refused",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_uri_is_there_only_when_the_session_has_one_and_status_only_in_draft() {
        let uri = || Some("https://rp.example/?response_code=x".into());
        let body = |redirect_uri, profile| {
            let accepted = WalletReply::Accepted { redirect_uri, profile };
            accepted.body().unwrap_or_default()
        };
        let with = r#""redirect_uri":"https://rp.example/?response_code=x"}"#;
        assert_eq!(body(None, Profile::Draft), r#"{"status":"ok"}"#);
        assert_eq!(body(uri(), Profile::Draft), [r#"{"status":"ok","#, with].concat());
        for profile in [Profile::V1_0, Profile::Haip] {
            assert_eq!(body(None, profile), "{}");
            assert_eq!(body(uri(), profile), ["{", with].concat());
        }
    }
}
