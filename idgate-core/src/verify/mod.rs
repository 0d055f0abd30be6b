//! The verification of an answer: the submission, then each credential, then the request's own
//! conditions, then status. Claims are available only inside `VerifiedCredential`.

mod asking;
pub(crate) mod captured;
mod claim_path;
mod conclude;
mod details;
pub(crate) mod evaluate;
pub(crate) mod expected;
mod key_binding;
pub(crate) mod mdoc;
mod party;
pub(crate) mod presentation;
pub(crate) mod proof;
mod reply;
mod report;
mod scope;
mod sd_jwt;
mod subject_groups;
mod transaction_data;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use self::asking::Asking;
use self::evaluate::note;
pub use self::presentation::{
    Hint, Presentation, PresentationStep, Refused, Sent, Transcript, TranscriptError, Verified,
};
pub use self::proof::{CredentialFacts, HolderBinding, TrustedBy};
pub use self::reply::WalletReply;
pub use self::report::{CredentialReport, Report};
pub use self::scope::Scope;
use crate::codec::base64url;
use crate::crypto::CryptoProvider;
use crate::entropy::Entropy;
use crate::error::{NotAnAnswer, Reason};
use crate::request::Profile;
use crate::response::{
    Answer, AnswerEncryption, Content, DcApiAnswer, Posted, unpack, unpack_dc_api, unpack_iso_mdoc,
    with_response_code,
};
use crate::revocation::Need;
use crate::session::{DcApiProtocol, Input, Offer, Session, SessionResult, Transition};
use crate::time::UnixMillis;
use crate::trust::TrustSnapshot;

/// One step of a verification. A program must act on both:
///
/// ```compile_fail,E0004
/// # use idgate_core::{Decision, Step};
/// # fn example(step: Step) -> Box<Decision> {
/// match step {
///     Step::Done(decision) => decision,
/// }
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is decided until it is done"]
// a third step would be a break anyway: each needs an action of the caller
#[allow(clippy::exhaustive_enums)]
pub enum Step {
    /// All checks but the status have passed. Answer needs from a cache with
    /// [`Verification::reuse`] if possible. If needs remain, commit `hold`, fetch them in parallel
    /// and pass the results to [`Verification::supply`]; then step again. There may be two rounds,
    /// because the signer of a status list is known only after the list is fetched.
    Need {
        /// The transition to commit before the first fetch: the session is VERIFYING, for 20
        /// seconds. In a later round it changes nothing, and you may commit it or not.
        hold: Box<Transition>,
        /// The sources to fetch; no two are equal.
        needs: Vec<Need>,
    },
    /// Commit the transition, then reply to the wallet.
    Done(Box<Decision>),
}

/// A finished verification.
#[derive(Debug)]
#[must_use = "nothing is stored until its transition is committed"]
#[non_exhaustive]
pub struct Decision {
    /// The transition to commit; if the commit loses a race, answer 409.
    pub transition: Transition,
    /// The reply to send after the commit.
    pub reply: WalletReply,
    /// For operators: the checks that passed and failed, for each credential.
    pub report: Report,
}

/// The basis of verdicts, until the operator changes it.
#[derive(Clone, Copy)]
pub(crate) struct Basis<'v> {
    pub(crate) provider: &'v CryptoProvider,
    pub(crate) trust: &'v TrustSnapshot,
}

/// A verification in progress.
#[must_use = "nothing is decided until it is done"]
pub struct Verification<'s> {
    basis: Basis<'s>,
    session: &'s Session,
    /// The offer that is answered.
    offer: &'s Offer,
    answer: Content<'s>,
    /// `None`: the answer was not encrypted.
    encryption: Option<AnswerEncryption<'s>>,
    /// 128 fresh bits, if the session has a `redirect_uri`.
    response_code: Option<String>,
    now: UnixMillis,
    /// The state while status sources are fetched.
    asking: Option<Asking<'s>>,
}

/// Omits the answer.
impl fmt::Debug for Verification<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verification({})", self.session.id)
    }
}

impl<'s> Verification<'s> {
    /// Begins the verification of an answer to an offer of `session`.
    ///
    /// # Errors
    /// The session is closed, the answer is not well-formed or does not decrypt, or `state` is
    /// wrong.
    pub(crate) fn begin(
        basis: Basis<'s>,
        session: &'s Session,
        response: Answer<'s>,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Self, NotAnAnswer> {
        if response.is_from_browser() {
            return Self::begin_dc_api(basis, session, response.body, now);
        }
        let offer = session.offer_at(response.to).ok_or(NotAnAnswer::SessionClosed)?;
        let posted = Posted::parse(response, offer.shape.query)?;
        if !session.accepts_response(now) {
            return Err(NotAnAnswer::SessionClosed);
        }
        let (answer, encryption) = unpack(basis.provider, offer, posted)?;
        let response_code = match session.request.redirect_uri {
            Some(_) => Some(fresh_response_code(entropy).map_err(NotAnAnswer::Entropy)?),
            None => None,
        };
        let asking = None;
        Ok(Self { basis, session, offer, answer, encryption, response_code, now, asking })
    }

    /// Begins the verification of an answer that a page received from its browser. It needs no code
    /// to lead back to the page, because it came from there.
    ///
    /// # Errors
    /// The answer is not well-formed, answers another request or does not decrypt, or the session
    /// is closed.
    fn begin_dc_api(
        basis: Basis<'s>,
        session: &'s Session,
        body: &[u8],
        now: UnixMillis,
    ) -> Result<Self, NotAnAnswer> {
        let posted = DcApiAnswer::parse(body)?;
        let offered = session.offers.browser().and_then(|(offer, browser)| {
            let protocol = DcApiProtocol::from_name(&posted.protocol)?;
            browser.protocols.contains(&protocol).then_some((offer, browser, protocol))
        });
        let (offer, browser, protocol) = offered.ok_or(NotAnAnswer::Malformed(
            "protocol is not one that this session offers to browsers",
        ))?;
        if !session.accepts_response(now) {
            return Err(NotAnAnswer::SessionClosed);
        }
        let (answer, encryption) = match protocol {
            DcApiProtocol::IsoMdoc => unpack_iso_mdoc(basis.provider, browser, posted)?,
            DcApiProtocol::Unsigned | DcApiProtocol::Signed | DcApiProtocol::Multisigned => {
                unpack_dc_api(basis.provider, offer, posted)?
            }
        };
        let (response_code, asking) = (None, None);
        Ok(Self { basis, session, offer, answer, encryption, response_code, now, asking })
    }
}

impl Verification<'_> {
    /// The session of the answer.
    pub fn session(&self) -> &Session {
        self.session
    }

    /// The version of the trust that decides.
    pub fn trust_version(&self) -> u64 {
        self.basis.trust.version()
    }

    /// The verifications that can reuse a status source of this one. Use it as the key of a cache.
    pub fn scope(&self) -> Scope {
        Scope::of_session(self.basis.trust, self.session)
    }

    /// Runs until the verification is decided, or needs a status source. It does no IO.
    ///
    /// # Errors
    /// The session was settled in the meantime.
    pub fn step(&mut self) -> Result<Step, NotAnAnswer> {
        let mut asking = match (self.asking.take(), &self.answer) {
            (Some(asking), _) => asking,
            (None, Content::Error(error)) => {
                let input = Input::Declined(*error);
                let reply = WalletReply::ErrorNoted {
                    // In drafts the wallet is not redirected.
                    redirect_uri: self.redirect_uri().filter(|_| self.profile() != Profile::Draft),
                    profile: self.profile(),
                };
                return self.done(self.session, input, reply, Report::default());
            }
            (None, Content::Presentation { .. } | Content::DeviceResponse(_)) => {
                let mut report = Report::default();
                match self.evaluate(&mut report) {
                    Ok(presented) => Asking::new(presented, report),
                    Err(reason) => return self.settle(self.session, Err(reason), report),
                }
            }
        };
        if let Err(error) = asking.check_count() {
            let mut report = core::mem::take(&mut asking.report);
            let reason = note(error, &mut report);
            return self.settle(asking.session(self.session), Err(reason), report);
        }
        if let Some(need) = self.ask(&mut asking)? {
            self.asking = Some(asking);
            return Ok(need);
        }
        let result = self.conclude(&mut asking);
        let report = core::mem::take(&mut asking.report);
        self.settle(asking.session(self.session), result, report)
    }

    fn settle(
        &self,
        session: &Session,
        result: Result<SessionResult, Reason>,
        report: Report,
    ) -> Result<Step, NotAnAnswer> {
        match result {
            Ok(result) => self.done(session, Input::Verified(result), self.accepted(), report),
            Err(reason) => self.done(session, Input::Failed(reason), WalletReply::Refused, report),
        }
    }

    fn done(
        &self,
        session: &Session,
        input: Input,
        reply: WalletReply,
        report: Report,
    ) -> Result<Step, NotAnAnswer> {
        let mut transition = session.apply(input, self.now)?;
        transition.session.trust_version = Some(self.basis.trust.version());
        Ok(Step::Done(Box::new(Decision { transition, reply, report })))
    }

    fn accepted(&self) -> WalletReply {
        WalletReply::Accepted { redirect_uri: self.redirect_uri(), profile: self.profile() }
    }

    /// The URI that the wallet sends the person to, with a fresh code whatever the outcome.
    fn redirect_uri(&self) -> Option<String> {
        let uri = self.session.request.redirect_uri.as_ref();
        uri.zip(self.response_code.as_ref()).map(|(uri, code)| with_response_code(uri, code))
    }

    fn profile(&self) -> Profile {
        self.offer.profile()
    }
}

/// 128 bits that only the person's browser returns (OpenID4VP 13.3).
fn fresh_response_code(
    entropy: &mut dyn Entropy,
) -> Result<String, crate::entropy::EntropyUnavailable> {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes)?;
    Ok(base64url::encode(&bytes))
}

#[cfg(all(test, feature = "aws-lc-rs", feature = "rustcrypto"))]
mod tests {
    #[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)]
    mod vectors;
}
