//! A session as bytes for the embedder's database: versioned JSON without the result. It contains
//! nonces, states and the private keys of encrypted answers, so it must be sealed.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::version_1;
use crate::ids::{SessionId, TenantId};
use crate::request::{StoredRequest, VerifierInfo};
use crate::session::{Offers, Phase, Revision, Session};
use crate::time::UnixMillis;

/// Raised when an older program could misread what a newer one stores.
const VERSION: u32 = 2;

/// Room for a session with several credentials: a buffer that grows leaves copies in memory.
const USUAL_BYTES: usize = 8192;

/// Stored bytes that are not a session of this version or an earlier one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SnapshotError;

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a session snapshot that this version can read")
    }
}

impl core::error::Error for SnapshotError {}

/// The stored form, in one place for reading and writing.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Snapshot<'a> {
    version: u32,
    id: Cow<'a, SessionId>,
    tenant: Cow<'a, TenantId>,
    livemode: bool,
    offers: Cow<'a, Offers>,
    request: StoredRequest<'a>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    verifier_info: Cow<'a, [VerifierInfo]>,
    created_at: UnixMillis,
    expires_at: UnixMillis,
    revision: Revision,
    phase: Cow<'a, Phase>,
    trust_version: Option<u64>,
}

impl Session {
    /// Returns the session as bytes, without its result; they are wiped when dropped. They contain
    /// nonces, states and private keys of encrypted answers: seal them, as [`crate::manual::howto`]
    /// shows. Store [`Session::revision`] in the open next to them, for the compare-and-set.
    ///
    /// ```
    /// use idgate_core::Session;
    ///
    /// fn reload(session: &Session) {
    ///     let stored = session.to_bytes();
    ///     let again = Session::from_bytes(&stored).unwrap();
    ///     assert_eq!((again.id(), again.revision()), (session.id(), session.revision()));
    /// }
    /// # #[cfg(feature = "rustcrypto")] {
    /// # use idgate_core::{Entropy, EntropyUnavailable, crypto::rustcrypto::PROVIDER};
    /// # use idgate_core::{Issuer, NewSession, Profile, Trust, UnixMillis, Verifier, crypto::Es256Key};
    /// # struct Sevens;
    /// # impl Entropy for Sevens {
    /// #     fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> { Ok(out.fill(7)) }
    /// # }
    /// # let key = Es256Key::from_scalar(&[7; 32]).unwrap().public_key().to_jwk_json(None);
    /// # let trust = Trust::new(PROVIDER, [Issuer::new("https://issuer.example").vct("pid").jwk(key)]);
    /// # let builder = Verifier::builder(trust.unwrap()).profiles([Profile::V1_0]);
    /// # let verifier = builder.unsigned("https://shop.example").build().unwrap();
    /// # let asked = br#"{"credentials": [{"format": "vc+sd-jwt", "claims": ["given_name"],
    /// #     "issuer_id": "https://issuer.example"}]}"#;
    /// # let request = idgate_core::Request::from_json(asked).unwrap();
    /// # let now = UnixMillis(1_795_000_000_000);
    /// # let created = verifier.create_session(&request, NewSession::live(), &mut Sevens, now);
    /// # let session = created.unwrap().session;
    /// # reload(&session);
    /// // What a later version stored is refused, never misread.
    /// let stored = String::from_utf8(session.to_bytes().to_vec()).unwrap();
    /// let later = stored.replacen(r#"{"version":2,"#, r#"{"version":3,"#, 1);
    /// assert!(Session::from_bytes(later.as_bytes()).is_err());
    /// # assert_ne!(stored, later);
    /// # }
    /// ```
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let snapshot = Snapshot {
            version: VERSION,
            id: Cow::Borrowed(&self.id),
            tenant: Cow::Borrowed(&self.tenant),
            livemode: self.livemode,
            offers: Cow::Borrowed(&self.offers),
            request: StoredRequest::of(&self.request),
            verifier_info: Cow::Borrowed(&self.verifier_info),
            created_at: self.created_at,
            expires_at: self.expires_at,
            revision: self.revision,
            phase: Cow::Borrowed(&self.phase),
            trust_version: self.trust_version,
        };
        let mut bytes = Zeroizing::new(Vec::with_capacity(USUAL_BYTES));
        match snapshot.serialize(&mut serde_json::Serializer::new(&mut *bytes)) {
            Ok(()) => bytes,
            // Strings, numbers and lists of them can always be written as JSON.
            Err(_) => Zeroizing::default(),
        }
    }

    /// Reads the bytes of [`Session::to_bytes`].
    ///
    /// # Errors
    /// [`SnapshotError`]: the bytes are not a session of this version or an earlier one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Self::from_version_2(bytes).or_else(|| version_1::session(bytes)).ok_or(SnapshotError)
    }

    fn from_version_2(bytes: &[u8]) -> Option<Self> {
        let snapshot: Snapshot<'_> = serde_json::from_slice(bytes).ok()?;
        let session = Self {
            id: snapshot.id.into_owned(),
            tenant: snapshot.tenant.into_owned(),
            livemode: snapshot.livemode,
            offers: snapshot.offers.into_owned(),
            request: snapshot.request.into_request(),
            verifier_info: snapshot.verifier_info.into_owned(),
            created_at: snapshot.created_at,
            expires_at: snapshot.expires_at,
            revision: snapshot.revision,
            phase: snapshot.phase.into_owned(),
            trust_version: snapshot.trust_version,
            result: None,
        };
        (snapshot.version == VERSION).then_some(session)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    #[cfg(feature = "rustcrypto")]
    mod version_2;

    use super::*;
    use crate::error::Reason;
    use crate::request::{Scheme, fixtures};
    use crate::session::{Input, SessionResult};

    fn text(session: &Session) -> String {
        String::from_utf8(session.to_bytes().to_vec()).unwrap()
    }

    #[test]
    fn a_stored_session_is_the_same_session() {
        let pending = fixtures::session(fixtures::two_credentials());
        let reason = Reason::DigestMismatch;
        let later = fixtures::NOW.plus(7);
        let mut sessions = vec![pending.clone()];
        for input in [Input::Hold, Input::Failed(reason), Input::Expired] {
            sessions.push(pending.apply(input, later).unwrap().session);
        }
        for mut session in sessions {
            session.trust_version = Some(7);
            let again = Session::from_bytes(&session.to_bytes()).unwrap();
            assert_eq!(format!("{again:?}"), format!("{session:?}"));
            assert_eq!(again.deep_link(Scheme::Haip), session.deep_link(Scheme::Haip));
            assert_eq!(text(&again), text(&session));
        }
    }

    #[test]
    fn a_snapshot_has_no_result_and_once_settled_no_nonce_and_no_state() {
        let pending = fixtures::session(fixtures::one_credential());
        let result =
            SessionResult::new("{\"given_name\":\"Erika\"}".into(), "{}".into(), fixtures::NOW);
        let settled = pending.apply(Input::Verified(result), fixtures::NOW).unwrap().session;
        let (stored, own) = (text(&settled), pending.offers.own());
        for secret in ["Erika", own.nonce.expose(), own.state.expose()] {
            assert!(!stored.contains(secret));
        }
        assert!(text(&pending).contains(own.nonce.expose()));
        assert!(Session::from_bytes(stored.as_bytes()).unwrap().result.is_none());
    }

    #[cfg(feature = "rustcrypto")]
    #[test]
    fn the_encryption_key_is_stored_until_the_settlement() {
        let created = fixtures::jar_session(fixtures::one_credential());
        let scalar =
            created.offers.own().encryption_key.as_ref().unwrap().private().expose_scalar();
        let scalar = crate::codec::base64url::encode(scalar);
        assert!(text(&created).contains(&scalar));
        let again = Session::from_bytes(&created.to_bytes()).unwrap();
        assert_eq!(text(&again), text(&created));
        assert_eq!(again.deep_link(Scheme::Haip), created.deep_link(Scheme::Haip));

        let now = fixtures::NOW;
        let held = created.apply(Input::Hold, now).unwrap().session;
        assert!(text(&held).contains(&scalar), "an answer may come again after a lost lease");
        let result = SessionResult::new("{}".into(), "{}".into(), now);
        for input in [Input::Verified(result), Input::Failed(Reason::NonceMismatch), Input::Expired]
        {
            for from in [&created, &held] {
                let settled = from.apply(input.clone(), now).unwrap().session;
                assert!(settled.offers.own().encryption_key.is_none());
                assert!(!text(&settled).contains("encryption_key"), "{input:?}");
                assert!(!text(&settled).contains(&scalar), "{input:?}");
            }
        }
    }

    #[test]
    fn another_version_is_refused() {
        let stored = text(&fixtures::session(fixtures::one_credential()));
        for version in ["0", "1", "3", "\"2\"", "null"] {
            let other = stored.replacen("\"version\":2", &format!("\"version\":{version}"), 1);
            assert_ne!(other, stored);
            assert_eq!(Session::from_bytes(other.as_bytes()).err(), Some(SnapshotError));
        }
    }

    #[test]
    fn bytes_that_are_not_a_snapshot_are_refused() {
        let stored = text(&fixtures::session(fixtures::one_credential()));
        let cut = &stored[..stored.len() - 1];
        let more = stored.replacen("\"version\":2", "\"version\":2,\"more\":1", 1);
        for bad in ["", "{}", "null", "[]", cut, &more] {
            assert_eq!(Session::from_bytes(bad.as_bytes()).err(), Some(SnapshotError), "{bad}");
        }
    }
}
