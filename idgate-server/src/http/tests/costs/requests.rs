//! Requests by reference, and encrypted answers to them.

use idgate_testkit::costs::worst;
use idgate_testkit::jwe::Enc;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::wallet::{JarAnswer, Transcript};

use super::answers::{response, wallet_with};
use super::{FORM, Generator, Row, World, post, posts};

pub(super) fn request_object(world: &World) -> Row {
    let (session, _) = world.session(&["given_name"]);
    let path = format!("/v1/oid4vp/request/{session}");
    Row {
        name: "request object",
        full: 60 * 1024,
        valid: posts(&path, FORM, |size| {
            let metadata = "m".repeat(size.saturating_sub(60));
            format!("wallet_nonce=abc&wallet_metadata={metadata}").into_bytes()
        }),
        status: 200,
        worst: vec![
            ("names alone", posts(&path, FORM, |size| "a&".repeat(size / 2).into_bytes())),
            (
                "escapes",
                posts(&path, FORM, |size| {
                    format!("wallet_metadata={}", "%61".repeat(size / 3)).into_bytes()
                }),
            ),
            ("unknown", posts("/v1/oid4vp/request/ses_0", FORM, |size| vec![b'a'; size])),
            (
                "a long nonce",
                posts(&path, FORM, |size| {
                    format!("wallet_nonce={}", "a".repeat(size)).into_bytes()
                }),
            ),
        ],
    }
}

/// An answer of about this many bytes, in the form that wallets send.
fn sized(request: &JarRequest, size: usize) -> String {
    let portrait = "p".repeat(size.saturating_sub(3000) / 16 * 9);
    let wallet = wallet_with(&[("picture", &portrait)]);
    let answer = wallet.answer_jar(request, Transcript::OpenId4Vp, false, SAMPLE_NOW_MS);
    format!("response={}", answer.unwrap().jwe())
}

/// This plaintext, encrypted to the right key.
fn of(request: &JarRequest, plaintext: &[u8]) -> String {
    let encryption = JarAnswer::encryption(request, Enc::A128Gcm, "wallet");
    let length = plaintext.len() / 4 * 3;
    format!("response={}", encryption.encrypt(&plaintext[..length]).unwrap().join("."))
}

/// Posts the body from `make` to a new session.
fn encrypted(make: fn(&JarRequest, usize) -> String) -> Generator {
    Box::new(move |world, size| {
        let (session, link) = world.session(&["picture"]);
        let jwt = world.get(&format!("/v1/oid4vp/request/{session}"));
        let did = world.json("/.well-known/did.json");
        let link = JarLink::parse(&link).unwrap();
        let request = JarRequest::verify(&link, &jwt, &did, SAMPLE_NOW_MS).unwrap();
        post(&response(&session), FORM, make(&request, size).as_bytes())
    })
}

pub(super) fn response_jwe(world: &World) -> Row {
    let (session, _) = world.session(&["given_name"]);
    let path = response(&session);
    Row {
        name: "response, JWE",
        full: 448 * 1024,
        valid: encrypted(sized),
        status: 200,
        worst: vec![
            ("an array of ones", encrypted(|request, size| of(request, &worst::JSON[0].1(size)))),
            (
                "a wrong tag",
                encrypted(|request, size| {
                    let text = of(request, &vec![b' '; size]);
                    format!("{}{}", &text[..text.len() - 22], "A".repeat(22))
                }),
            ),
            (
                "dots",
                posts(&path, FORM, |size| format!("response={}", ".".repeat(size)).into_bytes()),
            ),
            (
                "a header of all bytes",
                posts(&path, FORM, |size| {
                    format!("response={}..AA.AA.AA", "A".repeat(size)).into_bytes()
                }),
            ),
        ],
    }
}
