//! How the demo puts things, for people.

use idgate_core::request::Dialect;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::{Map, Value};

pub(super) const INTRODUCTION: &str = "\
A business asks, idgate makes the request, a wallet answers, idgate verifies, the business reads.
Business, issuers and wallet are samples; all they say goes over HTTP to a gateway that runs here.
";
/// Of a long text, so much is shown.
const SHOWN: usize = 24;
/// Of a link, so much.
const SHOWN_OF_LINK: usize = 72;

/// What a part of the walk is called.
pub(super) const fn title(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::V1_0 => "== OpenID4VP 1.0 (profile 1.0) ==",
        Dialect::Haip => "== HAIP 1.0, OpenID4VP for the wallets of the EU (profile haip) ==",
        _ => "== The drafts before OpenID4VP 1.0 (profile draft) ==",
    }
}

/// Of how a session was verified the most telling.
pub(super) fn verified_by(session: &Value) -> Value {
    let details = session.pointer("/verification_details/credentials/0").unwrap_or(&Value::Null);
    let told =
        ["holder_binding", "trust", "trust_anchor_sha256", "session_transcript", "decided_by"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), abbreviated(details.get(name)?))));
    Value::Object(told.collect())
}

/// The same with long texts cut.
pub(super) fn abbreviated(value: &Value) -> Value {
    match value {
        Value::String(text) => cut(text, SHOWN).into(),
        Value::Array(elements) => elements.iter().map(abbreviated).collect(),
        Value::Object(members) => {
            let cut = members.iter().map(|(name, value)| (name.clone(), abbreviated(value)));
            Value::Object(cut.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The beginning of a link.
pub(super) fn short(link: &str) -> String {
    cut(link, SHOWN_OF_LINK)
}

fn cut(text: &str, shown: usize) -> String {
    let length = text.chars().count();
    if length <= shown {
        return text.to_owned();
    }
    let begin: String = text.chars().take(shown).collect();
    format!("{begin}...({length} characters)")
}

/// The member of an object that is a text.
pub(super) fn text(object: &Value, member: &str) -> String {
    object.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A link as a phone scans it.
pub(super) fn qr(link: &str) -> Result<String, String> {
    let code = QrCode::with_error_correction_level(link, qrcode::EcLevel::L);
    let code = code.map_err(|error| format!("the link does not fit a QR code: {error}"))?;
    Ok(code.render::<Dense1x2>().quiet_zone(true).build())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_cut_wherever_they_stand() {
        let long = "ü".repeat(25);
        let shown = abbreviated(&json!({ "vp_token": { "pid": [long, "short"] }, "n": 1 }));
        let cut = format!("{}...(25 characters)", "ü".repeat(24));
        assert_eq!(shown, json!({ "vp_token": { "pid": [cut, "short"] }, "n": 1 }));
    }
}
