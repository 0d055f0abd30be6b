//! A page's answer, as the relay route receives it.

use idgate_testkit::keys::Curve;
use idgate_testkit::openid4vp::{Answer, Request};
use idgate_testkit::samples;
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use serde_json::{Map, Value, json};

use crate::hostile::NOW_MS;
use crate::hostile::answer::large_wallet;
use crate::hostile::browser::{ORIGINS, PROTOCOL, Page, sealed};
use crate::hostile::cost::encoded::{JSON, wrapped};
use crate::hostile::cost::{Generator, Row};

/// A body has 1 MiB at most, and a presentation 512 KiB; the good answer has two of them.
const FULL: usize = 960 * 1024;

const ELSEWHERE: &str = "https://shop.example.evil.example";

fn page() -> Page {
    Page::asking(&["picture"], &["portrait"])
}

/// An answer for a page on that origin, of about this many bytes when encrypted.
fn answer(request: &Request, size: usize) -> Answer {
    large_wallet(size / 4 * 3).answer_1_0(request, NOW_MS).unwrap()
}

fn relayed(answer: &Answer) -> Vec<u8> {
    answer.credential(PROTOCOL).to_string().into_bytes()
}

fn enveloped(data: &[u8]) -> Vec<u8> {
    let head = format!("{{\"protocol\":\"{PROTOCOL}\",\"data\":");
    [head.as_bytes(), data, b"}"].concat()
}

/// As a JSON string.
fn quoted(text: &[u8]) -> Vec<u8> {
    Value::from(String::from_utf8_lossy(text)).to_string().into_bytes()
}

pub(super) fn envelope() -> Row {
    let mut worst = wrapped(JSON, |size, fill| fill(size));
    worst.extend(wrapped(JSON, |size, fill| enveloped(&fill(size))));
    // Escapes make it up to twice as long.
    worst.extend(wrapped(JSON, |size, fill| enveloped(&quoted(&fill(size / 2)))));
    worst.extend(wrapped(JSON, |size, fill| {
        enveloped(&[b"{\"response\":\"a.b.c.d.e\",\"other\":", &*fill(size), b"}"].concat())
    }));
    row("answer through a browser", worst)
}

pub(super) fn payload() -> Row {
    let request = page().passed_on(ORIGINS[0]);
    let small = answer(&request, 0);
    let whole = small.clone();
    let mut worst = wrapped(JSON, move |size, fill| sealed(&whole, &fill(size / 4 * 3)));
    worst.extend(wrapped(JSON, move |size, fill| {
        let presented = [b"{\"vp_token\":", &*fill(size / 4 * 3), b"}"].concat();
        sealed(&small, &presented)
    }));
    row("encrypted in it", worst)
}

/// Genuine credentials, for a page that is not one of five, or for the last of them.
pub(super) fn origins() -> Row {
    let page = page();
    let from = |origin: &str| -> Generator {
        let request = page.passed_on(origin);
        Box::new(move |size| relayed(&answer(&request, size)))
    };
    let long = page.passed_on(ELSEWHERE);
    let proof: Generator = Box::new(move |size| {
        let request = &long;
        let holder = samples::holder_key(Curve::P256);
        let identity = samples::identity(&holder, NOW_MS).issue(&samples::issuer_key(Curve::P256));
        let presentation = Presentation::whole(&identity);
        let mut proof = KbJwt::new(&holder, &presentation, &request.parties(), NOW_MS);
        proof.set("other", "a".repeat(size / 4));
        let shown = json!([present(&presentation, Some(&proof.sign()))]);
        let vp_token = ["pid", "mdl"].map(|id| (String::from(id), shown.clone()));
        relayed(&Answer::new(request, Map::from_iter(vp_token)))
    });
    row(
        "origins",
        vec![
            ("from the last of five", from(ORIGINS[4])),
            ("from elsewhere", from(ELSEWHERE)),
            ("a long proof from elsewhere", proof),
        ],
    )
}

/// An mdoc does not say for which of five pages it is.
pub(super) fn mdoc() -> Row {
    let page = Page::asking(&[], &["portrait"]);
    let from = |origin: &str| -> Generator {
        let request = page.passed_on(origin);
        Box::new(move |size| relayed(&answer(&request, size)))
    };
    let worst =
        vec![("from the last of five", from(ORIGINS[4])), ("from elsewhere", from(ELSEWHERE))];
    row_of("origins of an mdoc", page, worst)
}

fn row(name: &'static str, worst: Vec<(&'static str, Generator)>) -> Row {
    row_of(name, page(), worst)
}

fn row_of(name: &'static str, page: Page, worst: Vec<(&'static str, Generator)>) -> Row {
    let first = page.passed_on(ORIGINS[0]);
    assert!(page.claims(&relayed(&answer(&first, 20_000))).is_some());
    Row {
        name,
        full: FULL,
        read: Box::new(move |body| drop(page.claims(body))),
        valid: Box::new(move |size| relayed(&answer(&first, size))),
        worst,
    }
}
