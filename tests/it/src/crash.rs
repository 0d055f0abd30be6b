//! The server is killed at random times under load, and comes back with everything that it
//! acknowledged.

use std::sync::Mutex;
use std::thread;

use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::seed::{Random, seed};
use idgate_testkit::wallet::{Body, Transcript, Wallet};
use serde_json::{Value, json};

use crate::disk;
use crate::http::{Http, Request};
use crate::server::{Client, Installation, Server, eventually};
use crate::stores;
use crate::tenant::{
    Created, Gateway, Tenant, answer_request, form, now_ms, request_for, sample_wallet,
};

const CLIENTS: usize = 4;
/// Claims can be read for 30 s, which begin after the answer was sent.
const SURELY_READABLE_MS: u64 = 29_000;

/// The state that the clients of one installation know.
#[derive(Default)]
struct Journal(Mutex<Vec<Entry>>);

#[derive(Clone, Debug)]
struct Entry {
    created: Created,
    known: Known,
    /// When its answer was sent, if it was.
    sent_ms: u64,
}

/// The last acknowledged state of a session, and whether a later request was not answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Known {
    Created,
    Answered,
    Verified,
    Deleting,
    Deleted,
}

#[test]
fn a_killed_server_loses_no_acknowledged_change() {
    let long = std::env::var_os("IDGATE_LONG").is_some();
    let rounds = if long { 200 } else { 8 };
    let seed = seed();
    thread::scope(|scope| {
        for (n, mode) in ["inline", "jar"].into_iter().enumerate() {
            stores::spawn(scope, move || {
                let entries = lane(rounds, mode, Random::of_thread(seed, n));
                assert!(entries > rounds * CLIENTS, "{mode}: too little load: {entries} sessions");
            });
        }
    });
}

/// The wallet, in either request mode.
struct Holder {
    wallet: Wallet,
    /// The document that signed requests are verified with. `None`: they are not signed.
    did: Option<Value>,
}

impl Holder {
    fn answer(&self, http: &mut Http, created: &Created) -> std::io::Result<Body> {
        let Some(did) = &self.did else { return Ok(form(&self.wallet, created)) };
        let link = JarLink::parse(&created.uri).unwrap();
        let fetch = Request::get(format!("/v1/oid4vp/request/{}", created.id));
        let jwt = String::from_utf8(http.try_send(&fetch)?.expect_status(200).body).unwrap();
        let jar = JarRequest::verify(&link, &jwt, did, now_ms()).unwrap();
        let answer = self.wallet.answer_jar(&jar, Transcript::OpenId4Vp, false, now_ms()).unwrap();
        let response = [("response".to_owned(), answer.jwe().into())];
        Ok(Body::form(&response.into_iter().collect()))
    }
}

/// Rounds of load, kill, restart and check on one installation. Returns the number of sessions.
fn lane(rounds: usize, mode: &str, mut random: Random) -> usize {
    let gateway =
        Gateway::start_on(Installation::at_one_address().with("OID4VP_REQUEST_MODE", mode));
    let fetch_did = || gateway.http().send(&Request::get("/.well-known/did.json")).json();
    let holder = Holder { wallet: sample_wallet(), did: (mode == "jar").then(fetch_did) };
    let Gateway { mut server, client, installation } = gateway;
    let journal = Journal::default();
    for round in 0..rounds {
        let made = 2 * CLIENTS + random.index(60);
        load_until_killed(server, &client, &holder, &journal, made, random.next_number());
        server = installation.serve();
        let mut tenant =
            Tenant { http: Http::new(server.address), api_key: client.api_key.clone() };
        for entry in journal.0.lock().unwrap().iter_mut() {
            let when = format!("{mode}, round {round}, killed after {made} sessions");
            check(entry, &mut tenant, &holder, &when);
        }
        check_databases(&installation);
    }
    let entries = journal.0.lock().unwrap();
    for known in [Known::Verified, Known::Deleted] {
        assert!(entries.iter().any(|entry| entry.known == known), "no session was {known:?}");
    }
    entries.len()
}

/// Kills the server after this many sessions, whatever it is doing then.
fn load_until_killed(
    server: Server,
    client: &Client,
    holder: &Holder,
    journal: &Journal,
    made: usize,
    seed: u64,
) {
    let address = server.address;
    let enough = journal.made() + made;
    thread::scope(|scope| {
        for n in 0..CLIENTS {
            scope.spawn(move || {
                let (mut http, mut random) = (Http::new(address), Random::of_thread(seed, n));
                // Until the server is gone.
                while one_session(&mut http, client, holder, journal, &mut random).is_ok() {}
            });
        }
        eventually("enough sessions are made", || journal.made() >= enough);
        server.kill();
    });
}

/// Creates a session, answers most of them, deletes some, and notes what was acknowledged.
fn one_session(
    http: &mut Http,
    client: &Client,
    holder: &Holder,
    journal: &Journal,
    random: &mut Random,
) -> std::io::Result<()> {
    let request = request_for(&["given_name", "family_name"]);
    let create = Request::post("/v1/sessions").bearer(&client.api_key).json(&request);
    let created = Created::of(http.try_send(&create)?.expect_status(201).json());
    let index = journal.add(created.clone());
    if random.one_in(8) {
        return Ok(());
    }
    let answer = holder.answer(http, &created)?;
    journal.note(index, Known::Answered);
    http.try_send(&answer_request(&created.id, &answer))?.expect_status(200);
    journal.note(index, Known::Verified);
    if random.one_in(4) {
        journal.note(index, Known::Deleting);
        let delete = Request::delete(format!("/v1/sessions/{}", created.id));
        http.try_send(&delete.bearer(&client.api_key))?.expect_status(204);
        journal.note(index, Known::Deleted);
    }
    Ok(())
}

/// Checks that the session is in the acknowledged state, or in that after the unanswered request,
/// and in no other.
fn check(entry: &mut Entry, tenant: &mut Tenant, holder: &Holder, when: &str) {
    let response = tenant.get(&entry.created.id);
    if response.status == 404 {
        let gone = [Known::Deleting, Known::Deleted].contains(&entry.known);
        assert!(gone, "{when}: {entry:?} is lost");
        entry.known = Known::Deleted;
        return;
    }
    assert_ne!(entry.known, Known::Deleted, "{when}: {entry:?} is back");
    let session = response.expect_status(200).json();
    match session["status"].as_str() {
        Some("VERIFIED") => {
            assert_ne!(entry.known, Known::Created, "{when}: {session}");
            check_result(&session, entry, when);
        }
        Some("CREATED" | "PENDING") => {
            assert!([Known::Created, Known::Answered].contains(&entry.known), "{when}: {entry:?}");
            // It can still be answered.
            entry.sent_ms = now_ms();
            let body = holder.answer(&mut tenant.http, &entry.created).unwrap();
            tenant.post_answer(&entry.created.id, &body).expect_status(200);
        }
        _ => panic!("{when}: {entry:?} became {session}"),
    }
    // An unacknowledged deletion was not stored.
    entry.known = Known::Verified;
}

fn check_result(session: &Value, entry: &Entry, when: &str) {
    let claims = json!({ "pid": { "family_name": "Mustermann", "given_name": "Erika" } });
    // Also during an unacknowledged deletion: a session is either complete or gone.
    if now_ms() < entry.sent_ms + SURELY_READABLE_MS {
        assert_eq!(session["claims"], claims, "{when}: {:?}", entry.known);
    }
    let (has_claims, has_details) =
        (session.get("claims").is_some(), session.get("verification_details").is_some());
    assert_eq!(has_claims, has_details, "{when}: {session}");
}

fn check_databases(installation: &Installation) {
    for database in disk::databases(&installation.data_dir()) {
        let verdict: String = disk::open(&database)
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(verdict, "ok", "{}", database.display());
    }
}

impl Journal {
    fn made(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn add(&self, created: Created) -> usize {
        let mut entries = self.0.lock().unwrap();
        entries.push(Entry { created, known: Known::Created, sent_ms: 0 });
        entries.len() - 1
    }

    /// `Known::Answered` is noted before the answer is sent.
    fn note(&self, index: usize, known: Known) {
        let mut entries = self.0.lock().unwrap();
        entries[index].known = known;
        if known == Known::Answered {
            entries[index].sent_ms = now_ms();
        }
    }
}
