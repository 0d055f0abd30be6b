//! The body of a notification.

use alloc::string::String;

use serde::Serialize;

use crate::codec::json::json_text;

/// The notification that a session settled, with its outcome. It never contains claims; the tenant
/// reads those from the session.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::exhaustive_structs)] // the five members of the specification
pub struct Notification<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The tenant.
    pub client_id: &'a str,
    /// `VERIFIED`, `FAILED` or `EXPIRED`.
    pub status: &'a str,
    /// Milliseconds from creation to settlement.
    pub latency_ms: u64,
    /// The issuer of the first requested credential.
    pub issuer_id: &'a str,
}

impl Notification<'_> {
    /// Returns the body: one JSON object with exactly these members, in this order. Sign and send
    /// these bytes, never a second rendering.
    pub fn to_json(self) -> String {
        json_text(&self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_the_five_members_in_order() {
        let body = Notification {
            session_id: "ses_1",
            client_id: "cli_1",
            status: "FAILED",
            latency_ms: u64::MAX,
            issuer_id: "https://issuer.example/\"\n",
        }
        .to_json();
        let want = r#"{"sessionId":"ses_1","clientId":"cli_1","status":"FAILED","#.to_owned()
            + r#""latencyMs":18446744073709551615,"issuerId":"https://issuer.example/\"\n"}"#;
        assert_eq!(body, want);
    }
}
