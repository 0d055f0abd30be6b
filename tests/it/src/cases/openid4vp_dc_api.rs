//! OpenID4VP 1.0 and HAIP through the browser of a page: good answers for each protocol, the tables
//! of both formats, every forgery of the sample wallet, and changes that only a page can make.

// The table runs in tests only.
#![allow(clippy::expect_used, clippy::indexing_slicing)]

use idgate_core::DcApi;
use idgate_core::session::DcApiProtocol;
use idgate_testkit::openid4vp::{Answer, Forgery, Request};
use serde_json::{Value, json};

use super::openid4vp::{People, asking};
use super::page::{Made, OTHER, Page, SHOP};
use super::ways::{BY_REFERENCE, BY_VALUE, HAIP, Way};
use super::{mdoc, trusted};
use crate::dcql_tamper::{self, DcqlRow};
use crate::mdoc_tamper::{self, Authority, mdl_request, v1_0};
use crate::tamper::scenario::NOW_MS;
use crate::tamper::{self, Expected};

const UNSIGNED: DcApiProtocol = DcApiProtocol::Unsigned;
const PROTOCOLS: [(Way, DcApi); 5] = [
    (BY_VALUE, DcApi::Unsigned),
    (BY_REFERENCE, DcApi::Signed),
    (BY_REFERENCE, DcApi::Multisigned),
    (HAIP, DcApi::Signed),
    (HAIP, DcApi::Multisigned),
];

/// Every table.
pub(super) fn all() -> Vec<Value> {
    [good(), rows(), forgeries(), sd_jwt_vc(), device_responses()].concat()
}

fn made(way: Way, dc_api: DcApi) -> Made {
    Made { way, dc_api, livemode: false, created_ms: NOW_MS, iso_mdoc: false }
}

/// Each protocol with each format and with both.
fn good() -> Vec<Value> {
    // The first case of each format is committed, so each has another request form.
    let asked: [(&[&str], usize); 3] = [(PID, 0), (MDL, 1), (BOTH, 4)];
    let all = asked.into_iter().flat_map(|(asked, first)| {
        let mut ways = PROTOCOLS;
        ways.rotate_left(first);
        ways.map(|(way, dc_api)| (asked, way, dc_api))
    });
    all.map(|(asked, way, dc_api)| {
        let people = People::new();
        let page = Page::new(&people.entries, made(way, dc_api), asking(asked));
        let protocol = dc_api.protocols().first().copied().unwrap_or(UNSIGNED);
        let request = page.passed_on(protocol, SHOP);
        let answer = people.wallet.answer_1_0(&request, NOW_MS).expect("fitting credentials");
        let answer = answer.credential(protocol.name()).to_string();
        page.record(&format!("good, {}, {protocol}, {asked:?}", way.name), &people.trust, &answer)
    })
    .collect()
}

fn forgeries() -> Vec<Value> {
    let forgeries = [Forgery::SD_JWT_VC, Forgery::MDOC, Forgery::EVERY].concat();
    let forged = forgeries.into_iter().map(|forgery| {
        let desk = Desk::new(&["pid", "mdl"]);
        let answer = desk.forged(&desk.request(SHOP), forgery);
        desk.record(&format!("browser, haip, {forgery:?}"), &relayed(&answer))
    });
    forged.collect()
}

/// Every row of the SD-JWT VC table about the presentation.
fn sd_jwt_vc() -> Vec<Value> {
    dcql_tamper::presentation_rows().iter().map(sd_jwt_vc_row).collect()
}

fn sd_jwt_vc_row(row: &DcqlRow) -> Value {
    let mut scenario = dcql_tamper::good(NOW_MS);
    row.change(&mut scenario);
    let scenario_made = &scenario.made;
    let made = Made {
        livemode: true,
        created_ms: scenario_made.created_ms(),
        ..made(BY_VALUE, DcApi::Unsigned)
    };
    let entries = [tamper::entry(&scenario_made.trust)];
    let page = Page::new(&entries, made, scenario_made.request.clone());
    let answer = dcql_tamper::presented(&scenario, &page.passed_on(UNSIGNED, SHOP));
    let trust = json!([trusted(&scenario_made.trust)]);
    page.record(&format!("browser, {}", row.title), &trust, &relayed(&answer))
}

/// Every row of the mdoc table.
fn device_responses() -> Vec<Value> {
    v1_0::rows().map(device_response).collect()
}

fn device_response(row: &mdoc_tamper::Row) -> Value {
    let authority = Authority::new(NOW_MS);
    let page = Page::new(&[mdoc::entry(&authority)], made(HAIP, DcApi::Unsigned), mdl_request());
    let request = page.passed_on(UNSIGNED, SHOP);
    let answer = v1_0::presented(&authority, &request, row.change, NOW_MS);
    let title = format!("browser, mdoc, {}", row.title);
    page.record(&title, &mdoc::entries(&authority), &relayed(&answer))
}

/// The answer that the browser gives to the page.
fn relayed(answer: &Answer) -> String {
    answer.credential(UNSIGNED.name()).to_string()
}

/// A request, and an answer with one change.
struct Row {
    title: &'static str,
    asked: &'static [&'static str],
    expected: Expected,
    answer: fn(&Desk) -> String,
}

const BOTH: &[&str] = &["pid", "mdl"];
const PID: &[&str] = &["pid"];
const MDL: &[&str] = &["mdl"];

const fn row(
    title: &'static str,
    asked: &'static [&'static str],
    expected: Expected,
    answer: fn(&Desk) -> String,
) -> Row {
    Row { title, asked, expected, answer }
}

const fn invalid(title: &'static str, answer: fn(&Desk) -> String) -> Row {
    row(title, PID, Expected::Transport("invalid_response"), answer)
}

const fn audience(title: &'static str, answer: fn(&Desk) -> String) -> Row {
    row(title, PID, Expected::Refused("audience_mismatch"), answer)
}

const fn device(
    title: &'static str,
    asked: &'static [&'static str],
    answer: fn(&Desk) -> String,
) -> Row {
    row(title, asked, Expected::Refused("device_auth_invalid"), answer)
}

const ROWS: &[Row] = &[
    row("the second origin", BOTH, Expected::Verified, |desk| relayed(&desk.answer_from(OTHER))),
    row("data as text", BOTH, Expected::Verified, |desk| {
        let mut given = desk.credential();
        given["data"] = given["data"].to_string().into();
        given.to_string()
    }),
    row("members of the browser", PID, Expected::Verified, |desk| {
        let mut given = desk.credential();
        given["id"] = "".into();
        given["type"] = "digital".into();
        given["data"]["state"] = "of nobody".into();
        given.to_string()
    }),
    audience("a copied page, vc+sd-jwt", |desk| {
        relayed(&desk.answer_from("https://shop.example.evil"))
    }),
    device("a copied page, mso_mdoc", MDL, |desk| {
        relayed(&desk.answer_from("https://shop.example.evil"))
    }),
    audience("a page at another port", |desk| {
        relayed(&desk.answer_from("https://shop.example:8443"))
    }),
    device("two pages in one answer", BOTH, |desk| {
        let (mut one, other) = (desk.answer_from(SHOP), desk.answer_from(OTHER));
        one.parameters["vp_token"]["mdl"] = other.parameters["vp_token"]["mdl"].clone();
        relayed(&one)
    }),
    audience("aud without its prefix", |desk| desk.answer_for("https://shop.example")),
    audience("aud with a slash at its end", |desk| desk.answer_for("origin:https://shop.example/")),
    audience("aud in capitals", |desk| desk.answer_for("origin:https://SHOP.example")),
    audience("aud with the default port", |desk| {
        desk.answer_for("origin:https://shop.example:443")
    }),
    audience("aud with an old prefix", |desk| desk.answer_for("web-origin:https://shop.example")),
    audience("aud of a link", |desk| {
        desk.answer_for("x509_hash:Uvo3HtuIxuhC92rShpgqcT3YXwrqRxWEviRiA0OZszk")
    }),
    audience("no origin in aud", |desk| desk.answer_for("origin:")),
    row("the person declines", PID, Expected::ErrorNoted, |desk| {
        relayed(&Answer::error(&desk.request(SHOP), "access_denied", false))
    }),
    row("the person declines, encrypted", PID, Expected::ErrorNoted, |desk| {
        relayed(&Answer::error(&desk.request(SHOP), "access_denied", true))
    }),
    invalid("a protocol that was not offered", |desk| {
        desk.with("protocol", "openid4vp-v1-signed".into())
    }),
    invalid("a protocol of others", |desk| desk.with("protocol", "org-iso-mdoc".into())),
    invalid("no protocol", |desk| desk.with("protocol", Value::Null)),
    invalid("no data", |desk| desk.with("data", Value::Null)),
    invalid("data an array", |desk| desk.with("data", json!(["a.b.c.d.e"]))),
    invalid("data without an answer", |desk| desk.with("data", json!({}))),
    invalid("an empty response", |desk| desk.with("data", json!({ "response": "" }))),
    invalid("a plain answer", |desk| {
        let parameters = desk.answer_from(SHOP).parameters;
        desk.with("data", parameters.into())
    }),
    invalid("a response and an error", |desk| {
        let mut given = desk.credential();
        given["data"]["error"] = "access_denied".into();
        given.to_string()
    }),
    invalid("not JSON", |_| "response=a.b.c.d.e".into()),
    invalid("nothing", |_| String::new()),
    row("a response that is not a JWE", PID, Expected::Transport("decryption_failed"), |desk| {
        desk.with("data", json!({ "response": "a.b.c.d.e" }))
    }),
];

fn rows() -> Vec<Value> {
    ROWS.iter().map(|row| row.case().0).collect()
}

impl Row {
    /// The case and its expected outcome.
    fn case(&self) -> (Value, Expected) {
        let desk = Desk::new(self.asked);
        let case = desk.record(&format!("browser, {}", self.title), &(self.answer)(&desk));
        (case, self.expected)
    }
}

/// A page under HAIP, and the wallet that answers.
struct Desk {
    people: People,
    page: Page,
}

impl Desk {
    fn new(asked: &[&str]) -> Self {
        let people = People::new();
        let page = Page::new(&people.entries, made(HAIP, DcApi::Unsigned), asking(asked));
        Self { people, page }
    }

    fn request(&self, origin: &str) -> Request {
        self.page.passed_on(UNSIGNED, origin)
    }

    fn forged(&self, request: &Request, forgery: Forgery) -> Answer {
        self.people.wallet.forge_1_0(request, forgery, NOW_MS).expect("fitting credentials")
    }

    /// The wallet's answer to a page on that origin.
    fn answer_from(&self, origin: &str) -> Answer {
        self.forged(&self.request(origin), Forgery::None)
    }

    /// The wallet's answer for this audience.
    fn answer_for(&self, audience: &str) -> String {
        let mut request = self.request(SHOP);
        request.client_id = audience.into();
        relayed(&self.forged(&request, Forgery::None))
    }

    /// A good answer.
    fn credential(&self) -> Value {
        self.answer_from(SHOP).credential(UNSIGNED.name())
    }

    /// The same with one member changed. Null removes it.
    fn with(&self, member: &str, value: Value) -> String {
        let mut given = self.credential();
        if let Some(members) = given.as_object_mut() {
            match value {
                Value::Null => drop(members.remove(member)),
                value => drop(members.insert(member.into(), value)),
            }
        }
        given.to_string()
    }

    fn record(&self, title: &str, answer: &str) -> Value {
        self.page.record(title, &self.people.trust, answer)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases_of;
    use super::super::page::all_hold;
    use super::*;

    #[test]
    fn good_answers_are_verified_and_those_altered_by_the_page_give_their_code() {
        let expected = [Expected::Verified; 3 * PROTOCOLS.len()].into_iter();
        let expected: Vec<_> = expected.chain(ROWS.iter().map(|row| row.expected)).collect();
        all_hold(&cases_of("openid4vp_dc_api")[..expected.len()], expected);
    }

    #[test]
    fn every_row_of_both_formats_gives_its_code() {
        let rows = dcql_tamper::presentation_rows();
        assert!(rows.len() >= 150, "{} rows", rows.len());
        let expected = rows.iter().map(|row| row.expected);
        let expected: Vec<_> = expected.chain(v1_0::rows().map(|row| row.expected)).collect();
        let cases = cases_of("openid4vp_dc_api");
        all_hold(&cases[cases.len() - expected.len()..], expected);
    }
}
