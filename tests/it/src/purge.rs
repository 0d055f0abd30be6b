//! Claims are erased 30 s after verification from answers and from every byte of the data
//! directory, even if the server was killed in between. Within the 30 s they survive a restart
//! (decisions 8).

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::disk;
use crate::server::{Installation, Server, eventually};
use crate::stores;
use crate::tenant::{Created, Gateway, Tenant, request_for, wallet_with};

const SHORT: &str = "Sentinel-Q7f3xZ";
/// Longer than a database page.
const LONG: &str = "Sentinel-W2k9vB";

/// An installation with two verified sessions, and the bytes of their results on disk.
struct Purge {
    // Dropped before its directory.
    server: Option<Server>,
    installation: Installation,
    tenant: Tenant,
    sessions: Vec<Created>,
    /// Pieces of the sealed results.
    sealed: Vec<Vec<u8>>,
    /// Seconds since the verification. The clock stands still, and moves only with [`Self::at`].
    passed: u64,
}

#[test]
fn claims_are_erased_from_every_file_in_time() {
    thread::scope(|scope| {
        let cases: [fn(); 4] = [
            undisturbed_and_restarted_in_between,
            killed_and_restarted_at_once,
            killed_and_restarted_when_due,
            deleted_while_fresh,
        ];
        let running: Vec<_> = cases.into_iter().map(|case| stores::spawn(scope, case)).collect();
        let failed = running.into_iter().filter_map(|case| case.join().err()).count();
        assert_eq!(failed, 0, "see the panics above");
    });
}

fn undisturbed_and_restarted_in_between() {
    let mut purge = Purge::verified();
    purge.at(10);
    // Stopping takes time.
    purge.installation.machine().thaw();
    purge.stop().stop();
    purge.installation.machine().freeze();
    purge.restart();
    purge.at(20);
    purge.expect_readable();
    purge.at(32);
    purge.expect_gone();
}

fn killed_and_restarted_at_once() {
    let mut purge = Purge::verified();
    purge.at(5);
    purge.stop().kill();
    purge.restart();
    purge.expect_readable();
    purge.at(32);
    purge.expect_gone();
}

fn killed_and_restarted_when_due() {
    let mut purge = Purge::verified();
    purge.at(10);
    purge.stop().kill();
    assert!(!purge.files_with_results().is_empty(), "the results did not survive the kill");
    purge.at(31);
    // Erased before the listener opens.
    purge.restart();
    assert_eq!(purge.files_with_results(), Vec::<PathBuf>::new());
    purge.expect_gone();
}

fn deleted_while_fresh() {
    let mut purge = Purge::verified();
    for created in purge.sessions.clone() {
        purge.tenant.delete(&created.id).expect_status(204);
    }
    assert_eq!(purge.files_with_results(), Vec::<PathBuf>::new());
    for created in purge.sessions.clone() {
        purge.tenant.get(&created.id).expect_error(404, "not_found");
    }
}

impl Purge {
    fn verified() -> Self {
        let gateway = Gateway::start_on(Installation::new().with_machine());
        gateway.installation.machine().freeze();
        let mut tenant = gateway.tenant();
        let Gateway { server, installation, .. } = gateway;
        let mut sessions = Vec::new();
        for value in [SHORT.to_owned(), LONG.repeat(600)] {
            let wallet = wallet_with(&[("given_name", &value)]);
            sessions.push(tenant.verified(&request_for(&["given_name"]), &wallet));
        }
        let blobs = disk::sealed_results(&installation.data_dir());
        assert!(blobs.len() >= sessions.len(), "{} sealed results", blobs.len());
        let sealed = blobs.iter().flat_map(|blob| disk::pieces(blob)).collect();
        let server = Some(server);
        let mut purge = Self { server, installation, tenant, sessions, sealed, passed: 0 };
        purge.expect_readable();
        assert!(!purge.files_with_results().is_empty(), "the search finds nothing at all");
        purge
    }

    /// Moves to `seconds` after the verification.
    fn at(&mut self, seconds: u64) {
        self.installation.machine().jump(Duration::from_secs(seconds - self.passed));
        self.passed = seconds;
    }

    fn expect_readable(&mut self) {
        for (created, value) in self.sessions.iter().zip([SHORT.to_owned(), LONG.repeat(600)]) {
            let session = self.tenant.read(&created.id);
            assert_eq!(session["claims"]["pid"]["given_name"], value.as_str());
            assert!(session["verification_details"].is_object(), "{session}");
        }
        self.expect_no_plain_text();
    }

    fn expect_gone(&mut self) {
        eventually("every file is empty of them", || self.files_with_results().is_empty());
        for created in &self.sessions {
            let session = self.tenant.read(&created.id);
            assert_eq!(session["status"], "VERIFIED");
            for member in ["claims", "verification_details", "reason"] {
                assert!(session.get(member).is_none(), "{member} is still there: {session}");
            }
        }
        self.expect_no_plain_text();
    }

    /// Claims are sealed at rest, so their values are never in a file.
    fn expect_no_plain_text(&self) {
        let plain = [SHORT, LONG].map(|value| value.as_bytes().to_vec());
        assert_eq!(disk::files_with(&self.installation.data_dir(), &plain), Vec::<PathBuf>::new());
    }

    fn files_with_results(&self) -> Vec<PathBuf> {
        disk::files_with(&self.installation.data_dir(), &self.sealed)
    }

    fn stop(&mut self) -> Server {
        self.server.take().unwrap()
    }

    fn restart(&mut self) {
        let server = self.installation.serve();
        self.tenant.http = server.http();
        self.server = Some(server);
    }
}
