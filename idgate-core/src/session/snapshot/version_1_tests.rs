//! Version 1 as programs have stored it: what it holds must be readable for ever, and what is
//! stored today must be it. Another text needs another version.

use super::*;
use crate::error::Reason;
use crate::request::fixtures::{self, NOW};
use crate::session::{Input, Status};

/// A pending session in the inline profile.
const INLINE: &str = include_str!("version_1_inline.json");
/// A created session in the jar profile, with the private key of its answer.
const JAR: &str = include_str!("version_1_jar.json");

fn text(session: &Session) -> String {
    String::from_utf8(session.to_snapshot().to_vec()).unwrap()
}

#[test]
fn an_inline_session_is_stored_as_version_1() {
    assert_eq!(text(&fixtures::session(fixtures::two_credentials())), INLINE.trim_end());
}

#[cfg(feature = "rustcrypto")]
#[test]
fn a_jar_session_is_stored_as_version_1() {
    assert_eq!(text(&fixtures::jar_session(fixtures::one_credential())), JAR.trim_end());
}

#[test]
fn version_1_is_read_in_full() {
    for (stored, status) in [(INLINE, Status::Pending), (JAR, Status::Created)] {
        let session = Session::from_snapshot(stored.as_bytes()).unwrap();
        assert_eq!(text(&session), stored.trim_end());
        assert_eq!(session.status_at(NOW), status);
        assert_eq!(session.encryption_key.is_some(), session.request_uri().is_some());
        assert_eq!(session.expires_at(), NOW.plus(300_000));
    }
}

#[test]
fn a_session_of_version_1_goes_on() {
    for stored in [INLINE, JAR] {
        let session = Session::from_snapshot(stored.as_bytes()).unwrap();
        let reason = Reason::NonceMismatch;
        let transition = session.apply(Input::Failed(reason), NOW.plus(1)).unwrap();
        assert_eq!((transition.from, transition.session.revision()), (Revision(1), Revision(2)));
        assert_eq!(transition.session.reason_at(NOW.plus(1)), Some(reason));
    }
}

#[test]
fn an_unknown_version_is_refused_in_either_profile() {
    for stored in [INLINE, JAR] {
        for version in ["0", "2", "4294967296", "-1", "1.0", "\"1\"", "null"] {
            let member = alloc::format!("{{\"version\":{version},");
            let other = stored.replacen("{\"version\":1,", &member, 1);
            assert_ne!(other, stored);
            assert_eq!(Session::from_snapshot(other.as_bytes()).err(), Some(SnapshotError));
        }
        let without = stored.replacen("{\"version\":1,", "{", 1);
        assert_eq!(Session::from_snapshot(without.as_bytes()).err(), Some(SnapshotError));
    }
}
