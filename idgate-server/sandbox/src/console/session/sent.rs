//! The parameters that the sandbox's wallet posted, with each presentation in readable form.

use idgate_testkit::codec::from_base64url;
use idgate_testkit::jws;
use idgate_testkit::mdoc::Cbor;
use serde_json::{Map, Value, json};

/// Nested byte strings are decoded up to this depth.
const DEPTH: usize = 16;

/// The parameters as JSON; `text` itself if it is not in the form that the wallet sends.
pub(super) fn decoded(text: &str) -> String {
    let Ok(Value::Object(mut parameters)) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    if let Some(token) = parameters.get_mut("vp_token") {
        *token = readable(token.take());
    }
    Value::Object(parameters).to_string()
}

fn readable(token: Value) -> Value {
    match token {
        Value::String(text) => presentation(&text).unwrap_or(Value::String(text)),
        Value::Array(all) => all.into_iter().map(readable).collect(),
        Value::Object(all) => {
            let all = all.into_iter().map(|(id, token)| (id, readable(token)));
            Value::Object(all.collect())
        }
        other => other,
    }
}

fn presentation(text: &str) -> Option<Value> {
    match text.contains('~') {
        true => sd_jwt(text),
        false => Some(of_cbor(&Cbor::decode(&from_base64url(text)?)?, DEPTH)),
    }
}

/// An SD-JWT with its disclosures and key binding proof (RFC 9901 4).
fn sd_jwt(text: &str) -> Option<Value> {
    let mut parts: Vec<&str> = text.split('~').collect();
    let proof = parts.pop().filter(|last| !last.is_empty());
    let issuer_jwt = *parts.first()?;
    let disclosures = parts.iter().skip(1).map(|one| {
        let read = from_base64url(one).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.unwrap_or_else(|| Value::from(*one))
    });
    Some(json!({
        "issuer_jwt": { "header": jws::header(issuer_jwt), "payload": jws::payload(issuer_jwt) },
        "disclosures": disclosures.collect::<Vec<Value>>(),
        "kb_jwt": proof.map(|jwt| json!({ "header": jws::header(jwt), "payload": jws::payload(jwt) })),
    }))
}

fn of_cbor(item: &Cbor, depth: usize) -> Value {
    let Some(deeper) = depth.checked_sub(1) else { return Value::from("…") };
    match item {
        Cbor::Int(number) => Value::from(*number),
        Cbor::Text(text) => Value::from(text.as_str()),
        Cbor::Bool(value) => Value::from(*value),
        Cbor::Float(number) => Value::from(*number),
        Cbor::Bytes(bytes) | Cbor::Raw(bytes) => Value::from(format!("{} bytes", bytes.len())),
        Cbor::Tag(24, inside) => match &**inside {
            Cbor::Bytes(bytes) => match Cbor::decode(bytes) {
                Some(item) => of_cbor(&item, deeper),
                None => of_cbor(inside, deeper),
            },
            other => of_cbor(other, deeper),
        },
        Cbor::Tag(_, inside) => of_cbor(inside, deeper),
        Cbor::Array(items) => items.iter().map(|item| of_cbor(item, deeper)).collect(),
        Cbor::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = match key {
                    Cbor::Text(text) => text.clone(),
                    other => of_cbor(other, deeper).to_string(),
                };
                (key, of_cbor(value, deeper))
            });
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Cbor::Null | Cbor::Undefined => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use idgate_testkit::codec::base64url;

    use super::*;

    #[test]
    fn an_mdoc_and_an_sd_jwt_are_decoded_and_anything_else_stays_unchanged() {
        let element = Cbor::map([
            ("elementIdentifier", "age_over_18".into()),
            ("random", Cbor::Bytes(vec![0; 16])),
        ]);
        let mdoc =
            base64url(&Cbor::map([("items", Cbor::Array(vec![element.to_encoded()]))]).encode());
        let part = |json: &str| base64url(json.as_bytes());
        let jwt = format!("{}.{}.c2ln", part(r#"{"typ":"dc+sd-jwt"}"#), part(r#"{"iss":"x"}"#));
        let sd_jwt = format!("{jwt}~{}~{jwt}", part(r#"["salt","given_name","Erika"]"#));
        let sent = json!({ "vp_token": { "mdl": [mdoc], "pid": [sd_jwt], "x": ["~", "%"] }, "state": "s" });
        let read: Value = serde_json::from_str(&decoded(&sent.to_string())).unwrap_or_default();
        let token = &read["vp_token"];
        let expected =
            json!({ "items": [{ "elementIdentifier": "age_over_18", "random": "16 bytes" }] });
        assert_eq!(token["mdl"][0], expected);
        assert_eq!(token["pid"][0]["disclosures"][0][2], "Erika");
        assert_eq!(token["pid"][0]["kb_jwt"]["payload"]["iss"], "x");
        assert_eq!((&token["x"][1], &read["state"]), (&json!("%"), &json!("s")));
        assert_eq!(decoded("no JSON"), "no JSON");
    }
}
