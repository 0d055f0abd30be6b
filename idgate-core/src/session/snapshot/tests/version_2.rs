//! Version 2 as it is stored. Stored sessions must stay readable forever, so another text needs
//! another version.

use super::super::*;
use crate::request::fixtures;

/// A pending session with one offer by value.
const INLINE: &str = include_str!("../version_2_inline.json");
/// A session in phase CREATED with one offer by reference, with the private key of its answer.
const JAR: &str = include_str!("../version_2_jar.json");

fn text(session: &Session) -> String {
    String::from_utf8(session.to_bytes().to_vec()).unwrap()
}

#[test]
fn sessions_are_stored_as_version_2() {
    let inline = fixtures::session(fixtures::two_credentials());
    let jar = fixtures::jar_session(fixtures::one_credential());
    for (session, stored) in [(inline, INLINE), (jar, JAR)] {
        assert_eq!(text(&session), stored.trim_end());
        let again = Session::from_bytes(stored.as_bytes()).unwrap();
        assert_eq!(text(&again), stored.trim_end());
    }
}
