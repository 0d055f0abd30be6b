//! The demo's texts.

use idgate_core::Profile;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::{Map, Value};

pub(super) const INTRODUCTION: &str = "\
A business asks, idgate makes the request, a wallet answers, idgate verifies, the business reads.
Business, issuers and wallet are samples. They use a gateway that runs here, over HTTP.
";
/// Characters shown of a long text.
const SHOWN: usize = 24;
/// Characters shown of a link.
const SHOWN_OF_LINK: usize = 72;
/// White modules around a code (ISO/IEC 18004 5.3.8).
const QUIET: usize = 4;
/// The minimum width of terminals; a module takes one column.
const COLUMNS: usize = 80;

/// The title of a profile's part of the walk.
pub(super) const fn title(profile: Profile) -> &'static str {
    match profile {
        Profile::V1_0 => "== OpenID4VP 1.0 (profile 1.0) ==",
        Profile::Haip => "== HAIP 1.0, OpenID4VP for the wallets of the EU (profile haip) ==",
        _ => "== The drafts before OpenID4VP 1.0 (profile draft) ==",
    }
}

/// The most telling detail of how a session was verified.
pub(super) fn verified_by(session: &Value) -> Value {
    let details = session.pointer("/verification_details/credentials/0").unwrap_or(&Value::Null);
    let told =
        ["holder_binding", "trust", "trust_anchor_sha256", "session_transcript", "decided_by"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), abbreviated(details.get(name)?))));
    Value::Object(told.collect())
}

/// The value with long texts shortened.
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

/// The start of a link.
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

/// A text member of an object.
pub(super) fn text(object: &Value, member: &str) -> String {
    object.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A link as a QR code. On a terminal it is drawn black on white explicitly, because the terminal's
/// own colours may be inverted. `None` if the code is wider than most terminals and would wrap.
pub(super) fn qr(link: &str, for_terminal: bool) -> Result<Option<String>, String> {
    let code = QrCode::with_error_correction_level(link, qrcode::EcLevel::L);
    let code = code.map_err(|error| format!("the link does not fit a QR code: {error}"))?;
    if code.width().saturating_add(2 * QUIET) > COLUMNS {
        return Ok(None);
    }
    let drawn = code.render::<Dense1x2>().quiet_zone(true).build();
    if !for_terminal {
        return Ok(Some(drawn));
    }
    let lines = drawn.lines().map(|line| format!("\u{1b}[30;107m{line}\u{1b}[0m"));
    Ok(Some(lines.collect::<Vec<_>>().join("\n")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_cut_at_every_depth() {
        let long = "ü".repeat(25);
        let shown = abbreviated(&json!({ "vp_token": { "pid": [long, "short"] }, "n": 1 }));
        let cut = format!("{}...(25 characters)", "ü".repeat(24));
        assert_eq!(shown, json!({ "vp_token": { "pid": [cut, "short"] }, "n": 1 }));
    }

    #[test]
    fn a_code_is_black_on_white_and_never_wraps() {
        let link = "haip-vp://?client_id=x509_hash%3Aabc&request_uri=https%3A%2F%2Fa.example%2Fr";
        let shown = qr(link, true).ok().flatten().unwrap_or_default();
        assert!(shown.lines().count() > 10);
        for line in shown.lines() {
            let drawn =
                line.strip_prefix("\u{1b}[30;107m").and_then(|it| it.strip_suffix("\u{1b}[0m"));
            let width = drawn.map(|drawn| drawn.chars().count());
            assert!(width.is_some_and(|width| width <= COLUMNS), "{line}");
        }
        assert!(!qr(link, false).ok().flatten().unwrap_or_default().contains('\u{1b}'));
        assert_eq!(qr(&format!("{link}{}", "x".repeat(1500)), true), Ok(None));
    }
}
