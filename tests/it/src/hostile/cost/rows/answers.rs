//! A wallet's whole answer, as the response endpoint receives it.

use idgate_core::Answer;
use idgate_core::crypto::counting::PROVIDER;
use idgate_core::crypto::{ContentEncryption, Curve as CoreCurve, EcdhPrivateKey};
use idgate_core::jose::JweRecipient;
use idgate_testkit::codec::from_base64url;
use idgate_testkit::jwe::{Enc, Encryption};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::wallet::Body;

use crate::hostile::answer::Desk;
use crate::hostile::cost::encoded::{JSON, wrapped};
use crate::hostile::cost::{Generator, Row};

/// A body has 1 MiB at most, and a presentation 512 KiB; the good answer has two of them.
const FULL: usize = 960 * 1024;

fn row(
    name: &'static str,
    content_type: &'static str,
    valid: Generator,
    worst: Vec<(&'static str, Generator)>,
) -> Row {
    let desk = Desk::new();
    let read = move |body: &[u8]| drop(desk.claims(content_type, body));
    Row { name, full: FULL, read: Box::new(read), valid, worst }
}

fn good(size: usize) -> (Desk, idgate_testkit::wallet::Answer) {
    let desk = Desk::new();
    let answer = desk.answer(size);
    (desk, answer)
}

fn repeated(head: &'static str, part: &'static str) -> Generator {
    Box::new(move |size| format!("{head}{}", part.repeat(size / part.len())).into_bytes())
}

/// A form with `what` as this parameter of an otherwise good answer.
fn form_with(parameter: &'static str, size: usize, what: &[u8]) -> Vec<u8> {
    let mut parameters = good(0).1.parameters();
    let what = String::from_utf8(what[..what.len().min(size)].to_vec()).unwrap_or_default();
    parameters.insert(parameter.into(), what.into());
    Body::form(&parameters).bytes
}

pub(super) fn form() -> Row {
    let mut worst = vec![
        ("names alone", repeated("state=a", "&a")),
        ("percent-encoded letters", repeated("state=a&vp_token=", "%61")),
        ("a token of spaces", repeated("state=a&vp_token=", "+")),
    ];
    for parameter in ["vp_token", "presentation_submission"] {
        worst.extend(wrapped(JSON, move |size, fill| {
            // Percent-encoding makes it up to three times as long.
            form_with(parameter, size, &fill(size / 3))
        }));
    }
    let valid: Generator = Box::new(|size| good(size).1.form_body().bytes);
    row("answer, form", "application/x-www-form-urlencoded", valid, worst)
}

pub(super) fn json() -> Row {
    let mut worst = wrapped(JSON, |size, fill| fill(size));
    for parameter in ["vp_token", "presentation_submission", "other"] {
        worst.extend(wrapped(JSON, move |size, fill| {
            let mut body = good(0).1.json_body().bytes;
            body.pop();
            let member = [format!(",\"{parameter}2\":").as_bytes(), &fill(size), b"}"].concat();
            let text = String::from_utf8([body, member].concat()).unwrap();
            // Removes the other parameter of that name.
            let text = text.replace(&format!("\"{parameter}\":"), "\"x\":");
            text.replace(&format!("\"{parameter}2\":"), &format!("\"{parameter}\":")).into_bytes()
        }));
    }
    worst.push((
        "entries of a submission",
        Box::new(|size| {
            let (_, mut answer) = good(0);
            let entry = answer.presentation_submission["descriptor_map"][0].clone();
            let count = size / (entry.to_string().len() + 1);
            answer.presentation_submission["descriptor_map"] = vec![entry; count].into();
            answer.json_body().bytes
        }),
    ));
    worst.push((
        "presentations",
        Box::new(|size| {
            let (_, mut answer) = good(0);
            answer.presentations.extend(vec!["a".into(); size / 4]);
            answer.json_body().bytes
        }),
    ));
    let valid: Generator = Box::new(|size| good(size).1.json_body().bytes);
    row("answer, JSON", "application/json", valid, worst)
}

/// Encrypted to the session's key, which anyone who has seen the request can do.
pub(super) fn jwe() -> Row {
    let scalar = recipient().private_jwk()["d"].as_str().and_then(from_base64url).unwrap();
    let key = EcdhPrivateKey::from_scalar(CoreCurve::P256, &scalar).unwrap();
    let open = move |text: &[u8]| {
        let recipient = JweRecipient { key: &key, kid: "kid", enc: &ContentEncryption::ALL };
        let text = std::str::from_utf8(text).unwrap();
        let opened = recipient.open(&PROVIDER, text).map(|jwe| jwe.payload);
        opened.is_ok_and(|payload| {
            let response =
                Answer { to: "", content_type: Some("application/json"), body: &payload };
            response.check_syntax().is_ok()
        })
    };
    assert!(open(&encrypted(Enc::A128Gcm, &good(1000).1.json_body().bytes)));
    let mut worst = wrapped(JSON, |size, fill| encrypted(Enc::A128Gcm, &fill(size / 4 * 3)));
    worst.extend(wrapped(JSON, |size, fill| {
        let header = idgate_testkit::codec::base64url(&fill(5900));
        format!("{header}..AAAAAAAAAAAAAAAA.{}.{}", "A".repeat(size), "A".repeat(22)).into_bytes()
    }));
    for enc in Enc::ALL {
        worst.push((
            "a wrong tag",
            Box::new(move |size| {
                let mut text = encrypted(enc, &vec![b' '; size / 4 * 3]);
                let tag = text.len() - 22;
                text[tag] = if text[tag] == b'A' { b'B' } else { b'A' };
                text
            }),
        ));
    }
    worst.push(("dots", repeated("", ".")));
    Row {
        name: "JWE",
        full: FULL,
        read: Box::new(move |text| {
            open(text);
        }),
        valid: Box::new(|size| encrypted(Enc::A128Gcm, &good(size / 4 * 3).1.json_body().bytes)),
        worst,
    }
}

fn recipient() -> SigningKey {
    SigningKey::from_seed(Curve::P256, "session")
}

fn encrypted(enc: Enc, plaintext: &[u8]) -> Vec<u8> {
    let ephemeral = SigningKey::from_seed(Curve::P256, "ephemeral");
    let encryption = Encryption::new(&recipient().public_sec1(), "kid", enc, &ephemeral);
    encryption.encrypt(plaintext).unwrap().join(".").into_bytes()
}
