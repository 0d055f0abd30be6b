//! Unpacks a body as the offer's stored profile says: plain, or encrypted to the offer's key
//! (OpenID4VP 8.3, A.4). A refusal here leaves the session unchanged.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use crate::crypto::{ContentEncryption, CryptoProvider, DecryptionFailed, ct};
use crate::error::NotAnAnswer;
use crate::ids::Nonce;
use crate::jose::{JweRecipient, OpenedJwe};
use crate::request::Profile;
use crate::response::dc_api::{self, DcApiAnswer, Given};
use crate::response::direct_post::EncryptedPost;
use crate::response::{Content, DirectPost, Posted};
use crate::session::{Offer, ResponseEncryption};

/// How an answer was encrypted, which decides its possible transcripts.
pub(crate) enum AnswerEncryption<'s> {
    /// As a JWE.
    Jwe {
        /// RFC 7638 thumbprint (SHA-256) of the key that the answer was encrypted to.
        jwk_thumbprint: [u8; 32],
        /// `apu` as defined in ISO/IEC TS 18013-7 B.4.3.3.2; `None`: the wallet does not follow it.
        mdoc_generated_nonce: Option<String>,
    },
    /// By HPKE (ISO/IEC TS 18013-7 Annex C).
    Hpke {
        /// The origin of the page that the answer was encrypted for.
        origin: &'s str,
    },
}

/// Omits the nonce.
impl fmt::Debug for AnswerEncryption<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerEncryption")
    }
}

/// Returns the answer in `posted`, which must have the offer's `state`. An offer with encryption
/// accepts plain errors, because the wallet may not be able to encrypt, but no plain presentation.
///
/// # Errors
/// The offer expects another kind of answer, it does not decrypt, the plaintext is not
/// well-formed, or `state` is wrong.
pub(crate) fn unpack<'p>(
    provider: &CryptoProvider,
    offer: &Offer,
    posted: Posted<'p>,
) -> Result<(Content<'p>, Option<AnswerEncryption<'static>>), NotAnAnswer> {
    let (posted, encryption, outer_state) = match (offer.shape.response, posted) {
        (ResponseEncryption::Plain, Posted::Plain(posted))
        | (
            ResponseEncryption::EcdhEs,
            Posted::Plain(posted @ DirectPost { answer: Content::Error(_), .. }),
        ) => (posted, None, None),
        (ResponseEncryption::EcdhEs, Posted::Encrypted(EncryptedPost { response, state })) => {
            let (payload, encryption) = decrypt(provider, offer, &response)?;
            let posted = DirectPost::from_payload(&payload, offer.shape.query)?;
            (posted, Some(encryption), state)
        }
        (ResponseEncryption::Plain, Posted::Encrypted(_)) => {
            return Err(NotAnAnswer::Malformed(
                "response is for encrypted answers; this session expects vp_token",
            ));
        }
        (ResponseEncryption::EcdhEs, Posted::Plain(_)) => {
            return Err(NotAnAnswer::Malformed(
                "vp_token must be encrypted; this session expects response",
            ));
        }
    };
    let outer_matches = outer_state.is_none_or(|outer| offer.state.matches(&outer));
    if offer.state.matches(&posted.state) && outer_matches {
        Ok((posted.answer, encryption))
    } else {
        Err(NotAnAnswer::StateMismatch)
    }
}

/// Returns the answer that came through a browser. It has no `state`: the page's own session says
/// which request it answers.
///
/// # Errors
/// The answer does not decrypt, or the plaintext is not well-formed.
pub(crate) fn unpack_dc_api(
    provider: &CryptoProvider,
    offer: &Offer,
    answer: DcApiAnswer<'_>,
) -> Result<(Content<'static>, Option<AnswerEncryption<'static>>), NotAnAnswer> {
    match answer.given {
        Given::Error(error) => Ok((Content::Error(error), None)),
        Given::Encrypted(response) => {
            let (payload, encryption) = decrypt(provider, offer, &response)?;
            Ok((dc_api::from_payload(&payload)?, Some(encryption)))
        }
    }
}

/// The plaintext.
fn decrypt(
    provider: &CryptoProvider,
    offer: &Offer,
    response: &str,
) -> Result<(Zeroizing<Vec<u8>>, AnswerEncryption<'static>), NotAnAnswer> {
    let failed = |_: DecryptionFailed| NotAnAnswer::DecryptionFailed;
    let key = offer.encryption_key.as_ref().ok_or(DecryptionFailed).map_err(failed)?;
    let jwk_thumbprint = key.public().thumbprint(provider);
    let kid = key.kid(offer.profile(), provider);
    let enc: &[_] = match offer.profile() {
        Profile::Draft => &ContentEncryption::ALL,
        Profile::V1_0 | Profile::Haip => &ContentEncryption::GCM,
    };
    let recipient = JweRecipient { key: key.private(), kid: &kid, enc };
    let OpenedJwe { payload, apu, apv } = recipient.open(provider, response).map_err(failed)?;
    let mdoc_generated_nonce = mdoc_generated_nonce(apu, apv, &offer.nonce);
    Ok((payload, AnswerEncryption::Jwe { jwk_thumbprint, mdoc_generated_nonce }))
}

/// The text in `apu`. If the wallet sends `apv`, it must be the request's nonce (ISO/IEC TS 18013-7
/// B.4.3.3.2). OpenID4VP gives them no meaning: with other values OpenID4VP's own transcript is
/// tried.
fn mdoc_generated_nonce(
    apu: Option<Vec<u8>>,
    apv: Option<Vec<u8>>,
    nonce: &Nonce,
) -> Option<String> {
    let is_ours = apv.is_none_or(|apv| ct::eq(&apv, nonce.expose().as_bytes()));
    let text = String::from_utf8(apu?).ok()?;
    (is_ours && !text.is_empty()).then_some(text)
}
