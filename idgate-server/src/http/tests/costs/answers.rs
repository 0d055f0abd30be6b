//! Wallets' answers, in a form and in JSON.

use idgate_testkit::codec::base64url;
use idgate_testkit::costs::worst::{self, Filling};
use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::wallet::{Body, Wallet};

use super::{FORM, Generator, JSON, Row, World, post, posts};

const FULL: usize = 448 * 1024;

/// A wallet whose credential has these values instead of the sample's.
pub(super) fn wallet_with(values: &[(&str, &str)]) -> Wallet {
    let holder = samples::holder_key(Curve::P256);
    let identity = samples::identity(&holder, SAMPLE_NOW_MS);
    let identity = values.iter().fold(identity, |made, (name, value)| made.sd(name, *value));
    Wallet::new(holder).with(identity.issue(&samples::issuer_key(Curve::P256)))
}

pub(super) fn response(session: &str) -> String {
    format!("/v1/oid4vp/response/{session}")
}

/// The most expensive texts.
fn dear_json() -> impl Iterator<Item = &'static Filling> {
    const DEAR: [&str; 6] = [
        "an array of ones",
        "objects of 16 members",
        "escaped names",
        "numbers at the edge of a double",
        "an escaped string",
        "white space",
    ];
    worst::JSON.iter().filter(|(title, _)| DEAR.contains(title))
}

fn answer(session: &str, body: &Body) -> Vec<u8> {
    post(&response(session), &body.content_type, &body.bytes)
}

/// A valid answer to a new session.
fn good(json: bool) -> Generator {
    Box::new(move |world, size| {
        let (session, link) = world.session(&["picture"]);
        let portrait = "p".repeat(size.saturating_sub(3000) / 4 * 3);
        let wallet = wallet_with(&[("picture", &portrait)]);
        let made = wallet.answer_uri(&link, SAMPLE_NOW_MS).unwrap();
        answer(&session, &if json { made.json_body() } else { made.form_body() })
    })
}

/// An answer to a new session that is valid except for its token.
fn good_but(token: fn(usize) -> String) -> Generator {
    let wallet = wallet_with(&[]);
    Box::new(move |world: &World, size| {
        let (session, link) = world.session(&["given_name"]);
        let mut parameters = wallet.answer_uri(&link, SAMPLE_NOW_MS).unwrap().parameters();
        parameters.insert("vp_token".into(), token(size).into());
        answer(&session, &Body::form(&parameters))
    })
}

pub(super) fn in_json(session: &str) -> Row {
    let path = response(session);
    let dear = dear_json().map(|(title, fill)| (*title, posts(&path, JSON, *fill)));
    let mut worst: Vec<(&str, Generator)> = dear.collect();
    worst.push(("ones to no session", posts(&response("x"), JSON, worst::JSON[0].1)));
    Row { name: "response, JSON", full: FULL, valid: good(true), status: 200, worst }
}

pub(super) fn in_a_form(session: &str) -> Row {
    let path = response(session);
    Row {
        name: "response, form",
        full: FULL,
        valid: good(false),
        status: 200,
        worst: vec![
            ("names alone", posts(&path, FORM, |size| "a&".repeat(size / 2).into_bytes())),
            (
                "escapes",
                posts(&path, FORM, |size| {
                    format!("state=a&vp_token={}", "%61".repeat(size / 3)).into_bytes()
                }),
            ),
            ("tildes", good_but(|size| "~".repeat(size))),
            (
                "a header of zeros",
                good_but(|size| {
                    let header = base64url(&worst::JSON[0].1(size / 4 * 3));
                    format!("{header}.e30.{}~e30.e30.AA", "A".repeat(86))
                }),
            ),
            ("to no session", posts(&response("x"), FORM, |size| vec![b'a'; size])),
        ],
    }
}
