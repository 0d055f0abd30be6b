//! Status list hosts that do not answer, or cannot be looked up.

use std::thread;

use idgate_testkit::samples;

use super::fault::Fault;
use super::source::Source;
use super::{FETCH, FOR_A_TURN, OTHER_ISSUER, Open, Ward, open_for};
use crate::http::{Http, Response};
use crate::server::eventually;
use crate::tenant::{Tenant, answer_request};

/// The turns at one host.
const TURNS: usize = 8;

#[test]
fn a_silent_status_host_does_not_delay_other_hosts() {
    let mut ward = Ward::start(Fault::NoPermit).unwrap();
    ward.freeze();
    let now_ms = ward.now_ms();
    let silent = Source::silent_at([127, 0, 0, 2]);
    let lost: Vec<Open> = (0..64)
        .map(|n| {
            let uri = silent.uri(&n.to_string());
            open_for(&mut ward.tenant, samples::ISSUER, Some(&uri), now_ms)
        })
        .collect();
    let address = ward.server.address;
    let answering: Vec<_> = lost
        .iter()
        .map(|open| {
            let request = answer_request(&open.created.id, &open.body);
            thread::spawn(move || Http::new(address).send(&request))
        })
        .collect();
    silent.wait_until_asked(TURNS);
    let mut reader = Tenant::at(&ward.server, &ward.tenant.api_key);
    eventually("all are held", || {
        lost.iter().all(|open| reader.read(&open.created.id)["status"] == "VERIFYING")
    });
    for _ in 0..3 {
        let good = ward.open(true);
        ward.post(&good).expect_status(200);
    }
    let answered = || answering.iter().filter(|one| one.is_finished()).count();
    assert_eq!(answered(), 0, "others are served while these wait");
    let machine = ward.installation.machine();
    ward.server.rest();
    machine.jump(FOR_A_TURN);
    eventually("those without a turn are answered", || answered() >= lost.len() - TURNS);
    ward.server.rest();
    machine.jump(FETCH - FOR_A_TURN);
    let replies: Vec<Response> = answering.into_iter().map(|one| one.join().unwrap()).collect();
    silent.keep_silent(false);
    ward.thaw();
    let mut failed = 0;
    for (open, reply) in lost.iter().zip(replies) {
        match reply.status {
            // Its turn came, and the source had its 5 s.
            400 => {
                ward.tenant.expect_failed(&open.created, "revocation_unknown");
                failed += 1;
            }
            _ => {
                reply.expect_error(503, "temporarily_unavailable");
                ward.answer_again(open);
            }
        }
    }
    assert_eq!(failed, TURNS, "one for each turn at that host");
}

#[test]
fn an_issuer_with_silent_hosts_does_not_delay_other_issuers() {
    let mut ward = Ward::start(Fault::NoPermit).unwrap();
    let (uri, now_ms) = (ward.source.next_uri(), ward.now_ms());
    let good = open_for(&mut ward.tenant, OTHER_ISSUER, Some(&uri), now_ms);
    let lost = open_for(&mut ward.tenant, samples::ISSUER, Some(&uri), now_ms);
    let lasting = ward.begin();
    ward.post(&good).expect_status(200);
    let reply = ward.post_without_a_turn(&lost);
    reply.expect_error(503, "temporarily_unavailable");
    ward.end(lasting);
    ward.answer_again(&lost);
}

#[test]
fn a_dns_failure_for_lack_of_descriptors_is_the_gateways_own_fault() {
    let mut ward = Ward::start(Fault::NoDescriptor).unwrap();
    let uri = ward.source.uri_by_name("list");
    let now_ms = ward.now_ms();
    let open = open_for(&mut ward.tenant, samples::ISSUER, Some(&uri), now_ms);
    let lasting = ward.begin();
    ward.post(&open).expect_error(503, "temporarily_unavailable");
    ward.end(lasting);
    ward.answer_again(&open);
}
