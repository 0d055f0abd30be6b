//! The requests of the draft profiles as they have been sent to wallets. Requests of stored and of
//! new sessions must stay the same byte for byte.

use crate::request::Scheme;
use crate::request::fixtures::{self, NOW};
use crate::session::Session;
use crate::time::UnixMillis;
use crate::verifier::Asked;

/// Stored sessions of the first version, and the requests that were made for them.
const INLINE_SESSION: &str = include_str!("../../session/snapshot/version_1_inline.json");
const INLINE_LINK: &str = include_str!("recorded/inline_link.txt");
const JAR_SESSION: &str = include_str!("../../session/snapshot/version_1_jar.json");
const JAR_LINK: &str = include_str!("recorded/jar_link.txt");
const JAR_OBJECT: &str = include_str!("recorded/jar_object.txt");

const FETCHED: UnixMillis = UnixMillis(NOW.0 + 1_500);

fn stored(text: &str) -> Session {
    Session::from_bytes(text.as_bytes()).unwrap()
}

#[test]
fn the_link_of_an_inline_session_is_unchanged() {
    let made = fixtures::session(fixtures::two_credentials());
    for session in [stored(INLINE_SESSION), made] {
        assert_eq!(session.deep_link(Scheme::OpenId4Vp), INLINE_LINK.trim_end());
    }
}

#[test]
fn link_and_object_of_a_jar_session_are_unchanged() {
    let made = fixtures::jar_session(fixtures::one_credential());
    for session in [stored(JAR_SESSION), made] {
        assert_eq!(session.deep_link(Scheme::OpenId4Vp), JAR_LINK.trim_end());
        let asked = Asked { to: session.id().as_str(), wallet_nonce: Some("wallet".into()) };
        let fetched = fixtures::jar_verifier().request_object(&session, &asked, FETCHED);
        assert_eq!(fetched.unwrap().jwt.as_str(), JAR_OBJECT.trim_end());
    }
}
