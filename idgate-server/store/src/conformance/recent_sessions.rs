//! Sessions in memory: a transition that was decided by a copy counts only if nothing has changed.

use idgate_core::Transition;
use idgate_core::shell::Jwk;

use super::super::fixtures::ISSUER_JWK;
use super::*;
use idgate_base::clock::Moment;

impl<B: Backend> Fixture<B> {
    /// A stored PENDING session, as memory has it.
    async fn recalled(&self) -> Recalled {
        let session = self.session(&self.live).await;
        self.store().in_force(Moment::now()).await.unwrap();
        self.store().recall(session.id().as_str()).unwrap()
    }

    async fn is_stored(&self, basis: Basis, transition: Transition) -> bool {
        self.store().commit_by(basis, transition, None).await.unwrap() == Committed::Yes
    }

    async fn remembers(&self, session: &Session) -> bool {
        self.store().in_force(Moment::now()).await.unwrap();
        self.store().recall(session.id().as_str()).is_some()
    }
}

pub(super) async fn a_recalled_session_is_the_one_that_a_read_finds<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let store = fixture.store();
    store.in_force(Moment::now()).await.unwrap();
    let (created, key) = fixture.jar_session().await;
    let followed = created.followed(NOW).unwrap();
    let recalled = store.recall(created.id().as_str()).unwrap();
    assert!(fixture.is_stored(recalled.basis, followed).await);
    for session in [created, fixture.session(&fixture.live).await] {
        let recalled = store.recall(session.id().as_str()).unwrap().session;
        let read = store.session(session.id()).await.unwrap().unwrap();
        assert_eq!(recalled.revision(), read.revision());
        assert_eq!(recalled.to_bytes(), read.to_bytes());
        let key_of = |session: &Session| session.clone().take_encryption_key();
        assert_eq!(key_of(&recalled), key_of(&read));
        assert!(key_of(&read).is_none_or(|read| *read == key));
    }
}

pub(super) async fn a_transition_by_memory_is_stored_if_nothing_has_changed<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let Recalled { session, basis, .. } = fixture.recalled().await;
    assert!(basis.is_recalled() && !Basis::default().is_recalled());
    assert!(fixture.is_stored(basis, verify(&session, NOW, "{}")).await);
    assert_eq!(fixture.read(&session, NOW).unwrap().status_at(NOW), Status::Verified);
}

pub(super) async fn a_change_of_trust_keys_or_registrations_voids_a_transition_by_memory<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    let changes: [fn(&Fixture<B>); 3] = [
        |fixture| {
            let keys = vec![(Jwk::parse(ISSUER_JWK.as_bytes()).unwrap().key, None)];
            let change = TrustChange { keys, ..TrustChange::default() };
            fixture.operator().add_trust("another", &change, NOW).unwrap().unwrap();
        },
        |fixture| fixture.operator().rotate_gateway_key(NOW).unwrap(),
        |fixture| {
            let client = fixture.live.client_id.as_str();
            registrations::keep(fixture, client, (None, "party"), false, 1);
        },
    ];
    for change in changes {
        let Recalled { session, basis, .. } = fixture.recalled().await;
        change(&fixture);
        assert!(!fixture.is_stored(basis, verify(&session, NOW, "{}")).await);
        assert_eq!(fixture.read(&session, NOW).unwrap().revision(), session.revision());
        // A decision by rows that were read is stored as before.
        assert!(fixture.is_stored(Basis::default(), verify(&session, NOW, "{}")).await);
    }
}

pub(super) async fn a_change_of_the_session_voids_a_transition_by_memory<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let Recalled { session, basis, .. } = fixture.recalled().await;
    assert!(fixture.is_stored(Basis::default(), hold(&session, NOW.plus(10_000))).await);
    assert!(!fixture.is_stored(basis, verify(&session, NOW, "{}")).await);
    let held = fixture.read(&session, NOW).unwrap();
    assert_eq!(held.status_at(NOW), Status::Verifying);
}

pub(super) async fn the_revocation_of_its_client_voids_a_transition_by_memory<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.store().in_force(Moment::now()).await.unwrap();
    let (created, _) = fixture.jar_session().await;
    let Recalled { session, basis, .. } = fixture.store().recall(created.id().as_str()).unwrap();
    let client = fixture.live.client_id.as_str();
    assert!(fixture.operator().revoke_client(client, NOW).unwrap());
    assert!(!fixture.is_stored(basis, session.followed(NOW).unwrap()).await);
}

pub(super) async fn a_held_settled_deleted_or_expired_session_is_not_recalled<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let store = fixture.store();
    let held = fixture.session(&fixture.live).await;
    assert!(fixture.remembers(&held).await);
    assert!(fixture.is_stored(Basis::default(), hold(&held, NOW.plus(10_000))).await);
    assert!(!fixture.remembers(&held).await);
    let settled = fixture.verified(&fixture.live, NOW, "{}").await;
    assert!(!fixture.remembers(&settled).await);
    let deleted = fixture.session(&fixture.live).await;
    assert!(fixture.remembers(&deleted).await);
    assert!(store.delete_session(&fixture.live, deleted.id(), NOW).await.unwrap());
    assert!(!fixture.remembers(&deleted).await);
    let expired = fixture.session(&fixture.live).await;
    assert!(fixture.remembers(&expired).await);
    store.due_sessions(expired.expires_at(), 10).await.unwrap();
    assert!(!fixture.remembers(&expired).await);
}

/// Both changes make the same revision of the session.
pub(super) async fn a_change_that_is_not_committed_yet_is_not_recalled<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.live).await;
    let held = hold(&session, NOW.plus(1));
    assert!(fixture.is_stored(Basis::default(), held.clone()).await);
    let cancelled = verify(&held.session, NOW, "{}");
    assert!(fixture.is_stored(Basis::default(), cancelled).await);
    let late = fixture.store().commit_own(held.session.lease_lost(NOW.plus(1)).unwrap());
    assert!(!fixture.remembers(&session).await);
    assert_eq!(late.await.unwrap(), Committed::LostRace);
    assert!(!fixture.remembers(&session).await);
}

pub(super) async fn a_write_that_is_not_stored_leaves_no_copy<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let Recalled { session, .. } = fixture.recalled().await;
    fixture.set_mood(Mood::Busy);
    let held = hold(&session, NOW.plus(10_000)).session.released(NOW).unwrap();
    assert!(fixture.store().commit(held, None).await.is_err());
    fixture.set_mood(Mood::Well);
    assert!(!fixture.remembers(&session).await);
}

/// The sweeper and the next start read sessions without their keys.
pub(super) async fn an_encrypted_session_is_recalled_with_its_key_or_not_at_all<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let store = fixture.store();
    let (session, key) = fixture.jar_session().await;
    let open = |session: Session| session.clone().take_encryption_key().map(|key| key.to_vec());
    let followed = session.followed(NOW).unwrap();
    assert!(fixture.is_stored(Basis::default(), followed.clone()).await);
    assert!(fixture.remembers(&session).await);
    let recalled = store.recall(session.id().as_str()).unwrap().session;
    assert_eq!(open(recalled), Some(key));
    let held = hold(&followed.session, NOW.plus(1));
    assert!(fixture.is_stored(Basis::default(), held).await);
    let due = store.due_sessions(NOW.plus(2), 10).await.unwrap().remove(0).unwrap();
    let freed = due.lease_lost(NOW.plus(2)).unwrap();
    assert_eq!(store.commit_own(freed).await.unwrap(), Committed::Yes);
    assert!(!fixture.remembers(&session).await);
}
