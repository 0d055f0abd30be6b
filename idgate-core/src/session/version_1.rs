//! Reads sessions that were stored before sessions had offers: a session and its only request in
//! one.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use crate::ids::{ClientIdentifier, Nonce, SessionId, State, TenantId};
use crate::request::StoredRequest;
use crate::session::{EncryptionKey, Offer, Offers, Phase, RequestShape, Revision, Session};
use crate::time::UnixMillis;

const VERSION: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    version: u32,
    id: SessionId,
    tenant: TenantId,
    livemode: bool,
    #[serde(rename = "profile")]
    shape: RequestShape,
    client_identifier: ClientIdentifier,
    response_uri: String,
    #[serde(default)]
    request_uri: Option<String>,
    #[serde(default)]
    encryption_key: Option<EncryptionKey>,
    nonce: Nonce,
    state: State,
    request: StoredRequest<'static>,
    created_at: UnixMillis,
    expires_at: UnixMillis,
    revision: Revision,
    phase: Phase,
    trust_version: Option<u64>,
}

/// The session in `bytes`, with its request as its own offer.
pub(super) fn session(bytes: &[u8]) -> Option<Session> {
    let snapshot: Snapshot = serde_json::from_slice(bytes).ok()?;
    let offer = Offer {
        browser: None,
        id: None,
        shape: snapshot.shape,
        client_identifier: snapshot.client_identifier,
        signer: None,
        response_uri: snapshot.response_uri,
        request_uri: snapshot.request_uri,
        encryption_key: snapshot.encryption_key,
        nonce: snapshot.nonce,
        state: snapshot.state,
        announces_post: false,
    };
    let session = Session {
        id: snapshot.id,
        tenant: snapshot.tenant,
        livemode: snapshot.livemode,
        offers: Offers::one(offer),
        request: snapshot.request.into_request(),
        verifier_info: Vec::new(),
        created_at: snapshot.created_at,
        expires_at: snapshot.expires_at,
        revision: snapshot.revision,
        phase: snapshot.phase,
        trust_version: snapshot.trust_version,
        result: None,
    };
    (snapshot.version == VERSION).then_some(session)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::error::Reason;
    use crate::request::Profile;
    use crate::request::fixtures::NOW;
    use crate::session::{Input, SnapshotError, Status};

    /// A pending session in the inline profile.
    const INLINE: &str = include_str!("snapshot/version_1_inline.json");
    /// A session in phase CREATED in the jar profile, with the private key of its answer.
    const JAR: &str = include_str!("snapshot/version_1_jar.json");

    #[test]
    fn version_1_is_read_in_full() {
        for (stored, status) in [(INLINE, Status::Pending), (JAR, Status::Created)] {
            let session = Session::from_bytes(stored.as_bytes()).unwrap();
            assert_eq!(session.status_at(NOW), status);
            assert_eq!(session.expires_at(), NOW.plus(300_000));
            let own = session.offers.own();
            assert_eq!((own.id(), own.signer(), own.profile()), (None, None, Profile::Draft));
            assert_eq!(own.encryption_key.is_some(), session.request_uri().is_some());
            assert_eq!(session.offers().count(), 1);
        }
    }

    #[test]
    fn a_session_of_version_1_continues_and_is_stored_as_version_2() {
        for stored in [INLINE, JAR] {
            let session = Session::from_bytes(stored.as_bytes()).unwrap();
            let reason = Reason::NonceMismatch;
            let transition = session.apply(Input::Failed(reason), NOW.plus(1)).unwrap();
            assert_eq!(
                (transition.from, transition.session.revision()),
                (Revision(1), Revision(2))
            );
            assert_eq!(transition.session.reason_at(NOW.plus(1)), Some(reason));
            let again = Session::from_bytes(&session.to_bytes()).unwrap();
            assert_eq!(format!("{again:?}"), format!("{session:?}"));
            assert!(session.to_bytes().starts_with(b"{\"version\":2,"));
        }
    }

    #[test]
    fn version_1_without_the_members_of_the_jar_profile_is_read() {
        assert!(!INLINE.contains("request_uri\":\"https") && !INLINE.contains("encryption_key"));
        let session = Session::from_bytes(INLINE.as_bytes()).unwrap();
        assert_eq!(session.shape(), &RequestShape::inline());
        let own = session.offers.own();
        assert!(own.request_uri().is_none() && own.encryption_key.is_none());
    }

    #[test]
    fn an_unknown_version_is_refused_in_either_profile() {
        for stored in [INLINE, JAR] {
            for version in ["0", "2", "3", "4294967296", "-1", "1.0", "\"1\"", "null"] {
                let member = format!("{{\"version\":{version},");
                let other = stored.replacen("{\"version\":1,", &member, 1);
                assert_ne!(other, stored);
                assert_eq!(Session::from_bytes(other.as_bytes()).err(), Some(SnapshotError));
            }
            let without = stored.replacen("{\"version\":1,", "{", 1);
            assert_eq!(Session::from_bytes(without.as_bytes()).err(), Some(SnapshotError));
        }
    }
}
