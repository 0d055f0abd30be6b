//! Hosts of status lists that do not answer, or cannot be looked up.

use std::thread;
use std::time::Instant;

use idgate_testkit::samples;

use super::fault::Fault;
use super::source::Source;
use super::{HEARD, OTHER_ISSUER, Open, Ward, open, open_for};
use crate::http::{Http, Response};
use crate::tenant::answer_request;

#[test]
fn answers_on_a_silent_status_host_leave_other_hosts_alone() {
    let mut ward = Ward::start(Fault::NoPermit).unwrap();
    let silent = Source::silent_at([127, 0, 0, 2]);
    let lost: Vec<Open> =
        (0..64).map(|n| open(&mut ward.tenant, Some(&silent.uri(&n.to_string())))).collect();
    let address = ward.server.address;
    let answering: Vec<_> = lost
        .iter()
        .map(|open| {
            let request = answer_request(&open.created.id, &open.body);
            thread::spawn(move || Http::new(address).send(&request))
        })
        .collect();
    silent.wait_until_asked(8);
    for _ in 0..3 {
        let good = ward.open(true);
        let reply = ward.tenant.http.send(&answer_request(&good.created.id, &good.body));
        reply.expect_status(200);
    }
    let replies: Vec<Response> = answering.into_iter().map(|one| one.join().unwrap()).collect();
    silent.keep_silent(false);
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
    assert_eq!(failed, 8, "one for each turn at that host");
}

#[test]
fn an_issuer_with_many_silent_hosts_leaves_other_issuers_alone() {
    let mut ward = Ward::start(Fault::NoPermit).unwrap();
    ward.until_in_time(|ward| {
        ward.prepare();
        let uri = ward.source.next_uri();
        let good = open_for(&mut ward.tenant, OTHER_ISSUER, Some(&uri));
        let lost = open_for(&mut ward.tenant, samples::ISSUER, Some(&uri));
        let (begun, lasting) = (Instant::now(), ward.begin());
        let reply = ward.tenant.http.send(&answer_request(&good.created.id, &good.body));
        reply.expect_status(200);
        let reply = ward.tenant.http.send(&answer_request(&lost.created.id, &lost.body));
        lasting.end();
        // Turns are given back when their sources have had their time.
        if reply.status == 200 && begun.elapsed() > HEARD {
            return false;
        }
        reply.expect_error(503, "temporarily_unavailable");
        ward.answer_again(&lost);
        true
    });
}

#[test]
fn a_name_that_cannot_be_looked_up_for_want_of_descriptors_is_an_own_fault() {
    let mut ward = Ward::start(Fault::NoDescriptor).unwrap();
    let uri = ward.source.uri_by_name("list");
    let open = open(&mut ward.tenant, Some(&uri));
    let lasting = ward.begin();
    let reply = ward.tenant.http.send(&answer_request(&open.created.id, &open.body));
    reply.expect_error(503, "temporarily_unavailable");
    lasting.end();
    ward.answer_again(&open);
}
