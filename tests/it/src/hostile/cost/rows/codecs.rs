//! The basic encodings: JSON, CBOR and the like.

use idgate_core::crypto::counting::PROVIDER;
use idgate_core::crypto::{Curve as CoreCurve, EcdhPrivateKey};
use idgate_core::shell::limits::MAX_JWE_HEADER_CHARS;
use idgate_core::shell::{Jwk, form, is_strict_cbor, json};
use idgate_testkit::keys::{Curve, SigningKey};

use crate::hostile::cost::Row;
use crate::hostile::cost::encoded::{CBOR, JSON, wrapped};

/// Up to this size, good documents of small values stay below the accepted number of values.
const DOCUMENT: usize = 160 * 1024;
const BODY: usize = 1024 * 1024;

const DENSE: &str = "many keys in no order";

/// A JSON object of short members.
fn object(size: usize) -> String {
    let member = |at: usize| format!("\"name{at:05}\":\"value-{at:08}\"");
    let members: Vec<String> = (0..size / 29).map(member).collect();
    format!("{{{}}}", members.join(","))
}

pub(super) fn json() -> Row {
    Row {
        name: "JSON",
        full: DOCUMENT,
        read: Box::new(|text| {
            let _ = json::Tape::default().parse(text);
        }),
        // Small objects, like those of a submission.
        valid: Box::new(|size| {
            let entry = r#"{"id":"pid","format":"vc+sd-jwt","path":"$[0]"}"#;
            let entries = vec![entry; size / (entry.len() + 1)];
            format!("[{}]", entries.join(",")).into_bytes()
        }),
        worst: wrapped(JSON, |size, fill| fill(size)),
    }
}

pub(super) fn cbor() -> Row {
    Row {
        name: "CBOR",
        full: 24 * 1024,
        read: Box::new(|document| {
            let _ = is_strict_cbor(document);
        }),
        // The most work for a reader: a map of unsorted numbers, as many as accepted.
        valid: Box::new(|size| CBOR.iter().find(|(title, _)| *title == DENSE).unwrap().1(size)),
        worst: wrapped(CBOR, |size, fill| fill(size)),
    }
}

pub(super) fn form() -> Row {
    let repeated = |part: &'static str| -> Box<dyn Fn(usize) -> Vec<u8>> {
        Box::new(move |size| part.repeat(size / part.len()).into_bytes())
    };
    Row {
        name: "form",
        full: BODY,
        read: Box::new(|body| {
            let body = std::str::from_utf8(body).unwrap();
            assert!(form::pairs(body).all(|pair| pair.is_err() || pair.is_ok()));
        }),
        valid: Box::new(|size| {
            let token = "eyJhbGciOiJFUzI1NiJ9.".repeat(size / 21);
            format!("vp_token={token}&state=abc%2B&presentation_submission=%7B%7D").into_bytes()
        }),
        worst: vec![
            ("names alone", repeated("a&")),
            ("names and values", repeated("a=1&")),
            ("nothing between ampersands", repeated("&")),
            ("equals signs", repeated("=")),
            ("percent-encoded letters", repeated("%61")),
            ("percent-encoded text", repeated("%f4%8f%bf%bf")),
            ("plus signs", repeated("+")),
            (
                "one wrong escape at the end",
                Box::new(|size| [&vec![b'+'; size][..], b"%"].concat()),
            ),
        ],
    }
}

pub(super) fn jwk() -> Row {
    let own = EcdhPrivateKey::from_scalar(CoreCurve::P256, &[7; 32]).unwrap();
    let key = SigningKey::from_seed(Curve::P256, "key").public_jwk();
    let with = move |member: &str, value: &str| {
        let mut text = key.to_string();
        text.insert_str(1, &format!("\"{member}\":{value},"));
        text.into_bytes()
    };
    let valid = with.clone();
    let inside = |size: usize, fill: fn(usize) -> Vec<u8>| {
        let mut text = fill(size);
        if text.first() == Some(&b'{') {
            return text;
        }
        text.splice(..0, *b"{\"kty\":\"EC\",\"crv\":");
        text.push(b'}');
        text
    };
    Row {
        name: "JWK",
        // The only JWK from a stranger is in the header of a JWE. It is limited by the header's
        // length, and is for key agreement.
        full: MAX_JWE_HEADER_CHARS,
        read: Box::new(move |text| {
            if let Ok(jwk) = Jwk::parse(text) {
                PROVIDER.agreement.ecdh(&own, &jwk.key).unwrap();
            }
        }),
        valid: Box::new(move |size| valid("x5c", &object(size))),
        worst: wrapped(JSON, inside),
    }
}
