//! ISO/IEC TS 18013-7 Annex C through the browser of a page: good answers, the mdoc table, and
//! changes to the envelope by a wallet or a page.

// The table runs in tests only.
#![allow(clippy::expect_used, clippy::indexing_slicing)]

use idgate_core::DcApi;
use idgate_testkit::codec::{base64url, from_base64url};
use idgate_testkit::iso_mdoc::{IsoMdocAnswer, IsoMdocRequest, PROTOCOL};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{Cbor, DeviceProof};
use idgate_testkit::request::AuthorizationRequest;
use serde_json::{Value, json};

use super::mdoc;
use super::openid4vp::{People, asking};
use super::page::{Made, OTHER, Page, SHOP};
use super::ways::{BY_REFERENCE, BY_VALUE, HAIP, Way};
use crate::mdoc_tamper::{self, Authority, Scenario, mdl_request};
use crate::tamper::Expected;
use crate::tamper::scenario::NOW_MS;

const WAYS: [(Way, DcApi); 4] = [
    (BY_VALUE, DcApi::Unsigned),
    (BY_REFERENCE, DcApi::Signed),
    (HAIP, DcApi::Signed),
    (HAIP, DcApi::Multisigned),
];

/// Every table.
pub(super) fn all() -> Vec<Value> {
    [good(), ROWS.iter().map(|row| row.case().0).collect(), device_responses()].concat()
}

fn made(way: Way, dc_api: DcApi) -> Made {
    Made { way, dc_api, livemode: false, created_ms: NOW_MS, iso_mdoc: true }
}

fn good() -> Vec<Value> {
    let each = WAYS.into_iter().map(|(way, dc_api)| {
        let people = People::new();
        let page = Page::new(&people.entries, made(way, dc_api), asking(&["mdl"]));
        let answer = people.wallet.answer_iso_mdoc(&page.iso_mdoc(SHOP)).expect("it fits");
        let title = format!("good, {}, {PROTOCOL}, {dc_api:?}", way.name);
        page.record(&title, &people.trust, &answer.credential().to_string())
    });
    each.collect()
}

/// Every row of the mdoc table except those about its text in `vp_token`, which does not exist
/// here.
fn device_responses() -> Vec<Value> {
    rows().filter_map(device_response).collect()
}

fn device_response(row: &mdoc_tamper::Row) -> Option<Value> {
    let authority = Authority::new(NOW_MS);
    let made = made(HAIP, DcApi::Unsigned);
    let page = Page::new(&[mdoc::entry(&authority)], made, mdl_request());
    let request = page.iso_mdoc(SHOP);
    let parties = AuthorizationRequest::default();
    let mut scenario = Scenario::answering(&authority, parties, NOW_MS);
    scenario.transcript = request.transcript();
    (row.change)(&mut scenario);
    let plaintext = from_base64url(&scenario.text())?;
    let answer = IsoMdocAnswer::new(&request, Vec::new()).credential_of(&plaintext);
    let title = format!("{PROTOCOL}, mdoc, {}", row.title);
    Some(page.record(&title, &mdoc::entries(&authority), &answer.to_string()))
}

/// The rows of `draft` that mean the same here, and those of this protocol alone.
fn rows() -> impl Iterator<Item = &'static mdoc_tamper::Row> {
    let is_own = |row: &mdoc_tamper::Row| OWN.iter().any(|own| own.title == row.title);
    mdoc_tamper::rows().filter(move |row| !is_own(row)).chain(OWN)
}

/// One response answers one request, so nothing else fits in it. Its size is counted in bytes, not
/// as text.
const OWN: &[mdoc_tamper::Row] = &[
    mdoc_tamper::Row::refused("a document of another type behind it", "doc_type_mismatch", |s| {
        s.response = |response| beside(response, |documents, other| documents.push(other));
    }),
    mdoc_tamper::Row::refused("a document of another type before it", "doc_type_mismatch", |s| {
        s.response = |response| beside(response, |documents, other| documents.insert(0, other));
    }),
    mdoc_tamper::Row::refused("more than 512 KiB", "limit_exceeded", |s| {
        s.bytes = |bytes| bytes.resize(512 * 1024 + 1, 0);
    }),
];

fn beside(response: &mut Cbor, put: fn(&mut Vec<Cbor>, Cbor)) {
    if let Cbor::Array(documents) = response.at("documents") {
        let mut other = documents[0].clone();
        other.set("docType", "another");
        put(documents, other);
    }
}

/// An answer with one change.
struct Row {
    title: &'static str,
    expected: Expected,
    answer: fn(&Desk) -> Value,
}

const fn row(title: &'static str, expected: Expected, answer: fn(&Desk) -> Value) -> Row {
    Row { title, expected, answer }
}

/// It does not decrypt, so it settles nothing.
const fn closed(title: &'static str, answer: fn(&Desk) -> Value) -> Row {
    row(title, Expected::Transport("decryption_failed"), answer)
}

const fn device(title: &'static str, answer: fn(&Desk) -> Value) -> Row {
    row(title, Expected::Refused("device_auth_invalid"), answer)
}

const ROWS: &[Row] = &[
    row("the second origin", Expected::Verified, |desk| desk.answer(OTHER).credential()),
    row("data as text", Expected::Verified, |desk| {
        let mut given = desk.answer(SHOP).credential();
        given["data"] = given["data"].to_string().into();
        given
    }),
    row("further members next to enc and cipherText", Expected::Verified, |desk| {
        desk.reshaped(|response| element(response, 1).set("x", 1))
    }),
    row(
        "the person declines",
        Expected::ErrorNoted,
        |_| json!({ "protocol": PROTOCOL, "data": { "error": "access_denied" } }),
    ),
    row("a protocol of Apple's drafts", Expected::Transport("invalid_response"), |desk| {
        let mut given = desk.answer(SHOP).credential();
        given["protocol"] = "org.iso.mdoc".into();
        given
    }),
    row(
        "no response",
        Expected::Transport("invalid_response"),
        |_| json!({ "protocol": PROTOCOL, "data": {} }),
    ),
    closed("a copied page", |desk| desk.answer("https://shop.example.evil").credential()),
    closed("a page at another port", |desk| desk.answer("https://shop.example:8443").credential()),
    closed("an origin with a slash at its end", |desk| {
        desk.answer("https://shop.example/").credential()
    }),
    closed("encrypted to another key", |desk| {
        let mut answer = desk.answer(SHOP);
        answer.sealing.recipient = SigningKey::from_seed(Curve::P256, "another").public_sec1();
        answer.credential()
    }),
    closed("encrypted for nothing", |desk| {
        let mut answer = desk.answer(SHOP);
        answer.sealing.info.clear();
        answer.credential()
    }),
    closed("not encrypted", |desk| {
        let plain = base64url(&desk.answer(SHOP).device_response().encode());
        json!({ "protocol": PROTOCOL, "data": { "response": plain } })
    }),
    closed("by the name of another protocol that was offered", |desk| {
        let mut given = desk.answer(SHOP).credential();
        given["protocol"] = "openid4vp-v1-unsigned".into();
        given
    }),
    closed("another name in the response", |desk| {
        desk.reshaped(|response| *element(response, 0) = "dcAPI".into())
    }),
    closed("a response of three", |desk| {
        desk.reshaped(|response| {
            if let Cbor::Array(elements) = response {
                elements.push(Cbor::Null);
            }
        })
    }),
    closed("enc compressed", |desk| {
        desk.reshaped(|response| {
            if let Cbor::Bytes(point) = element(response, 1).at("enc") {
                point.truncate(33);
                point[0] = 2;
            }
        })
    }),
    closed("enc not on the curve", |desk| {
        desk.reshaped(|response| {
            if let Cbor::Bytes(point) = element(response, 1).at("enc") {
                point[64] ^= 1;
            }
        })
    }),
    closed("a changed ciphertext", |desk| {
        desk.reshaped(|response| {
            if let Cbor::Bytes(sealed) = element(response, 1).at("cipherText") {
                sealed[0] ^= 1;
            }
        })
    }),
    closed("padded base64url", |desk| {
        let mut given = desk.answer(SHOP).credential();
        let padded = format!("{}=", given["data"]["response"].as_str().unwrap_or_default());
        given["data"]["response"] = padded.into();
        given
    }),
    device("signed for another page than encrypted for", |desk| {
        let mut answer = desk.answer(SHOP);
        answer.transcript = desk.request(OTHER).transcript();
        answer.credential()
    }),
    device("a MAC for the key that it is encrypted to", |desk| {
        let mut answer = desk.answer(SHOP);
        answer.proof = DeviceProof::Mac(answer.sealing.recipient.clone());
        answer.credential()
    }),
    row("no document", Expected::Refused("malformed_presentation"), |desk| {
        let mut answer = desk.answer(SHOP);
        answer.documents.clear();
        answer.credential()
    }),
    row("one document twice", Expected::Refused("malformed_presentation"), |desk| {
        let mut answer = desk.answer(SHOP);
        answer.documents.extend_from_within(..);
        answer.credential()
    }),
];

fn element(response: &mut Cbor, at: usize) -> &mut Cbor {
    match response {
        Cbor::Array(elements) => &mut elements[at],
        other => other,
    }
}

impl Row {
    /// The case and its expected outcome.
    fn case(&self) -> (Value, Expected) {
        let desk = Desk::new();
        let title = format!("{PROTOCOL}, {}", self.title);
        let answer = (self.answer)(&desk).to_string();
        (desk.page.record(&title, &desk.people.trust, &answer), self.expected)
    }
}

/// A page on one of two origins, and the wallet that answers.
struct Desk {
    people: People,
    page: Page,
}

impl Desk {
    fn new() -> Self {
        let people = People::new();
        let made = made(HAIP, DcApi::Unsigned);
        let page = Page::new(&people.entries, made, asking(&["mdl"]));
        Self { people, page }
    }

    fn request(&self, origin: &str) -> IsoMdocRequest {
        self.page.iso_mdoc(origin)
    }

    /// The wallet's answer to a page on that origin.
    fn answer(&self, origin: &str) -> IsoMdocAnswer {
        self.people.wallet.answer_iso_mdoc(&self.request(origin)).expect("it fits")
    }

    /// A good answer with a changed EncryptedResponse.
    fn reshaped(&self, change: fn(&mut Cbor)) -> Value {
        let answer = self.answer(SHOP);
        let mut response = answer.encrypted(&answer.device_response().encode());
        change(&mut response);
        let response = base64url(&response.encode());
        json!({ "protocol": PROTOCOL, "data": { "response": response } })
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases_of;
    use super::super::page::all_hold;
    use super::*;

    #[test]
    fn good_answers_are_verified_and_tampered_ones_give_their_code() {
        let expected = WAYS.iter().map(|_| Expected::Verified);
        let expected: Vec<_> = expected.chain(ROWS.iter().map(|row| row.expected)).collect();
        all_hold(&cases_of("iso_mdoc")[..expected.len()], expected);
    }

    fn titled(case: &Value) -> &str {
        case["title"].as_str().unwrap_or_default()
    }

    /// The rows that change the text in `vp_token`.
    const ABOUT_TEXT: [&str; 3] =
        ["padded base64url", "a line break in base64url", "an SD-JWT in place of the response"];

    #[test]
    fn every_row_of_mdoc_gives_its_code() {
        let (left_out, rows): (Vec<_>, Vec<_>) =
            rows().partition(|row| ABOUT_TEXT.contains(&row.title));
        assert_eq!(left_out.len(), ABOUT_TEXT.len());
        let cases = &cases_of("iso_mdoc")[WAYS.len() + ROWS.len()..];
        assert!(cases.iter().zip(&rows).all(|(case, row)| titled(case).ends_with(row.title)));
        all_hold(cases, rows.iter().map(|row| row.expected));
    }
}
