//! The `serde_json` features that other crates force on a whole build change nothing for idgate.

use idgate_core::Reason;
use idgate_core::shell::base64url;
use idgate_interop::gate::Gate;
use idgate_interop::peer::{self, PeerKey};
use idgate_interop::{ISSUER, VCT, now_secs};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

/// A presentation whose payload has the member `odd` with this JSON text, and its verdict.
fn verdict_on(odd: &str) -> Result<String, Reason> {
    let (issuer, holder) =
        (PeerKey::generate(Algorithm::ES256), PeerKey::generate(Algorithm::ES256));
    let (jwk, now) = (holder.jwk(), now_secs());
    let payload = format!(
        r#"{{"iss":"{ISSUER}","vct":"{VCT}","iat":{now},"cnf":{{"jwk":{jwk}}},"odd":{odd}}}"#
    );
    let header = base64url::encode(br#"{"alg":"ES256","typ":"dc+sd-jwt"}"#);
    let jwt = issuer.sign(&format!("{header}.{}", base64url::encode(payload.as_bytes())));
    let shown = peer::present(&format!("{jwt}~"), &holder, json!({}));
    Gate::new(&issuer.jwk(), &["odd"]).verdict(&shown)
}

#[test]
fn the_features_are_turned_on() {
    // arbitrary_precision
    assert!(serde_json::from_str::<Value>("1e400").is_ok());
    let number: Value = serde_json::from_str(r#"{"$serde_json::private::Number":"7"}"#).unwrap();
    assert!(number.is_number());
    // preserve_order
    let value: Value = serde_json::from_str(r#"{"b":1,"a":2}"#).unwrap();
    assert_eq!(value.to_string(), r#"{"b":1,"a":2}"#);
}

#[test]
fn a_number_that_does_not_fit_a_double_is_refused() {
    assert_eq!(verdict_on("1e400"), Err(Reason::MalformedPresentation));
}

#[test]
fn an_object_that_looks_like_a_number_stays_an_object() {
    let odd = r#"{"$serde_json::private::Number":"7"}"#;
    assert_eq!(verdict_on(odd), Ok(format!(r#"{{"odd":{odd}}}"#)));
}

#[test]
fn a_member_named_twice_is_refused() {
    assert_eq!(verdict_on(r#"{"a":1,"a":2}"#), Err(Reason::MalformedPresentation));
}

#[test]
fn numbers_are_returned_as_they_were_written() {
    for odd in ["1.0", "1.00", "1e2", "9007199254740993", "-0"] {
        assert_eq!(verdict_on(odd), Ok(format!(r#"{{"odd":{odd}}}"#)));
    }
}
