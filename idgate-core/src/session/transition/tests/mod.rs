//! The transitions of a session, and how it reads as time passes.

use alloc::string::String;

use super::*;
use crate::request::fixtures::{self, NOW};
use crate::session::Reader;
#[cfg(feature = "rustcrypto")]
use crate::verifier::NewSession;

const LATER: UnixMillis = UnixMillis(NOW.0 + 1000);
const END: UnixMillis = UnixMillis(NOW.0 + 300_000);

fn session(phase: Phase) -> Session {
    let mut session = fixtures::session(fixtures::one_credential());
    session.phase = phase;
    session
}

fn verified(at: UnixMillis) -> Input {
    Input::Verified(SessionResult::new("{}".into(), "{}".into(), at))
}

fn settled() -> [Phase; 3] {
    let at = NOW;
    let reason = Reason::NonceMismatch;
    let failed = Phase::Failed { at, reason, wallet_error: None };
    [Phase::Verified { at }, failed, Phase::Expired { at }]
}

#[test]
fn an_inline_session_is_created_and_pending_in_one_commit() {
    let transition = fixtures::creation(fixtures::one_credential());
    assert_eq!(transition.from, Revision(0));
    assert_eq!(transition.session.revision(), Revision(1));
    assert_eq!(transition.session.phase(), &Phase::Pending);
    let expected = [
        publish(Status::Created, None, None, NOW),
        publish(Status::Pending, None, None, NOW),
        Effect::ExpireAt(END),
    ];
    assert_eq!(transition.effects, expected);
}

#[cfg(feature = "rustcrypto")]
#[test]
fn a_session_by_reference_is_created_and_waits_for_a_wallet() {
    let (tenant, mut entropy) = (crate::ids::TenantId::new("cli_1"), Default::default());
    let verifier = fixtures::jar_verifier();
    let request = fixtures::one_credential();
    let made = verifier.create_resolved_session(
        request,
        NewSession::live().tenant(tenant),
        &mut entropy as &mut fixtures::CountingEntropy,
        NOW,
    );
    let transition = made.unwrap();
    assert_eq!(transition.session.phase(), &Phase::Created);
    let expected = [publish(Status::Created, None, None, NOW), Effect::ExpireAt(END)];
    assert_eq!(transition.effects, expected);
}

#[test]
fn a_good_answer_settles_and_is_redacted_30_seconds_later() {
    let transition = session(Phase::Pending).apply(verified(LATER), LATER).unwrap();
    assert_eq!((transition.from, transition.session.revision), (Revision(1), Revision(2)));
    assert_eq!(transition.session.phase, Phase::Verified { at: LATER });
    assert!(transition.session.result(Reader::Backend, LATER).is_ok());
    let expected =
        [publish(Status::Verified, None, None, LATER), Effect::RedactClaimsAt(LATER.plus(30_000))];
    assert_eq!(transition.effects, expected);
}

#[test]
fn a_refused_answer_settles_with_its_reason() {
    let reason = Reason::SdHashMismatch;
    let transition = session(Phase::Pending).apply(Input::Failed(reason), LATER).unwrap();
    assert_eq!(transition.session.phase, Phase::Failed { at: LATER, reason, wallet_error: None });
    assert_eq!(transition.effects, [publish(Status::Failed, Some(reason), None, LATER)]);
}

#[test]
fn the_wallets_error_stays_with_the_session() {
    let reason = Some(Reason::WalletError);
    for error in WalletError::ALL {
        let transition = session(Phase::Pending).apply(Input::Declined(*error), LATER).unwrap();
        let expected = publish(Status::Failed, reason, Some(*error), LATER);
        assert_eq!(transition.effects, [expected]);
        let again = Session::from_bytes(&transition.session.to_bytes()).unwrap();
        assert_eq!((again.reason_at(LATER), again.wallet_error()), (reason, Some(*error)));
    }
    for input in [Input::Failed(Reason::NonceMismatch), Input::Expired, verified(LATER)] {
        let settled = session(Phase::Pending).apply(input, LATER).unwrap().session;
        assert_eq!(settled.wallet_error(), None);
    }
}

/// For sessions that earlier versions stored without it.
#[test]
fn a_wallet_error_without_a_stored_name_is_other() {
    let phase = Phase::Failed { at: NOW, reason: Reason::WalletError, wallet_error: None };
    let stored = session(phase).to_bytes();
    assert!(!String::from_utf8(stored.to_vec()).unwrap().contains("wallet_error\":"));
    let again = Session::from_bytes(&stored).unwrap();
    assert_eq!(again.wallet_error(), Some(WalletError::Other));
}

#[test]
fn an_answer_that_arrived_in_time_may_finish_after_expiry() {
    let phases = [Phase::Pending, Phase::Verifying { lease_until: END.plus(9) }];
    for phase in phases {
        let transition = session(phase).apply(verified(END), END.plus(5)).unwrap();
        assert_eq!(transition.session.status_at(END.plus(5)), Status::Verified);
    }
}

#[test]
fn a_settled_session_accepts_no_input() {
    for phase in settled() {
        let session = session(phase);
        let inputs = [
            Input::Followed,
            Input::Hold,
            Input::LeaseLost,
            Input::Released,
            Input::Revoked,
            Input::Cancelled,
            verified(NOW),
            Input::Declined(WalletError::AccessDenied),
            Input::Expired,
        ];
        for input in inputs {
            let error = session.apply(input, LATER).unwrap_err();
            assert_eq!(error, NotAnAnswer::SessionClosed);
        }
        assert!(session.followed(LATER).is_none());
        assert!(session.expired(END).is_none());
        assert!(session.lease_lost(END).is_none());
        assert!(session.released(LATER).is_none());
        assert!(session.cancelled(LATER).is_none());
    }
}

#[test]
fn a_person_can_cancel_only_a_session_that_waits_for_an_answer() {
    let lease_until = LATER.plus(1);
    for phase in [Phase::Created, Phase::Pending] {
        let ended = session(phase).cancelled(LATER).unwrap().session;
        assert_eq!(ended.status_at(LATER), Status::Failed);
        assert_eq!(ended.reason_at(LATER), Some(Reason::Cancelled));
        assert_eq!(ended.settled_at(), Some(LATER));
    }
    let verifying = session(Phase::Verifying { lease_until });
    assert!(verifying.cancelled(LATER).is_none());
    assert!(verifying.apply(Input::Cancelled, LATER).is_err());
    // The lease is over, so the session waits for an answer again.
    let ended = verifying.cancelled(lease_until).unwrap().session;
    assert_eq!(ended.reason_at(lease_until), Some(Reason::Cancelled));
    // A session has expired after its lifetime and cannot be cancelled.
    assert!(session(Phase::Pending).cancelled(END).is_none());
}

#[test]
fn hold_takes_a_lease_of_20_seconds() {
    let transition = session(Phase::Pending).apply(Input::Hold, LATER).unwrap();
    let lease_until = LATER.plus(20_000);
    assert_eq!(transition.session.phase, Phase::Verifying { lease_until });
    assert_eq!(transition.effects, [publish(Status::Verifying, None, None, LATER)]);
    assert!(!transition.session.offers.own().nonce.expose().is_empty());
}

#[test]
fn a_verification_cannot_be_held_twice_within_its_lease() {
    let session = session(Phase::Verifying { lease_until: LATER });
    let error = session.apply(Input::Hold, LATER.minus(1)).unwrap_err();
    assert_eq!(error, NotAnAnswer::SessionClosed);
    assert!(session.apply(Input::Hold, LATER).is_ok());
}

#[test]
fn a_lost_lease_is_pending_or_expired() {
    let session = session(Phase::Verifying { lease_until: LATER });
    assert!(session.lease_lost(LATER.minus(1)).is_none());
    let pending = session.lease_lost(LATER).unwrap();
    assert_eq!(pending.session.phase, Phase::Pending);
    assert_eq!(pending.effects, [publish(Status::Pending, None, None, LATER)]);
    let expired = session.lease_lost(END).unwrap();
    assert_eq!(expired.session.phase, Phase::Expired { at: END });
    assert!(fixtures::session(fixtures::one_credential()).lease_lost(END).is_none());
}

#[test]
fn a_released_verification_is_pending_again_or_expired() {
    let held = session(Phase::Verifying { lease_until: END.plus(10_000) });
    let pending = held.released(LATER).unwrap();
    assert_eq!((pending.from, &pending.session.phase), (Revision(1), &Phase::Pending));
    assert_eq!(pending.effects, [publish(Status::Pending, None, None, LATER)]);
    assert!(pending.session.accepts_response(LATER));
    let expired = held.released(END.plus(5)).unwrap();
    assert_eq!(expired.session.phase, Phase::Expired { at: END.plus(5) });
    for phase in [Phase::Created, Phase::Pending] {
        assert!(session(phase).released(LATER).is_none());
    }
}

#[test]
fn expiry_settles_at_expires_at_however_late_it_is_stored() {
    let session = session(Phase::Pending);
    assert!(session.expired(END.minus(1)).is_none());
    let transition = session.expired(END.plus(77)).unwrap();
    assert_eq!(transition.session.phase, Phase::Expired { at: END });
    let expected = publish(Status::Expired, Some(Reason::SessionExpired), None, END);
    assert_eq!(transition.effects, [expected]);
}

#[test]
fn a_verification_within_its_lease_does_not_expire() {
    let lease_until = END.plus(10);
    let session = session(Phase::Verifying { lease_until });
    assert!(session.expired(END.plus(9)).is_none());
    let transition = session.expired(END.plus(10)).unwrap();
    assert_eq!(transition.session.phase, Phase::Expired { at: lease_until });
}

#[test]
fn following_the_link_makes_a_created_session_pending() {
    let transition = session(Phase::Created).followed(LATER).unwrap();
    assert_eq!(transition.session.phase, Phase::Pending);
    assert_eq!(transition.effects, [publish(Status::Pending, None, None, LATER)]);
    assert!(session(Phase::Created).followed(END).is_none());
    assert!(session(Phase::Pending).followed(LATER).is_none());
    assert!(session(Phase::Verifying { lease_until: END }).followed(LATER).is_none());
}

#[test]
fn nonce_and_state_are_erased_at_the_settlement() {
    let pending = session(Phase::Pending);
    for input in [verified(LATER), Input::Declined(WalletError::AccessDenied), Input::Expired] {
        let settled = pending.apply(input, LATER).unwrap().session;
        let own = settled.offers.own();
        assert_eq!((own.nonce.expose(), own.state.expose()), ("", ""));
    }
}

#[test]
fn open_sessions_read_expired_from_expires_at_on() {
    for (phase, before) in [(Phase::Created, Status::Created), (Phase::Pending, Status::Pending)] {
        let session = session(phase);
        assert_eq!(session.expires_at(), END);
        assert_eq!(session.status_at(END.minus(1)), before);
        assert_eq!(session.reason_at(END.minus(1)), None);
        assert!(session.accepts_response(END.minus(1)));
        assert_eq!(session.status_at(END), Status::Expired);
        assert_eq!(session.reason_at(END), Some(Reason::SessionExpired));
        assert!(!session.accepts_response(END));
    }
}

#[test]
fn a_verification_within_its_lease_outlives_expires_at() {
    let lease_until = END.plus(10);
    let session = session(Phase::Verifying { lease_until });
    for now in [END.minus(1), END, END.plus(9)] {
        assert_eq!(session.status_at(now), Status::Verifying);
        assert!(!session.accepts_response(now));
    }
    assert_eq!(session.status_at(lease_until), Status::Expired);
}

#[test]
fn a_lost_lease_reads_pending() {
    let lease_until = NOW.plus(20_000);
    let session = session(Phase::Verifying { lease_until });
    assert_eq!(session.status_at(lease_until), Status::Pending);
    assert!(session.accepts_response(lease_until));
    assert_eq!(session.status_at(END), Status::Expired);
}

#[test]
fn settled_sessions_never_expire() {
    let at = NOW.plus(5);
    let reason = Reason::NonceMismatch;
    for (phase, status, why) in [
        (Phase::Verified { at }, Status::Verified, None),
        (Phase::Failed { at, reason, wallet_error: None }, Status::Failed, Some(reason)),
        (Phase::Expired { at }, Status::Expired, Some(Reason::SessionExpired)),
    ] {
        let session = session(phase);
        for now in [at, END, END.plus(1_000_000)] {
            assert_eq!((session.status_at(now), session.reason_at(now)), (status, why));
            assert!(!session.accepts_response(now));
        }
        assert_eq!(session.settled_at(), Some(at));
    }
    assert_eq!(fixtures::session(fixtures::one_credential()).settled_at(), None);
}
