//! Answers under an `Idempotency-Key`: once, for 24 hours, and no longer than their session.

use zeroize::Zeroizing;

use super::*;

const DAY: u64 = 24 * 60 * 60 * 1000;

impl Fixture {
    /// Queues a session under the key, at `now`; it resolves to an earlier answer if there is one.
    fn queued(
        &self,
        key: u8,
        answer: &str,
        now: UnixMillis,
    ) -> (Session, Write<'_, Option<Answered>>) {
        let trust = self.store().trust().wait().unwrap();
        let request = PresentationRequest::parse(br#"{"issuer_id":"issuer"}"#, &trust, true);
        let verifier = Verifier::builder(PROVIDER).inline("http://localhost").trust(trust).build();
        let transition = verifier
            .unwrap()
            .create_session(
                request.unwrap(),
                self.live.client_id.clone(),
                true,
                &mut OsEntropy,
                now,
            )
            .unwrap();
        let session = transition.session.clone();
        let answer = Zeroizing::new(answer.as_bytes().to_vec());
        let once = Once { key: [key; 32], body: [7; 32], answer };
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

    fn sessions(&self) -> i64 {
        let main = rusqlite::Connection::open(self.path().join("idgate.db")).unwrap();
        main.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)).unwrap()
    }
}

#[tokio::test]
async fn of_many_at_once_one_makes_a_session() {
    let fixture = Fixture::new();
    let answers: Vec<String> = (0..32).map(|n| format!("answer {n}")).collect();
    let queued: Vec<_> = answers.iter().map(|answer| fixture.queued(1, answer, NOW).1).collect();
    let mut first = None;
    for (n, attempt) in queued.into_iter().enumerate() {
        match attempt.await.unwrap() {
            None => assert_eq!(first.replace(n), None, "two are the first"),
            Some(earlier) => {
                assert_eq!(earlier.answer.as_slice(), answers[first.unwrap()].as_bytes());
            }
        }
    }
    assert_eq!(fixture.sessions(), 1);
}

#[tokio::test]
async fn an_answer_is_the_clients_for_24_hours() {
    let fixture = Fixture::new();
    fixture.once(1, "first", NOW).await;
    let last = NOW.plus(DAY - 1);
    assert_eq!(fixture.answered(&fixture.live, 1, last).as_deref(), Some("first"));
    assert_eq!(fixture.answered(&fixture.test, 1, NOW), None, "another client's key");
    assert_eq!(fixture.answered(&fixture.live, 2, NOW), None, "another key");
    assert_eq!(fixture.answered(&fixture.live, 1, NOW.plus(DAY)), None);
    // The key is free again, even before the old answer is swept.
    assert!(fixture.once(1, "second", NOW.plus(DAY)).await.1.is_none());
    let now = NOW.plus(DAY);
    assert_eq!(fixture.answered(&fixture.live, 1, now).as_deref(), Some("second"));
    assert_eq!(fixture.store().forget_answers(now, 10).await.unwrap(), 0);
    assert_eq!(fixture.store().forget_answers(now.plus(DAY), 10).await.unwrap(), 1);
}

#[tokio::test]
async fn an_answer_goes_with_its_session() {
    let fixture = Fixture::new();
    let (session, _) = fixture.once(1, "a sentinel of an answer", NOW).await;
    assert!(fixture.store().delete_session(&fixture.live, session.id(), NOW).await.unwrap());
    assert_eq!(fixture.answered(&fixture.live, 1, NOW), None);
    assert!(fixture.once(1, "another", NOW).await.1.is_none());
}
