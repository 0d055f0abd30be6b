//! The tamper table as data for other languages: trust, a stored session, an answer to it, and the
//! expected outcome. `cases/*.json` has one case for each outcome, and the bindings run all of
//! them.

mod iso_mdoc;
mod mdoc;
mod openid4vp;
mod openid4vp_dc_api;
mod openid4vp_mdoc;
mod page;
mod transactions;
mod verdict;
mod ways;

use std::sync::LazyLock;

use idgate_testkit::codec::base64url;
use idgate_testkit::jwe::Enc;
use idgate_testkit::wallet::Body;
use serde_json::{Value, json};

use crate::dcql_tamper;
use crate::jar_tamper::{self, JarGateway, JarScenario};
use crate::tamper::scenario::{NOW_MS, Trust};
use crate::tamper::{self, Base, Gateway, InProcess, Outcome, Scenario};

/// Every case.
pub fn all() -> impl Iterator<Item = &'static Value> {
    TABLES.iter().flat_map(|(_, cases)| cases.iter())
}

/// A file of cases: its name and its cases, which are created once per test process.
pub type Table = (&'static str, LazyLock<Vec<Value>>);

/// Every file.
pub static TABLES: [Table; 8] = [
    ("sd_jwt_vc", LazyLock::new(sd_jwt_vc)),
    ("jar", LazyLock::new(jar)),
    ("mdoc", LazyLock::new(mdoc::all)),
    ("iso_mdoc", LazyLock::new(iso_mdoc::all)),
    ("openid4vp", LazyLock::new(openid4vp)),
    ("openid4vp_dc_api", LazyLock::new(openid4vp_dc_api::all)),
    ("openid4vp_mdoc", LazyLock::new(openid4vp_mdoc::all)),
    ("openid4vp_sd_jwt_vc", LazyLock::new(openid4vp_sd_jwt_vc)),
];

/// The cases in the file with that name.
#[cfg(test)]
fn cases_of(name: &str) -> &'static [Value] {
    TABLES.iter().find(|table| table.0 == name).map(|table| &**table.1).expect("a file of cases")
}

/// Request mode inline: every good presentation, and every row of the tamper table applied to the
/// first of them.
pub fn sd_jwt_vc() -> Vec<Value> {
    let good = Base::ALL.map(|base| (format!("good, {base:?}"), Scenario::good(base, NOW_MS)));
    let changed = tamper::rows().into_iter().map(|row| {
        let mut scenario = Scenario::good(Base::Flat, NOW_MS);
        (row.change)(&mut scenario);
        (row.title.to_owned(), scenario)
    });
    let all = good.into_iter().chain(changed);
    all.map(|(title, scenario)| {
        record(&title, InProcess::default(), |gateway| tamper::run(gateway, &scenario))
    })
    .collect()
}

/// Request mode jar: a good answer with each encryption, and every row of its tamper table.
pub fn jar() -> Vec<Value> {
    let good = Enc::ALL
        .map(|enc| (format!("good, {}", enc.name()), JarScenario::good(Base::Flat, enc, NOW_MS)));
    let changed = jar_tamper::rows().into_iter().map(|row| {
        let mut scenario = JarScenario::good(Base::Flat, Enc::A256Gcm, NOW_MS);
        (row.change)(&mut scenario);
        (row.title.to_owned(), scenario)
    });
    let all = good.into_iter().chain(changed);
    all.map(|(title, scenario)| {
        record(&title, InProcess::jar(), |gateway| jar_tamper::run(gateway, &scenario))
    })
    .collect()
}

/// OpenID4VP 1.0: good answers to each request form, every forgery, and transaction data.
pub fn openid4vp() -> Vec<Value> {
    [openid4vp::all(), transactions::all()].concat()
}

/// OpenID4VP 1.0: every row of its tamper table, plain and encrypted.
pub fn openid4vp_sd_jwt_vc() -> Vec<Value> {
    let ways = [("plain", false), ("encrypted", true)].into_iter();
    ways.flat_map(|(way, encrypted)| {
        dcql_tamper::rows(encrypted).into_iter().map(move |row| {
            let mut scenario = dcql_tamper::good(NOW_MS);
            row.change(&mut scenario);
            record(&format!("1.0, {way}, {}", row.title), InProcess::v1_0(encrypted), |gateway| {
                dcql_tamper::run(gateway, &scenario, encrypted)
            })
        })
    })
    .collect()
}

/// Larger cases are not committed.
const MAX_COMMITTED: usize = 16 * 1024;

/// The first small case of each outcome.
pub fn one_for_each_outcome(cases: &[Value]) -> Vec<Value> {
    let mut outcomes = Vec::new();
    let mut chosen = Vec::new();
    for case in cases {
        let expected = case.get("expected").cloned().unwrap_or_default();
        let small = case.to_string().len() <= MAX_COMMITTED;
        // Good cases differ in their claims.
        if small && !outcomes.contains(&expected) {
            outcomes.push(expected);
            chosen.push(case.clone());
        }
    }
    chosen
}

/// Runs a scenario on the library and records input and output.
fn record(title: &str, library: InProcess, run: impl FnOnce(&mut Recorder) -> Outcome) -> Value {
    let mut recorder = Recorder { library, ..Recorder::default() };
    let outcome = run(&mut recorder);
    let Recorder { trust, session, body, now_ms, .. } = recorder;
    json!({
        "title": title,
        "trust": trust,
        "livemode": true,
        "session": session,
        "content_type": body.as_ref().map(|body| &body.content_type),
        "body": body.as_ref().map(|body| base64url(&body.bytes)),
        "now_ms": now_ms,
        "expected": expected(&outcome),
    })
}

/// The entry of an SD-JWT VC issuer.
fn trusted(trust: &Trust) -> Value {
    let mut entry = json!({
        "issuer_id": trust.issuer_id,
        "vct": trust.vct,
        "revocation": trust.revocation,
        "jwks": trust.keys,
    });
    if !trust.sd_jwt_roots.is_empty() {
        let roots: Vec<String> = trust.sd_jwt_roots.iter().map(|der| base64url(der)).collect();
        if let Some(members) = entry.as_object_mut() {
            members.insert("sd_jwt_roots".into(), roots.into());
        }
    }
    entry
}

fn expected(outcome: &Outcome) -> Value {
    match &outcome.error {
        Some(error) if error != "invalid_presentation" => json!({ "error": error }),
        _ => json!({
            "status": outcome.status,
            "reason": outcome.reason,
            "claims": outcome.claims,
        }),
    }
}

/// The library, and the inputs that it received.
#[derive(Default)]
struct Recorder {
    library: InProcess,
    trust: Value,
    session: Value,
    body: Option<Body>,
    now_ms: u64,
}

impl JarGateway for Recorder {
    fn fetch(&mut self, request_uri: &str, now_ms: u64) -> String {
        let jwt = self.library.fetch(request_uri, now_ms);
        self.keep_session();
        jwt
    }

    fn did_document(&mut self) -> Value {
        self.library.did_document()
    }
}

impl Recorder {
    fn keep_session(&mut self) {
        let snapshot = self.library.session().map(|session| session.to_bytes());
        self.session = snapshot.map(|bytes| base64url(&bytes)).into();
    }
}

impl Gateway for Recorder {
    fn open(&mut self, trust: &Trust, request: &Value, now_ms: u64) -> String {
        let uri = self.library.open(trust, request, now_ms);
        self.trust = json!([trusted(trust)]);
        self.keep_session();
        uri
    }

    fn post(&mut self, body: &Body, now_ms: u64) -> Option<String> {
        self.body = Some(body.clone());
        self.now_ms = now_ms;
        self.library.post(body, now_ms)
    }

    fn read(&mut self, now_ms: u64) -> (String, Option<String>, Option<Value>) {
        self.library.read(now_ms)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_committed_cases_match_the_tables() {
        for (name, cases) in &TABLES {
            is_committed(&format!("{name}.json"), &one_for_each_outcome(cases).into());
        }
    }

    #[test]
    fn the_committed_certificate_matches_the_cases() {
        is_committed("verifier/certified.json", &ways::certified());
    }

    fn is_committed(name: &str, made: &Value) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(name);
        let made = serde_json::to_string_pretty(made).unwrap() + "\n";
        if std::env::var_os("IDGATE_WRITE_CASES").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &made).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap();
        assert!(
            committed == made,
            "cases/{name} is out of date: run this test with IDGATE_WRITE_CASES=1"
        );
    }

    /// For the bindings, which run all cases.
    #[test]
    fn every_case_is_written_to_the_target_folder() {
        let test = std::env::current_exe().unwrap();
        let folder = test.ancestors().nth(3).unwrap().join("cases");
        std::fs::create_dir_all(folder.join("verifier")).unwrap();
        let certified = ways::certified().to_string();
        std::fs::write(folder.join("verifier/certified.json"), certified).unwrap();
        let cases: Vec<&Value> = all().collect();
        assert!(cases.len() >= 1500, "{} cases", cases.len());
        let text = serde_json::to_vec(&cases).unwrap();
        std::fs::write(folder.join("all.json"), text).unwrap();
    }
}
