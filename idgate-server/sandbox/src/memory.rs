//! The console's memory of sessions. It holds requests, and for 15 minutes the answers of the
//! sandbox's wallet, the results that its test client read, and the reports on accepted answers. No
//! store has any of this.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_base::clock::Clock;
use idgate_core::shell::{Delivery, ResponseEncryption};
use idgate_core::{Profile, Session, SessionId, UnixMillis};
use idgate_server::app::{CreatedSession, Observer};

use crate::limits::{
    MAX_REMEMBERED_ANSWERS, MAX_REMEMBERED_CHARS, MAX_REMEMBERED_SESSIONS, REMEMBERED_MS,
};

/// The sessions that the console knows, newest first.
pub(super) struct Memory {
    clock: Arc<dyn Clock>,
    sessions: Mutex<VecDeque<Remembered>>,
}

/// A session as the console remembers it.
#[derive(Clone, Debug, Default)]
pub(super) struct Remembered {
    pub(super) id: String,
    /// The request; `None` if another run of the sandbox made the session.
    pub(super) asked: Option<Asked>,
    /// The report on an accepted answer, as JSON.
    pub(super) report: Option<Kept>,
    /// The result that the test client read, as JSON.
    pub(super) read: Option<Kept>,
    /// Whether the test client has read a result.
    pub(super) was_read: bool,
    /// The session was deleted: nothing about it may be remembered any more.
    is_deleted: bool,
    /// The answers of the sandbox's wallet, newest first.
    pub(super) answers: Vec<Answer>,
}

impl Remembered {
    /// The sandbox wallet's answer that the gateway evaluated.
    pub(super) fn settling_answer(&self) -> Option<&Answer> {
        self.answers.iter().rev().find(|answer| answer.was_judged())
    }
}

/// A request to a wallet. It contains claims only as values of the tenant's filters.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// The body of `POST /v1/sessions`.
    pub(super) body: String,
    /// The DCQL query; `None` for drafts.
    pub(super) dcql: Option<String>,
    pub(super) profile: Profile,
    pub(super) by_reference: bool,
    pub(super) is_encrypted: bool,
    pub(super) link: String,
    /// The page for the person.
    pub(super) page_url: Option<String>,
    pub(super) credentials: Vec<AskedCredential>,
}

/// One credential of a request.
#[derive(Clone, Debug)]
pub(super) struct AskedCredential {
    pub(super) format: &'static str,
    /// `vct` or the document type.
    pub(super) kind: String,
    pub(super) issuer_id: String,
    pub(super) claims: Vec<String>,
}

/// A text that may hold claims, and the time when it was stored.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) at: UnixMillis,
    pub(super) text: String,
}

/// An answer of the sandbox's wallet.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) at: UnixMillis,
    /// The name of the action.
    pub(super) deed: &'static str,
    /// The provider whose credentials it showed.
    pub(super) from: &'static str,
    /// The gateway's reply: its status and its body.
    pub(super) said: String,
    /// The parameters before encryption, as JSON; `None` once they are forgotten.
    pub(super) sent: Option<String>,
}

impl Answer {
    /// Whether the gateway evaluated it: the session was open, and the gateway had capacity.
    fn was_judged(&self) -> bool {
        !["409", "429", "5"].iter().any(|status| self.said.starts_with(status))
    }
}

impl Memory {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, sessions: Mutex::default() }
    }

    /// The memory of a session; empty if the session is unknown.
    pub(super) fn of(&self, id: &str) -> Remembered {
        let found = self.sessions().iter().find(|one| one.id == id).cloned();
        found.unwrap_or_else(|| Remembered { id: id.to_owned(), ..Remembered::default() })
    }

    /// The session behind a link of the sandbox's own gateway.
    pub(super) fn behind(&self, link: &str) -> Option<String> {
        let has_link = |one: &&Remembered| one.asked.as_ref().is_some_and(|it| it.link == link);
        self.sessions().iter().find(has_link).map(|one| one.id.clone())
    }

    /// Remembers an answer of the wallet.
    pub(super) fn answered(&self, id: &str, mut answer: Answer) {
        answer.said = shortened(answer.said);
        answer.sent = answer.sent.map(shortened);
        self.change(id, |one| {
            while one.answers.len() >= MAX_REMEMBERED_ANSWERS {
                let in_vain = one.answers.iter().rposition(|answer| !answer.was_judged());
                one.answers.remove(in_vain.unwrap_or(one.answers.len().saturating_sub(1)));
            }
            one.answers.insert(0, answer);
        });
    }

    /// Remembers the result that the test client read.
    pub(super) fn read(&self, id: &str, text: String) {
        let kept = self.kept(text);
        self.change(id, |one| (one.read, one.was_read) = (Some(kept), true));
    }

    /// The session was deleted. Results that arrive later change nothing.
    pub(super) fn forget(&self, id: &str) {
        let gone = || Remembered { id: id.to_owned(), is_deleted: true, ..Remembered::default() };
        self.change(id, |one| *one = gone());
    }

    /// Drops texts older than 15 minutes.
    pub(super) fn forget_old(&self) {
        drop(self.sessions());
    }

    fn kept(&self, text: String) -> Kept {
        Kept { at: self.clock.now(), text: shortened(text) }
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Remembered)) {
        let mut sessions = self.sessions();
        if let Some(one) = sessions.iter_mut().find(|one| one.id == id) {
            if !one.is_deleted {
                change(one);
            }
            return;
        }
        let mut new = Remembered { id: id.to_owned(), ..Remembered::default() };
        change(&mut new);
        sessions.truncate(MAX_REMEMBERED_SESSIONS.saturating_sub(1));
        sessions.push_front(new);
    }

    /// All sessions, without texts that are too old.
    fn sessions(&self) -> MutexGuard<'_, VecDeque<Remembered>> {
        // A panic elsewhere cannot leave partial data: each change is one assignment.
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let is_over = |at: UnixMillis| now.since(at) >= REMEMBERED_MS;
        for one in sessions.iter_mut() {
            one.report.take_if(|kept| is_over(kept.at));
            one.read.take_if(|kept| is_over(kept.at));
            for answer in one.answers.iter_mut().filter(|answer| is_over(answer.at)) {
                answer.sent = None;
            }
        }
        sessions
    }
}

impl Observer for Memory {
    fn created(&self, session: &Session, body: &[u8], created: &CreatedSession) {
        let asked = Asked::of(session, body, created);
        self.change(session.id().as_str(), |one| one.asked = Some(asked));
    }

    fn accepted(&self, id: &SessionId, report: String) {
        let kept = self.kept(report);
        self.change(id.as_str(), |one| one.report = Some(kept));
    }

    fn deleted(&self, id: &SessionId) {
        self.forget(id.as_str());
    }
}

impl Asked {
    fn of(session: &Session, body: &[u8], created: &CreatedSession) -> Self {
        let request = session.request();
        let first = session.offers().next();
        let profile = created.invitation.profile();
        let shape = first.map(|offer| offer.shape());
        let credentials = request.credentials().iter().map(|one| AskedCredential {
            format: one.format().name(),
            kind: match one.doc_type() {
                Some(doc_type) => doc_type.as_str().to_owned(),
                None => one.vct().first().cloned().unwrap_or_default(),
            },
            issuer_id: one.issuer_id().as_str().to_owned(),
            claims: one.claims().to_vec(),
        });
        Self {
            body: shortened(String::from_utf8_lossy(body).into_owned()),
            dcql: (profile != Profile::Draft).then(|| request.dcql_query(profile)),
            profile,
            by_reference: shape.is_some_and(|shape| shape.delivery != Delivery::Inline),
            is_encrypted: shape.is_some_and(|shape| shape.response != ResponseEncryption::Plain),
            link: created.invitation.qr_code_url.clone(),
            page_url: created.page_url.clone(),
            credentials: credentials.collect(),
        }
    }
}

/// Cuts a reply, which may be very long.
fn shortened(mut said: String) -> String {
    if let Some((end, _)) = said.char_indices().nth(MAX_REMEMBERED_CHARS) {
        said.truncate(end);
        said.push('…');
        said.shrink_to_fit();
    }
    said
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A clock that moves only when a test moves it.
    #[derive(Default)]
    struct StillClock(AtomicU64);

    impl Clock for StillClock {
        fn now(&self) -> UnixMillis {
            UnixMillis(self.0.load(Ordering::Relaxed))
        }
    }

    fn answer(at: u64, said: &str) -> Answer {
        let (deed, from, sent) = ("accept", "Utopia Registry", Some("{}".into()));
        Answer { at: UnixMillis(at), deed, from, said: said.into(), sent }
    }

    #[test]
    fn texts_that_may_hold_claims_are_forgotten_after_15_minutes() {
        let clock = Arc::new(StillClock::default());
        let memory = Memory::new(clock.clone());
        memory.read("ses_1", "{}".into());
        memory.accepted(&SessionId::new("ses_1"), "{}".into());
        memory.answered("ses_1", answer(0, "200"));
        clock.0.store(REMEMBERED_MS - 1, Ordering::Relaxed);
        let one = memory.of("ses_1");
        assert!(one.read.is_some() && one.report.is_some());
        assert!(one.answers.first().unwrap().sent.is_some());
        clock.0.store(REMEMBERED_MS, Ordering::Relaxed);
        memory.forget_old();
        let one = memory.sessions.lock().unwrap().front().unwrap().clone();
        assert!(one.read.is_none() && one.report.is_none(), "{one:?}");
        let first = one.answers.first().unwrap();
        assert_eq!((first.sent.as_deref(), &*first.said), (None, "200"), "without claims it stays");
    }

    #[test]
    fn results_in_flight_do_not_bring_a_deleted_session_back() {
        let memory = Memory::new(Arc::new(StillClock::default()));
        memory.read("ses_1", "{}".into());
        memory.forget("ses_1");
        memory.forget("ses_2");
        for id in ["ses_1", "ses_2"] {
            memory.read(id, "{}".into());
            memory.accepted(&SessionId::new(id), "{}".into());
            memory.answered(id, answer(0, "200"));
            let one = memory.of(id);
            assert!(
                one.read.is_none() && one.report.is_none() && one.answers.is_empty(),
                "{one:?}"
            );
        }
    }

    #[test]
    fn an_answer_that_was_not_evaluated_settles_nothing_and_is_dropped_first() {
        let memory = Memory::new(Arc::new(StillClock::default()));
        memory.answered("ses_1", answer(0, "503 {}"));
        assert!(memory.of("ses_1").settling_answer().is_none());
        memory.answered("ses_1", answer(1, "200 {}"));
        for at in 2..9 {
            memory.answered("ses_1", answer(at, "409 {}"));
        }
        assert_eq!(memory.of("ses_1").settling_answer().unwrap().at, UnixMillis(1));
        assert_eq!(memory.of("ses_1").answers.len(), MAX_REMEMBERED_ANSWERS);
    }

    #[test]
    fn the_newest_sessions_and_answers_are_kept_and_no_more_than_the_bound() {
        let memory = Memory::new(Arc::new(StillClock::default()));
        for n in 0..=MAX_REMEMBERED_SESSIONS {
            memory.read(&format!("ses_{n}"), String::new());
        }
        assert_eq!(memory.sessions().len(), MAX_REMEMBERED_SESSIONS);
        assert!(memory.of("ses_0").read.is_none() && memory.of("ses_1").read.is_some());
        for n in 0..=MAX_REMEMBERED_ANSWERS {
            memory.answered("ses_1", answer(0, &n.to_string()));
        }
        let answers = memory.of("ses_1").answers;
        assert_eq!(answers.len(), MAX_REMEMBERED_ANSWERS);
        assert_eq!(answers.first().unwrap().said, MAX_REMEMBERED_ANSWERS.to_string());
        memory.forget("ses_1");
        assert!(memory.of("ses_1").answers.is_empty());
    }

    #[test]
    fn a_session_that_its_tenant_deletes_is_forgotten_immediately() {
        let memory = Memory::new(Arc::new(StillClock::default()));
        memory.read("ses_1", "{}".into());
        memory.deleted(&SessionId::new("ses_1"));
        assert!(memory.of("ses_1").read.is_none());
    }

    #[test]
    fn the_beginning_of_a_long_text_is_kept() {
        let long = "é".repeat(MAX_REMEMBERED_CHARS);
        assert_eq!(shortened(long.clone()), long);
        let kept = shortened(format!("{long}{}", "x".repeat(1 << 20)));
        assert_eq!(kept, format!("{long}…"));
    }
}
