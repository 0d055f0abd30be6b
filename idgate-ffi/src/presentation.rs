//! One captured presentation, verified outside a session.

use std::collections::BTreeMap;

use idgate_core::ClaimPath;
use idgate_core::UnixMillis;
use idgate_core::crypto::Alg;
use idgate_core::{Mode, Profile, Trust};
use zeroize::Zeroizing;

use crate::boundary::{boundary, put};
use crate::bytes::{give, idgate_bytes};
use crate::choice::{choices, idgate_mode, idgate_profile};
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, input, optional_text, text, texts};
use crate::handles;
use crate::json;
use crate::presented::{Mdoc, Presented, Terms, Way};
use crate::sized;
use crate::status::idgate_status::{self, IDGATE_MISUSE};
use crate::trust::{TrustHandle, idgate_trust};
use crate::verification::{VerificationHandle, idgate_verification};

/// The format of a credential.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_format {
    /// SD-JWT VC.
    IDGATE_FORMAT_SD_JWT_VC = 1,
    /// mdoc (ISO/IEC 18013-5).
    IDGATE_FORMAT_MDOC = 2,
}

choices! {
    idgate_format: IDGATE_FORMAT_SD_JWT_VC, IDGATE_FORMAT_MDOC;
}

/// The credential that a presentation must have, and the request that it answers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_expected {
    /// `sizeof(idgate_expected)`
    pub size: usize,
    /// An idgate_format.
    pub format: i32,
    /// An idgate_profile: that of the request, which an mdoc depends on. 0: IDGATE_PROFILE_1_0.
    pub profile: i32,
    /// The issuer, by its name in the trust.
    pub issuer_id: idgate_str,
    /// The `client_id` exactly as you sent it.
    pub client_id: idgate_str,
    /// The nonce exactly as you sent it. You have to check that it was not used before.
    pub nonce: idgate_str,
    /// When you sent the request. The proof of an SD-JWT VC from before that time is stale. 0: `now_ms`.
    pub sent_at_ms: u64,
    /// The claims that must be there. The result has only these.
    pub claims: *const idgate_str,
    /// How many claims there are.
    pub claims_len: usize,
    /// Where claims of an SD-JWT VC are that are not members of the payload by their name: a JSON object, for example
    /// {"city":["address","locality"]}.
    pub claim_paths: idgate_str,
    /// An idgate_mode. 0: IDGATE_MODE_LIVE.
    pub mode: i32,
    /// 1: the result lists every check that was made, with its clause.
    pub checks: u32,
    /// The issuer's algorithm, for example ES256, if it must be that one.
    pub alg: idgate_str,
    /// For an mdoc: the document type.
    pub doc_type: idgate_str,
    /// For an mdoc: the namespace of the claims.
    pub name_space: idgate_str,
    /// For an mdoc that a wallet posted: the `response_uri`.
    pub response_uri: idgate_str,
    /// For an mdoc that a page got from its browser: the origin of the page.
    pub origin: idgate_str,
    /// For an mdoc in an encrypted answer: the JWK that the answer was encrypted to, with `d` if a device MAC is to
    /// be accepted. A device MAC is accepted only in `draft`.
    pub enc_key: idgate_str,
    /// For an mdoc in an encrypted answer of `draft`: the `apu` of the header.
    pub apu: idgate_str,
}

sized::sized!(
    idgate_expected, "the expectation":
    i32, i32, idgate_str, idgate_str, idgate_str, u64, *const idgate_str, usize, idgate_str, i32, u32,
    idgate_str, idgate_str, idgate_str, idgate_str, idgate_str, idgate_str, idgate_str
);

/// Verifies one presentation as a wallet puts it into vp_token, without a session. Nothing is fetched: a credential
/// whose status is published is `revocation_unknown`, unless its issuer's `revocation` is "off" or its CRL was added;
/// idgate_presentation_begin is for these. `out` gets JSON: `claims`, and the facts about the credential, with the
/// `provider` that a trusted list names for the issuer. IDGATE_REFUSED: the error's code is the reason, and
/// idgate_error_clause names the rule.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_presentation_verify(
    trust: *const idgate_trust,
    presentation: idgate_str,
    expected: *const idgate_expected,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise.
        let (trust, presentation, terms) =
            unsafe { given(trust, presentation, expected, UnixMillis(now_ms))? };
        let mut told = terms.verify(&trust, presentation, UnixMillis(now_ms))?;
        // It has claims: no copy of them is left behind.
        put(out, || Ok(give(std::mem::take(&mut *told))))
    })
}

/// Starts to verify one presentation in steps, so that its status can be fetched. Step it like the verification of an
/// answer; there is nothing to commit and no reply to send. idgate_step_json has the result.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_presentation_begin(
    trust: *const idgate_trust,
    presentation: idgate_str,
    expected: *const idgate_expected,
    now_ms: u64,
    out: *mut *mut idgate_verification,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let now = UnixMillis(now_ms);
        // SAFETY: the caller's promise.
        let (trust, presentation, terms) = unsafe { given(trust, presentation, expected, now)? };
        let presented = Presented::begin(trust, presentation, terms, now)?;
        put(out, || Ok(handles::make(VerificationHandle::of_presentation(presented))))
    })
}

/// Reads the caller's input: the issuer that is expected, alone in its trust, the presentation, and its terms.
///
/// # Safety
/// As [`sized::read`], and texts as [`input`].
#[allow(unsafe_code)]
unsafe fn given<'a>(
    trust: *const idgate_trust,
    presentation: idgate_str,
    expected: *const idgate_expected,
    now: UnixMillis,
) -> Result<(Trust, &'a str, Terms), Failure> {
    let trust = handles::find::<TrustHandle>(trust)?;
    // SAFETY: the caller's promise is the same, for each.
    let (presentation, terms) =
        unsafe { (input(presentation, "presentation")?, read(&sized::read(expected)?, now)?) };
    // Bytes that are not text become an empty text, which the core refuses.
    let presentation = std::str::from_utf8(presentation).unwrap_or_default();
    Ok((trust.alone(&terms.issuer_id), presentation, terms))
}

/// Reads the texts of an expectation.
///
/// # Safety
/// Its texts are as [`input`] asks.
#[allow(unsafe_code)]
unsafe fn read(expected: &idgate_expected, now: UnixMillis) -> Result<Terms, Failure> {
    // SAFETY: the caller's promise is the same, for each.
    let (issuer_id, client_id, nonce, claims, claim_paths, alg) = unsafe {
        (
            text(expected.issuer_id, "issuer_id")?,
            text(expected.client_id, "client_id")?,
            text(expected.nonce, "nonce")?,
            texts(expected.claims, expected.claims_len, "claims")?,
            input(expected.claim_paths, "claim_paths")?,
            optional_text(expected.alg, "alg")?,
        )
    };
    let profile = match expected.profile {
        0 => Profile::V1_0,
        chosen => idgate_profile::of(chosen, "profile")?.into(),
    };
    let mdoc = match idgate_format::of(expected.format, "format")? {
        idgate_format::IDGATE_FORMAT_SD_JWT_VC => None,
        // SAFETY: the caller's promise is the same.
        idgate_format::IDGATE_FORMAT_MDOC => Some(unsafe { read_mdoc(expected, profile)? }),
    };
    let mode = match expected.mode {
        0 => Mode::Live,
        chosen => idgate_mode::of(chosen, "mode")?.into(),
    };
    let sent_at = match expected.sent_at_ms {
        0 => now,
        sent_at => UnixMillis(sent_at),
    };
    if expected.checks > 1 {
        return Err(Failure::misuse("checks must be 0 or 1"));
    }
    let claim_paths: BTreeMap<String, ClaimPath> = match claim_paths {
        [] => BTreeMap::new(),
        paths => json::read(paths, "claim_paths", IDGATE_MISUSE)?,
    };
    let unknown = || Failure::misuse("alg is not an algorithm that the library knows");
    let alg = alg.map(|name| Alg::from_name(name).ok_or_else(unknown)).transpose()?;
    Ok(Terms {
        issuer_id: issuer_id.to_owned(),
        client_id: client_id.to_owned(),
        nonce: nonce.to_owned(),
        sent_at,
        claims: claims.into_iter().map(str::to_owned).collect(),
        claim_paths: claim_paths.into_iter().collect(),
        mode,
        alg,
        mdoc,
        checks: expected.checks == 1,
    })
}

/// Reads the further terms of an mdoc in that profile.
///
/// # Safety
/// The texts are as [`input`] asks.
#[allow(unsafe_code)]
unsafe fn read_mdoc(expected: &idgate_expected, profile: Profile) -> Result<Mdoc, Failure> {
    // SAFETY: the caller's promise is the same, for each.
    let (doc_type, name_space, response_uri, origin, enc_key, apu) = unsafe {
        (
            optional_text(expected.doc_type, "doc_type")?,
            optional_text(expected.name_space, "name_space")?,
            optional_text(expected.response_uri, "response_uri")?,
            optional_text(expected.origin, "origin")?,
            optional_text(expected.enc_key, "enc_key")?,
            optional_text(expected.apu, "apu")?,
        )
    };
    let needed = |given: Option<&str>, name: &str| {
        let missing = || Failure::misuse(format!("{name} is missing, which an mdoc needs"));
        given.map(str::to_owned).ok_or_else(missing)
    };
    let way = match (response_uri, origin) {
        (None, Some(origin)) => Way::DcApi { origin: origin.to_owned() },
        (Some(_), Some(_)) => {
            let why = "response_uri and origin are both given; give origin for an answer through \
                       a browser, else response_uri";
            return Err(Failure::misuse(why));
        }
        (response_uri, None) => {
            let response_uri = needed(response_uri, "response_uri")?;
            match profile {
                Profile::Draft => Way::Draft { response_uri },
                _ => Way::OpenId4Vp { response_uri },
            }
        }
    };
    Ok(Mdoc {
        doc_type: needed(doc_type, "doc_type")?,
        name_space: needed(name_space, "name_space")?,
        way,
        enc_key: enc_key.map(|key| Zeroizing::new(key.as_bytes().to_vec())),
        apu: apu.map(str::to_owned),
    })
}
