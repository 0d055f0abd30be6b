//! The result of a verification, readable for 30 seconds.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::claims::{ClaimsError, read_claims};
use crate::crypto::ct;
use crate::limits::CLAIMS_RETENTION_MS;
use crate::request::Profile;
use crate::session::{Session, SnapshotError, Status};
use crate::time::UnixMillis;

/// Claims and verification details of a VERIFIED session as JSON texts, wiped on drop. Only
/// verification creates it, and [`SessionResult::from_bytes`] from a stored result.
///
/// ```compile_fail,E0624
/// # use idgate_core::{UnixMillis, session::SessionResult};
/// let result = SessionResult::new("{}".into(), "{}".into(), UnixMillis(0));
/// ```
#[derive(Clone)]
pub struct SessionResult {
    claims: Zeroizing<String>,
    verification_details: Zeroizing<String>,
    verified_at: UnixMillis,
}

/// First byte of the stored form; raised when an older program could misread the form.
const VERSION: u8 = 1;

impl SessionResult {
    pub(crate) fn new(claims: String, verification_details: String, at: UnixMillis) -> Self {
        Self {
            claims: Zeroizing::new(claims),
            verification_details: Zeroizing::new(verification_details),
            verified_at: at,
        }
    }

    /// Returns the claims of the credential with this id in the request, read as `T`.
    ///
    /// ```
    /// # use idgate_core::{ClaimsError, Reader, Session, UnixMillis};
    /// #[derive(serde::Deserialize)]
    /// struct Person { birthdate: String }
    ///
    /// fn birthdate(session: &Session, code: Option<&str>, now: UnixMillis) -> Option<String> {
    ///     let result = session.result(Reader::Browser { response_code: code }, now).ok()?;
    ///     Some(result.credential::<Person>("pid").ok()?.birthdate)
    /// }
    /// ```
    ///
    /// # Errors
    /// The session has no credential with this id, or its claims do not fit `T`.
    pub fn credential<T: DeserializeOwned>(&self, id: &str) -> Result<T, ClaimsError> {
        let all: BTreeMap<Cow<'_, str>, &RawValue> = read_claims(&self.claims)?;
        let of_id = all.get(id).ok_or_else(ClaimsError::no_credential)?;
        read_claims(of_id.get())
    }

    /// Returns a JSON object with the claims of each credential under its id.
    pub fn claims_json(&self) -> &str {
        &self.claims
    }

    /// Returns the `verification_details` object as JSON text.
    pub fn details_json(&self) -> &str {
        &self.verification_details
    }

    /// The time when the session was verified.
    pub fn verified_at(&self) -> UnixMillis {
        self.verified_at
    }

    /// Returns the result as bytes, for an embedder whose results survive a restart. It contains
    /// claims, so seal it, and erase it at [`SessionResult::redact_at`].
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let claims_len = u64::try_from(self.claims.len()).unwrap_or(u64::MAX);
        let parts: [&[u8]; 5] = [
            &[VERSION],
            &self.verified_at.0.to_be_bytes(),
            &claims_len.to_be_bytes(),
            self.claims.as_bytes(),
            self.verification_details.as_bytes(),
        ];
        // One allocation of the final size: a growing buffer would leave claims in memory.
        Zeroizing::new(parts.concat())
    }

    /// Reads the bytes of [`SessionResult::to_bytes`].
    ///
    /// # Errors
    /// [`SnapshotError`]: the bytes are not a result of this version or an earlier one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Self::decode(bytes).ok_or(SnapshotError)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[version], rest) = bytes.split_first_chunk()?;
        let (&verified_at, rest) = rest.split_first_chunk()?;
        let (&claims_len, rest) = rest.split_first_chunk()?;
        let claims_len = usize::try_from(u64::from_be_bytes(claims_len)).ok()?;
        let (claims, details) = core::str::from_utf8(rest).ok()?.split_at_checked(claims_len)?;
        let verified_at = UnixMillis(u64::from_be_bytes(verified_at));
        let (claims, details) = (String::from(claims), String::from(details));
        (version == VERSION).then(|| Self::new(claims, details, verified_at))
    }

    /// The time when the result must be erased everywhere.
    pub fn redact_at(&self) -> UnixMillis {
        self.verified_at.plus(CLAIMS_RETENTION_MS)
    }
}

/// The reader of a result.
#[derive(Clone, Copy)]
#[allow(clippy::exhaustive_enums)] // a third reader would be a break anyway
pub enum Reader<'a> {
    /// The person's browser, with the `response_code` from its address, if there is one. Where the
    /// person must return to the browser session that asked (HAIP 1.0 5.1), the code proves that
    /// they did.
    Browser {
        /// The parameter `response_code` of the address.
        response_code: Option<&'a str>,
    },
    /// Your own program, which shows no part of the result to the browser that asks for it. A
    /// browser that has the session's id may belong to another person than the one who answered.
    Backend,
}

/// Omits the code.
impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Browser { .. } => "Browser",
            Self::Backend => "Backend",
        })
    }
}

/// The reason why a reader gets no result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Withheld {
    /// The session is not VERIFIED, so it has no result.
    NotVerified,
    /// The reader has no code, and the session requires the `response_code` that was added to its
    /// `redirect_uri` (HAIP 1.0 5.1).
    ResponseCodeMissing,
    /// The reader has a different code.
    ResponseCodeWrong,
    /// The 30 seconds in which the result could be read are over.
    Redacted,
}

impl Withheld {
    /// Returns the name in `claims_withheld`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotVerified => "not_verified",
            Self::ResponseCodeMissing => "response_code_missing",
            Self::ResponseCodeWrong => "response_code_wrong",
            Self::Redacted => "redacted",
        }
    }
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotVerified => "the session is not VERIFIED",
            Self::ResponseCodeMissing => "the browser has no response_code",
            Self::ResponseCodeWrong => "the response_code is not the one of this session",
            Self::Redacted => "the result was readable for 30 seconds, and that time is over",
        })
    }
}

impl core::error::Error for Withheld {}

/// The members of verification details that concern the way back.
#[derive(Deserialize)]
struct Named<'d> {
    #[serde(borrow)]
    response_code: Option<Cow<'d, str>>,
    /// Present if the answer came through a browser.
    #[serde(borrow)]
    origin: Option<Cow<'d, str>>,
}

impl Session {
    /// Returns the result to `reader` while it may be read, which is for 30 seconds.
    ///
    /// Some sessions must end in the browser that they began in: those with `same_device`, and
    /// those that offer `haip` unless the tenant chose otherwise. To read their result, a browser
    /// needs the `response_code` that was added to their `redirect_uri`. This is decided when the
    /// session is created, and not by the link that a wallet follows. An answer through the browser
    /// of a page needs no code: it is bound to the page's origin.
    ///
    /// ```compile_fail,E0061
    /// # use idgate_core::{Session, UnixMillis};
    /// # fn example(session: &Session, now: UnixMillis) {
    /// session.result(now); // it does not say who reads
    /// # }
    /// ```
    ///
    /// # Errors
    /// The reader may not read the result; [`Withheld`] says why.
    pub fn result(&self, reader: Reader<'_>, now: UnixMillis) -> Result<&SessionResult, Withheld> {
        if !self.is_verified() {
            return Err(Withheld::NotVerified);
        }
        let result = self.result.as_ref().filter(|result| now < result.redact_at());
        let result = result.ok_or(Withheld::Redacted)?;
        match reader {
            Reader::Backend => Ok(result),
            Reader::Browser { response_code } => self.shown_to(response_code, result),
        }
    }

    fn shown_to<'r>(
        &self,
        code: Option<&str>,
        result: &'r SessionResult,
    ) -> Result<&'r SessionResult, Withheld> {
        let haip = || self.offers.iter().any(|offer| offer.profile() == Profile::Haip);
        if !self.request.same_device.unwrap_or_else(haip) {
            return Ok(result);
        }
        let named: Option<Named<'_>> = serde_json::from_str(&result.verification_details).ok();
        if named.as_ref().is_some_and(|named| named.origin.is_some()) {
            return Ok(result);
        }
        let given = code.ok_or(Withheld::ResponseCodeMissing)?;
        let expected = named.as_ref().and_then(|named| named.response_code.as_deref());
        match expected.is_some_and(|expected| ct::eq(given.as_bytes(), expected.as_bytes())) {
            true => Ok(result),
            false => Err(Withheld::ResponseCodeWrong),
        }
    }

    /// Takes the result out, for an embedder that stores it separately from the session.
    pub fn take_result(&mut self) -> Option<SessionResult> {
        self.result.take()
    }

    /// Restores the result that the embedder stored separately. Only a VERIFIED session accepts it.
    pub fn restore_result(&mut self, result: SessionResult) {
        if self.is_verified() {
            self.result = Some(result);
        }
    }

    fn is_verified(&self) -> bool {
        self.phase.status() == Status::Verified
    }
}

impl fmt::Debug for SessionResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionResult(redact at {})", self.redact_at())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::ids::OfferId;
    use crate::request::fixtures::{self, NOW};
    use crate::session::{Offers, Phase};

    fn session(phase: Phase) -> Session {
        let mut session = fixtures::session(fixtures::one_credential());
        session.phase = phase;
        session
    }

    fn result() -> SessionResult {
        SessionResult::new(r#"{"name":"Érika"}"#.into(), r#"{"b":1}"#.into(), UnixMillis(5))
    }

    #[test]
    fn a_stored_result_is_the_same_result() {
        let again = SessionResult::from_bytes(&result().to_bytes()).unwrap();
        assert_eq!(again.claims_json(), result().claims_json());
        assert_eq!(again.details_json(), result().details_json());
        assert_eq!((again.verified_at(), again.redact_at()), (UnixMillis(5), UnixMillis(30_005)));
    }

    #[test]
    fn bytes_that_are_not_a_stored_result_are_refused() {
        let good = result().to_bytes().to_vec();
        let altered = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        // Another version, lengths beyond the end or inside a character, invalid UTF-8.
        let split = u8::try_from("{\"name\":\"".len() + 1).unwrap();
        for bad in [
            good[..0].to_vec(),
            good[..16].to_vec(),
            altered(0, 2),
            altered(9, 0xff),
            altered(16, 0xff),
            altered(16, split),
            altered(20, 0xff),
        ] {
            assert!(SessionResult::from_bytes(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn debug_output_has_no_claims() {
        let text = format!("{:?}", result());
        assert_eq!(text, "SessionResult(redact at 1970-01-01T00:00:30.005Z)");
    }

    #[test]
    fn the_result_is_readable_for_30_seconds() {
        let mut verified = session(Phase::Verified { at: NOW });
        verified.restore_result(SessionResult::new("{}".into(), "{}".into(), NOW));
        assert!(verified.result(Reader::Backend, NOW.plus(29_999)).is_ok());
        assert!(verified.result(Reader::Backend, NOW.plus(30_000)).is_err());
        assert_eq!(verified.take_result().unwrap().claims_json(), "{}");
        assert!(verified.result(Reader::Backend, NOW).is_err());
    }

    #[test]
    fn only_a_verified_session_accepts_a_result() {
        let mut pending = session(Phase::Pending);
        pending.restore_result(SessionResult::new("{}".into(), "{}".into(), NOW));
        assert!(pending.take_result().is_none());
    }

    /// A session that offers these profiles and was verified with `details`.
    fn verified(profiles: &[Profile], details: &str, same_device: Option<bool>) -> Session {
        let mut session = session(Phase::Verified { at: NOW });
        let own = session.offers.own().clone();
        let offer = |(n, profile): (usize, &Profile)| {
            let mut offer = own.clone();
            offer.id = (n > 0).then(|| OfferId::new(format!("off_{n}")));
            offer.shape.profile = *profile;
            offer
        };
        session.offers = Offers::new(profiles.iter().enumerate().map(offer).collect()).unwrap();
        session.request.same_device = same_device;
        session.restore_result(SessionResult::new("{}".into(), details.into(), NOW));
        session
    }

    const CODE: &str = r#"{"response_code":"right"}"#;

    #[track_caller]
    fn assert_needs_the_code(session: &Session) {
        for code in [None, Some("wrong"), Some(""), Some("right ")] {
            assert!(
                session.result(Reader::Browser { response_code: code }, NOW).is_err(),
                "{code:?}"
            );
            let why = match code {
                None => Withheld::ResponseCodeMissing,
                Some(_) => Withheld::ResponseCodeWrong,
            };
            assert_eq!(
                session
                    .result(Reader::Browser { response_code: code }, NOW)
                    .err()
                    .filter(|why| *why != Withheld::NotVerified),
                Some(why),
                "{code:?}"
            );
        }
        assert_eq!(
            session
                .result(Reader::Browser { response_code: Some("right") }, NOW)
                .err()
                .filter(|why| *why != Withheld::NotVerified),
            None
        );
        let later = session
            .result(Reader::Browser { response_code: Some("right") }, NOW.plus(30_000))
            .err()
            .filter(|why| *why != Withheld::NotVerified);
        assert_eq!(later, Some(Withheld::Redacted));
        assert!(session.result(Reader::Browser { response_code: Some("right") }, NOW).is_ok());
        assert!(
            session
                .result(Reader::Browser { response_code: Some("right") }, NOW.plus(30_000))
                .ok()
                .is_none()
        );
        assert_eq!(session.status_at(NOW), Status::Verified, "that is always visible");
    }

    #[test]
    fn a_session_bound_to_its_browser_needs_the_code() {
        for (profile, same_device) in [
            (Profile::Haip, None),
            (Profile::Haip, Some(true)),
            (Profile::V1_0, Some(true)),
            (Profile::Draft, Some(true)),
        ] {
            assert_needs_the_code(&verified(&[profile], CODE, same_device));
        }
        let without = verified(&[Profile::Haip], "{}", None);
        assert!([None, Some("")].iter().all(|code| {
            without.result(Reader::Browser { response_code: *code }, NOW).is_err()
        }));
    }

    #[test]
    fn a_session_with_haip_needs_the_code_whichever_offer_was_answered() {
        let answered_in_draft = CODE;
        let answered_in_haip = r#"{"profile":"haip","response_code":"right"}"#;
        for profiles in [[Profile::Haip, Profile::Draft], [Profile::Draft, Profile::Haip]] {
            for details in [answered_in_draft, answered_in_haip] {
                let session = verified(&profiles, details, None);
                assert_needs_the_code(&session);
                let mut stored = Session::from_bytes(&session.to_bytes()).unwrap();
                stored.restore_result(SessionResult::new("{}".into(), details.into(), NOW));
                assert_needs_the_code(&stored);
            }
        }
    }

    #[test]
    fn sessions_that_do_not_rely_on_the_browser_need_no_code() {
        for (profiles, same_device) in [
            (&[Profile::Haip][..], Some(false)),
            (&[Profile::Haip, Profile::Draft], Some(false)),
            (&[Profile::V1_0, Profile::Draft], None),
            (&[Profile::Draft], None),
        ] {
            let session = verified(profiles, CODE, same_device);
            for code in [None, Some("any")] {
                assert!(
                    session.result(Reader::Browser { response_code: code }, NOW).is_ok(),
                    "{profiles:?}"
                );
            }
        }
    }
}
