//! The verifier's reply to an answer (8.2, H5.1).

use serde_json::Value;

use super::findings::Findings;
use super::link::is_https;

/// Checks the reply to an accepted answer: its status, media type and body.
pub fn check_reply(status: u16, content_type: &str, body: &[u8], same_device: bool) -> Findings {
    let mut findings = Findings::default();
    findings.must("reply_status", status == 200, status);
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    findings.must("reply_media_type", media_type == "application/json", media_type);
    let read: Value = serde_json::from_slice(body).unwrap_or_default();
    findings.must("reply_json", read.is_object(), "not an object");
    let uri = read.get("redirect_uri").map(|uri| uri.as_str().unwrap_or_default());
    findings.must("reply_redirect_uri", uri.is_none_or(|uri| !uri.is_empty()), "empty");
    if same_device {
        findings.must("reply_same_device", uri.is_some_and(is_https), uri.unwrap_or("missing"));
    }
    for name in super::parameters::members_of(&read) {
        findings.should("reply_members", name == "redirect_uri", name);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(status: u16, body: &str, same_device: bool) -> Vec<&'static str> {
        check_reply(status, "application/json", body.as_bytes(), same_device).checks()
    }

    #[test]
    fn each_rule_of_the_reply_is_a_check() {
        let there = r#"{"redirect_uri":"https://shop.example/done?response_code=x"}"#;
        assert!(checks(200, "{}", false).is_empty());
        assert!(checks(200, there, true).is_empty());
        assert_eq!(checks(302, "{}", false), ["reply_status"]);
        assert_eq!(checks(200, "[]", false), ["reply_json"]);
        assert_eq!(checks(200, "{}", true), ["reply_same_device"]);
        assert_eq!(checks(200, r#"{"redirect_uri":""}"#, false), ["reply_redirect_uri"]);
        assert_eq!(checks(200, r#"{"status":"ok"}"#, false), ["reply_members"]);
        assert_eq!(check_reply(200, "text/plain", b"{}", false).checks(), ["reply_media_type"]);
    }
}
