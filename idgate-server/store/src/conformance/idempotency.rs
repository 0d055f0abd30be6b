//! Answers under an `Idempotency-Key` are stored once, for 24 hours at most, and never longer than
//! their session.

use zeroize::Zeroizing;

use super::*;

const DAY: u64 = 24 * 60 * 60 * 1000;

impl<B: Backend> Fixture<B> {
    /// Queues a session under the key at `now`. Resolves to the earlier answer if there is one.
    fn queued(
        &self,
        key: u8,
        answer: &str,
        now: UnixMillis,
    ) -> (Session, Write<'_, Option<Answered>>) {
        let transition = self.new_session(&self.live, now);
        let session = transition.session.clone();
        let answer = Zeroizing::new(answer.as_bytes().to_vec());
        let once = Once { key: [key; 32], body: [7; 32], answer, beside: Beside::default() };
        let made = self.store().create_session_once(&self.live, transition, once);
        let earlier = async {
            match made.await? {
                MadeOnce::Yes => Ok(None),
                MadeOnce::Earlier(earlier) => Ok(Some(earlier)),
                MadeOnce::NoRoom => panic!("the quota is far"),
            }
        };
        (session, Box::pin(earlier))
    }

    async fn once(&self, key: u8, answer: &str, now: UnixMillis) -> (Session, Option<Answered>) {
        let (session, created) = self.queued(key, answer, now);
        (session, created.await.unwrap())
    }

    fn answered(&self, caller: &Caller, key: u8, now: UnixMillis) -> Option<String> {
        let found = self.store().answered(caller, &[key; 32], now).wait().unwrap()?;
        assert_eq!(found.body, [7; 32]);
        Some(String::from_utf8(found.answer.to_vec()).unwrap())
    }
}

pub(super) async fn of_many_at_once_one_makes_a_session<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let answers: Vec<String> = (0..32).map(|n| format!("answer {n}")).collect();
    let queued: Vec<_> = answers.iter().map(|answer| fixture.queued(1, answer, NOW)).collect();
    let (mut first, mut earlier) = (None, Vec::new());
    for (n, (session, attempt)) in queued.into_iter().enumerate() {
        let answered = attempt.await.unwrap();
        assert_eq!(fixture.read(&session, NOW).is_some(), answered.is_none());
        match answered {
            None => assert_eq!(first.replace(n), None, "two are the first"),
            Some(answered) => earlier.push(answered.answer),
        }
    }
    let first = answers[first.unwrap()].as_bytes();
    assert!(earlier.len() == 31 && earlier.iter().all(|answer| answer.as_slice() == first));
}

pub(super) async fn an_idempotent_answer_is_kept_for_24_hours_for_its_client<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.once(1, "first", NOW).await;
    let last = NOW.plus(DAY - 1);
    assert_eq!(fixture.answered(&fixture.live, 1, last).as_deref(), Some("first"));
    assert_eq!(fixture.answered(&fixture.test, 1, NOW), None, "another client's key");
    assert_eq!(fixture.answered(&fixture.live, 2, NOW), None, "another key");
    assert_eq!(fixture.answered(&fixture.live, 1, NOW.plus(DAY)), None);
    // The key is free again even before the old answer is removed.
    assert!(fixture.once(1, "second", NOW.plus(DAY)).await.1.is_none());
    let now = NOW.plus(DAY);
    assert_eq!(fixture.answered(&fixture.live, 1, now).as_deref(), Some("second"));
    assert_eq!(fixture.store().forget_answers(now, 10).await.unwrap(), 0);
    assert_eq!(fixture.store().forget_answers(now.plus(DAY), 10).await.unwrap(), 1);
}

pub(super) async fn an_idempotent_answer_is_removed_with_its_session<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let (session, _) = fixture.once(1, "a sentinel of an answer", NOW).await;
    assert!(fixture.store().delete_session(&fixture.live, session.id(), NOW).await.unwrap());
    assert_eq!(fixture.answered(&fixture.live, 1, NOW), None);
    assert!(fixture.once(1, "another", NOW).await.1.is_none());
}
