//! The private key of a session is sealed while the session is open, survives a crash, and is
//! erased from every file soon after the session settles.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::wallet::{JarAnswer, Transcript, Wallet};

use super::{Desk, name_request, request_path, text};
use crate::disk;
use crate::http::{Http, Request};
use crate::server::{Installation, eventually};
use crate::tenant::{Created, answer_request, now_ms};

/// The sealed key of a session in `claims.db`.
fn sealed_key(desk: &Desk, created: &Created) -> Option<Vec<u8>> {
    disk::open(&desk.gateway.installation.data_dir().join("claims.db"))
        .query_row("SELECT sealed FROM session_keys WHERE session_id = ?1", [&created.id], |row| {
            row.get(0)
        })
        .ok()
}

fn files_with(desk: &Desk, pieces: &[Vec<u8>]) -> Vec<PathBuf> {
    disk::files_with(&desk.gateway.installation.data_dir(), pieces)
}

#[test]
fn a_session_key_is_erased_from_every_file_after_settlement() {
    let mut desk = Desk::jar();
    let sessions = [(); 4].map(|()| desk.create());
    let pieces = sessions.clone().map(|created| {
        let sealed = sealed_key(&desk, &created).expect("an open session has a key");
        disk::pieces(&sealed)
    });
    for pieces in &pieces {
        assert!(!files_with(&desk, pieces).is_empty(), "the search finds what is there");
    }
    let [verified, failed, deleted, open] = &sessions;
    let jar = desk.fetch(verified);
    let answer = desk.answer(&jar).form_body();
    desk.tenant.post_answer(&verified.id, &answer).expect_status(200);
    let jar = desk.fetch(failed);
    let error = JarAnswer::error(&jar, "access_denied").form_body();
    desk.tenant.post_answer(&failed.id, &error).expect_status(200);
    desk.tenant.delete(&deleted.id).expect_status(204);
    assert_eq!(files_with(&desk, &pieces[2]), Vec::<PathBuf>::new(), "before the 204");
    for pieces in &pieces[..2] {
        eventually("the key leaves every file", || files_with(&desk, pieces).is_empty());
    }
    assert!(!files_with(&desk, &pieces[3]).is_empty());
    assert_eq!(desk.status(open), "CREATED");
}

#[test]
fn after_a_kill_open_sessions_keep_their_keys_and_settled_ones_have_none() {
    let mut desk = Desk::jar();
    let (open, settled) = (desk.create(), desk.create());
    let jar = desk.fetch(&open);
    let pieces = disk::pieces(&sealed_key(&desk, &settled).unwrap());
    let settling = desk.fetch(&settled);
    let answer = desk.answer(&settling).form_body();
    desk.tenant.post_answer(&settled.id, &answer).expect_status(200);
    let mut desk = desk.restart(true, "jar");
    assert_eq!(files_with(&desk, &pieces), Vec::<PathBuf>::new(), "gone before it listens");
    assert_eq!(desk.status(&open), "PENDING");
    let answer = desk.answer(&jar).form_body();
    desk.tenant.post_answer(&open.id, &answer).expect_status(200);
    assert_eq!(desk.status(&open), "VERIFIED");
}

const ROUNDS: usize = 4;
const CLIENTS: usize = 4;

/// A session whose creation was acknowledged, and whether its answer was as well.
type Journal = Mutex<Vec<(Created, bool)>>;

#[test]
fn killed_at_any_instant_open_sessions_have_their_keys_and_settled_ones_have_none() {
    let mut desk = Desk::start(Installation::at_one_address(), "jar");
    for round in 0..ROUNDS {
        let journal = Journal::default();
        desk = load_until_killed(desk, &journal, 2 + 5 * round);
        assert_eq!(ids(&desk, "claims.db", "SELECT session_id FROM session_keys"), {
            ids(&desk, "idgate.db", "SELECT id FROM sessions WHERE settled_at IS NULL")
        });
        let journal = journal.into_inner().unwrap();
        for (created, answered) in journal {
            if desk.status(&created) == "VERIFIED" {
                continue;
            }
            assert!(!answered, "an acknowledged answer is lost");
            let jar = desk.fetch(&created);
            let answer = desk.answer(&jar).form_body();
            desk.tenant.post_answer(&created.id, &answer).expect_status(200);
        }
    }
}

/// Creates and answers sessions on several connections. After `enough` of them, the server is
/// killed and restarted.
fn load_until_killed(desk: Desk, journal: &Journal, enough: usize) -> Desk {
    let (address, wallet) = (desk.gateway.server.address, desk.wallet.clone());
    let api_key = desk.tenant.api_key.clone();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut http = Http::new(address);
                // Until the server is gone.
                while one_session(&mut http, &api_key, &wallet, journal).is_ok() {}
            });
        }
        eventually("enough sessions", || journal.lock().unwrap().len() >= enough);
        desk.gateway.server.signal("KILL");
    });
    desk.restart(true, "jar")
}

fn one_session(
    http: &mut Http,
    api_key: &str,
    wallet: &Wallet,
    journal: &Journal,
) -> io::Result<()> {
    let create = Request::post("/v1/sessions").bearer(api_key).json(&name_request());
    let created = Created::of(http.try_send(&create)?.expect_status(201).json());
    let at = {
        let mut journal = journal.lock().unwrap();
        journal.push((created.clone(), false));
        journal.len() - 1
    };
    let jwt = text(&http.try_send(&Request::get(request_path(&created)))?.expect_status(200));
    let document = http.try_send(&Request::get("/.well-known/did.json"))?.json();
    let link = JarLink::parse(&created.uri).unwrap();
    let jar = JarRequest::verify(&link, &jwt, &document, now_ms()).unwrap();
    let answer = wallet.answer_jar(&jar, Transcript::OpenId4Vp, false, now_ms()).unwrap();
    http.try_send(&answer_request(&created.id, &answer.form_body()))?.expect_status(200);
    journal.lock().unwrap()[at].1 = true;
    Ok(())
}

fn ids(desk: &Desk, database: &str, sql: &str) -> BTreeSet<String> {
    let connection = disk::open(&desk.gateway.installation.data_dir().join(database));
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}
