//! The result of a verification, readable for 30 seconds (specification 3).

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use zeroize::Zeroizing;

use crate::crypto::ct;
use crate::limits::CLAIMS_RETENTION_MS;
use crate::request::Profile;
use crate::session::{Session, SnapshotError, Status};
use crate::time::UnixMillis;

/// Claims and verification details of a VERIFIED session as JSON texts, wiped on drop. Verification
/// makes it, or [`VerifiedResult::from_snapshot`] from what verification made; nothing else does.
///
/// ```compile_fail,E0624
/// # use idgate_core::{UnixMillis, session::VerifiedResult};
/// let result = VerifiedResult::new("{}".into(), "{}".into(), UnixMillis(0));
/// ```
#[derive(Clone)]
pub struct VerifiedResult {
    claims: Zeroizing<String>,
    verification_details: Zeroizing<String>,
    verified_at: UnixMillis,
}

/// First byte of the stored form; raised when an older program could misread it.
const VERSION: u8 = 1;

impl VerifiedResult {
    pub(crate) fn new(claims: String, verification_details: String, at: UnixMillis) -> Self {
        Self {
            claims: Zeroizing::new(claims),
            verification_details: Zeroizing::new(verification_details),
            verified_at: at,
        }
    }

    /// The `claims` object as JSON text (decisions 9).
    pub fn claims(&self) -> &str {
        &self.claims
    }

    /// The `verification_details` object as JSON text (decisions 9).
    pub fn verification_details(&self) -> &str {
        &self.verification_details
    }

    /// When the session was verified.
    pub fn verified_at(&self) -> UnixMillis {
        self.verified_at
    }

    /// The result as bytes, for an embedder that lets it survive a restart. It holds claims, so
    /// seal it, and erase it at [`VerifiedResult::redact_at`].
    pub fn to_snapshot(&self) -> Zeroizing<Vec<u8>> {
        let claims_len = u64::try_from(self.claims.len()).unwrap_or(u64::MAX);
        let parts: [&[u8]; 5] = [
            &[VERSION],
            &self.verified_at.0.to_be_bytes(),
            &claims_len.to_be_bytes(),
            self.claims.as_bytes(),
            self.verification_details.as_bytes(),
        ];
        // One allocation of the final size: a growing buffer would leave claims behind.
        Zeroizing::new(parts.concat())
    }

    /// The result from [`VerifiedResult::to_snapshot`]'s bytes.
    ///
    /// # Errors
    /// [`SnapshotError`]: the bytes are not of a version that can be read.
    pub fn from_snapshot(bytes: &[u8]) -> Result<Self, SnapshotError> {
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

    /// When it must be gone from everywhere.
    pub fn redact_at(&self) -> UnixMillis {
        self.verified_at.plus(CLAIMS_RETENTION_MS)
    }
}

/// Why a reader gets no result of a VERIFIED session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Withheld {
    /// The reader brings no code, and the session needs the one of its `redirect_uri` (HAIP 1.0 5.1).
    ResponseCodeMissing,
    /// The reader brings another code.
    ResponseCodeWrong,
    /// The result may be read for 30 seconds, which are over.
    Redacted,
}

impl Withheld {
    /// Its name in `claims_withheld`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ResponseCodeMissing => "response_code_missing",
            Self::ResponseCodeWrong => "response_code_wrong",
            Self::Redacted => "redacted",
        }
    }
}

/// What verification details say of the way back.
#[derive(Deserialize)]
struct Named<'d> {
    #[serde(borrow)]
    response_code: Option<Cow<'d, str>>,
    /// There when the answer came through a browser.
    #[serde(borrow)]
    origin: Option<Cow<'d, str>>,
}

impl Session {
    /// The result while it may be read: VERIFIED less than 30 seconds ago.
    pub fn result_at(&self, now: UnixMillis) -> Option<&VerifiedResult> {
        self.result.as_ref().filter(|result| self.is_verified() && now < result.redact_at())
    }

    /// The same for whoever brings `code`: where the person's browser has to come back into the
    /// session that asked (HAIP 1.0 5.1), the code of the `redirect_uri` is the proof that it did.
    /// Sessions that do not rely on it need none. Whether one does is settled at its creation and
    /// not by the wallet's choice of a link: one that offers `haip` does, unless the tenant said
    /// otherwise. An answer through the browser of a page needs none: it is bound to the page's origin.
    pub fn result_for(&self, code: Option<&str>, now: UnixMillis) -> Option<&VerifiedResult> {
        self.shown_to(code, now).ok()?
    }

    /// Why a reader who brings `code` gets no result of a VERIFIED session; `None`: the reader gets it, or the session
    /// is not VERIFIED.
    pub fn withheld_from(&self, code: Option<&str>, now: UnixMillis) -> Option<Withheld> {
        self.shown_to(code, now).err()
    }

    fn shown_to(
        &self,
        code: Option<&str>,
        now: UnixMillis,
    ) -> Result<Option<&VerifiedResult>, Withheld> {
        if !self.is_verified() {
            return Ok(None);
        }
        let result = self.result_at(now).ok_or(Withheld::Redacted)?;
        let haip = || self.offers.iter().any(|offer| offer.profile() == Profile::Haip);
        if !self.request.same_device.unwrap_or_else(haip) {
            return Ok(Some(result));
        }
        let named: Option<Named<'_>> = serde_json::from_str(&result.verification_details).ok();
        if named.as_ref().is_some_and(|named| named.origin.is_some()) {
            return Ok(Some(result));
        }
        let given = code.ok_or(Withheld::ResponseCodeMissing)?;
        let expected = named.as_ref().and_then(|named| named.response_code.as_deref());
        match expected.is_some_and(|expected| ct::eq(given.as_bytes(), expected.as_bytes())) {
            true => Ok(Some(result)),
            false => Err(Withheld::ResponseCodeWrong),
        }
    }

    /// Takes the result out, for an embedder that keeps it apart from the session.
    pub fn take_result(&mut self) -> Option<VerifiedResult> {
        self.result.take()
    }

    /// Puts back the result that the embedder kept apart. Only a VERIFIED session takes it.
    pub fn restore_result(&mut self, result: VerifiedResult) {
        if self.is_verified() {
            self.result = Some(result);
        }
    }

    fn is_verified(&self) -> bool {
        self.phase.status() == Status::Verified
    }
}

impl fmt::Debug for VerifiedResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifiedResult(redact at {})", self.redact_at())
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

    fn result() -> VerifiedResult {
        VerifiedResult::new(r#"{"name":"Érika"}"#.into(), r#"{"b":1}"#.into(), UnixMillis(5))
    }

    #[test]
    fn a_stored_result_is_the_same_result() {
        let again = VerifiedResult::from_snapshot(&result().to_snapshot()).unwrap();
        assert_eq!(again.claims(), result().claims());
        assert_eq!(again.verification_details(), result().verification_details());
        assert_eq!((again.verified_at(), again.redact_at()), (UnixMillis(5), UnixMillis(30_005)));
    }

    #[test]
    fn bytes_that_are_no_stored_result_are_refused() {
        let good = result().to_snapshot().to_vec();
        let altered = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        // Another version, lengths beyond the end and within a character, broken UTF-8.
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
            assert!(VerifiedResult::from_snapshot(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn debug_output_has_no_claims() {
        let text = format!("{:?}", result());
        assert_eq!(text, "VerifiedResult(redact at 1970-01-01T00:00:30.005Z)");
    }

    #[test]
    fn the_result_is_readable_for_30_seconds() {
        let mut verified = session(Phase::Verified { at: NOW });
        verified.restore_result(VerifiedResult::new("{}".into(), "{}".into(), NOW));
        assert!(verified.result_at(NOW.plus(29_999)).is_some());
        assert!(verified.result_at(NOW.plus(30_000)).is_none());
        assert_eq!(verified.take_result().unwrap().claims(), "{}");
        assert!(verified.result_at(NOW).is_none());
    }

    #[test]
    fn only_a_verified_session_takes_a_result() {
        let mut pending = session(Phase::Pending);
        pending.restore_result(VerifiedResult::new("{}".into(), "{}".into(), NOW));
        assert!(pending.take_result().is_none());
    }

    /// A session that offers these profiles, as `details` say verified.
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
        session.restore_result(VerifiedResult::new("{}".into(), details.into(), NOW));
        session
    }

    const CODE: &str = r#"{"response_code":"right"}"#;

    #[track_caller]
    fn assert_needs_the_code(session: &Session) {
        for code in [None, Some("wrong"), Some(""), Some("right ")] {
            assert!(session.result_for(code, NOW).is_none(), "{code:?}");
            let why = match code {
                None => Withheld::ResponseCodeMissing,
                Some(_) => Withheld::ResponseCodeWrong,
            };
            assert_eq!(session.withheld_from(code, NOW), Some(why), "{code:?}");
        }
        assert_eq!(session.withheld_from(Some("right"), NOW), None);
        let later = session.withheld_from(Some("right"), NOW.plus(30_000));
        assert_eq!(later, Some(Withheld::Redacted));
        assert!(session.result_for(Some("right"), NOW).is_some());
        assert!(session.result_for(Some("right"), NOW.plus(30_000)).is_none());
        assert_eq!(session.status_at(NOW), Status::Verified, "that is always visible");
    }

    #[test]
    fn where_the_browser_must_come_back_the_result_is_for_whoever_brings_the_code() {
        for (profile, same_device) in [
            (Profile::Haip, None),
            (Profile::Haip, Some(true)),
            (Profile::V1_0, Some(true)),
            (Profile::Draft, Some(true)),
        ] {
            assert_needs_the_code(&verified(&[profile], CODE, same_device));
        }
        let without = verified(&[Profile::Haip], "{}", None);
        assert!([None, Some("")].iter().all(|code| without.result_for(*code, NOW).is_none()));
    }

    #[test]
    fn a_session_that_offers_haip_needs_the_code_whichever_offer_was_answered() {
        let answered_in_draft = CODE;
        let answered_in_haip = r#"{"profile":"haip","response_code":"right"}"#;
        for profiles in [[Profile::Haip, Profile::Draft], [Profile::Draft, Profile::Haip]] {
            for details in [answered_in_draft, answered_in_haip] {
                let session = verified(&profiles, details, None);
                assert_needs_the_code(&session);
                let mut stored = Session::from_snapshot(&session.to_snapshot()).unwrap();
                stored.restore_result(VerifiedResult::new("{}".into(), details.into(), NOW));
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
                assert!(session.result_for(code, NOW).is_some(), "{profiles:?}");
            }
        }
    }
}
