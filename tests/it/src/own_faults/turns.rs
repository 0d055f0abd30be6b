//! Takes all turns to fetch for one issuer's credentials.

use std::net::SocketAddr;
use std::thread;

use super::source::Source;
use super::{Open, open_for};
use crate::http::Http;
use crate::server::eventually;
use crate::tenant::{Tenant, answer_request};

/// As many silent hosts as an issuer has turns for, …
const HOSTS: u8 = 4;
/// … each with as many turns as a host has.
const PER_HOST: usize = 8;

/// Answers whose status is at silent hosts, built and not posted yet.
pub(super) struct Turns {
    hosts: Vec<Source>,
    answers: Vec<Open>,
    address: SocketAddr,
}

impl Turns {
    pub(super) fn prepare(
        tenant: &mut Tenant,
        address: SocketAddr,
        issuer: &str,
        now_ms: u64,
    ) -> Self {
        let hosts: Vec<_> = (2..2 + HOSTS).map(|n| Source::silent_at([127, 0, 0, n])).collect();
        let mut answers = Vec::new();
        for host in &hosts {
            for path in 0..PER_HOST {
                let uri = host.uri(&path.to_string());
                answers.push(open_for(tenant, issuer, Some(&uri), now_ms));
            }
        }
        Self { hosts, answers, address }
    }

    /// Posts them, and waits until every host has received as many requests as allowed.
    pub(super) fn take(self) -> Vec<Source> {
        let Self { hosts, answers, address } = self;
        let all = answers.len();
        for Open { created, body } in answers {
            thread::spawn(move || Http::new(address).try_send(&answer_request(&created.id, &body)));
        }
        // One turn may be taken already.
        let asked = || hosts.iter().map(Source::asked).sum::<usize>();
        eventually("all turns are taken", || asked() >= all - 1);
        hosts
    }
}
