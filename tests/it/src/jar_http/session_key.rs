//! The private key of a session is sealed while the session is open, survives a crash, and is in no
//! file soon after the session settled.

use std::path::PathBuf;

use idgate_testkit::wallet::JarAnswer;

use super::Desk;
use crate::disk;
use crate::server::eventually;
use crate::tenant::{Created, Gateway};

/// What `claims.db` has as the sealed key of a session.
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
fn a_sessions_key_leaves_every_file_when_the_session_settles() {
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
fn a_killed_server_forgets_no_open_session_and_keeps_no_settled_ones_key() {
    let mut desk = Desk::jar();
    let (open, settled) = (desk.create(), desk.create());
    let jar = desk.fetch(&open);
    let pieces = disk::pieces(&sealed_key(&desk, &settled).unwrap());
    let settling = desk.fetch(&settled);
    let answer = desk.answer(&settling).form_body();
    desk.tenant.post_answer(&settled.id, &answer).expect_status(200);
    let Desk { gateway, mut tenant, wallet } = desk;
    let Gateway { server, client, installation } = gateway;
    server.kill();
    let server = installation.serve();
    let gateway = Gateway { server, client, installation };
    tenant.http = gateway.http();
    let mut desk = Desk { gateway, tenant, wallet };
    assert_eq!(files_with(&desk, &pieces), Vec::<PathBuf>::new(), "gone before it listens");
    assert_eq!(desk.status(&open), "PENDING");
    let answer = desk.answer(&jar).form_body();
    desk.tenant.post_answer(&open.id, &answer).expect_status(200);
    assert_eq!(desk.status(&open), "VERIFIED");
}
