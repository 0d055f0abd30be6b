//! The input for one presentation outside a session: the request that was sent, and the credential
//! that it must contain.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::codec::base64url;
use crate::crypto::{Alg, JwkError};
use crate::ids::{ClaimPath, CredentialFormat};
use crate::mode::Mode;
use crate::time::UnixMillis;
use crate::verify::captured::CapturedKey;

/// The request that the wallet answered. The fields have names, so that they cannot be confused.
#[derive(Clone, Copy)]
// an additional field is an additional check, which callers must know about
#[allow(clippy::exhaustive_structs)]
pub struct Sent<'a> {
    /// The `client_id` exactly as sent, with its prefix. The holder's proof must name it.
    pub client_id: &'a str,
    /// The nonce.
    pub nonce: &'a str,
    /// The time when the request was made. A key binding JWT with an earlier `iat` is refused as
    /// stale. The proof of an mdoc has no time, so nothing is compared.
    pub at: UnixMillis,
}

/// Omits the nonce.
impl fmt::Debug for Sent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sent")
            .field("client_id", &self.client_id)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// The credential that a presentation must contain.
///
/// ```
/// use idgate_core::{Expected, Sent, UnixMillis};
///
/// let sent = Sent { client_id: "x509_san_dns:shop.example", nonce: "n-0S6", at: UnixMillis(0) };
/// let expected = Expected::sd_jwt_vc("https://issuer.example", sent).claims(&["birthdate"]);
/// ```
///
/// A request needs all its parts:
///
/// ```compile_fail,E0063
/// # use idgate_core::{Sent, UnixMillis};
/// let sent = Sent { client_id: "x509_san_dns:shop.example", at: UnixMillis(0) };
/// ```
#[derive(Clone)]
pub struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) sent: Sent<'a>,
    pub(super) kind: Kind<'a>,
    pub(super) claims: &'a [&'a str],
    pub(super) claim_paths: Vec<(String, ClaimPath)>,
    pub(super) mode: Mode,
    pub(super) alg: Option<Alg>,
}

/// The format, with its own settings.
#[derive(Clone)]
pub(super) enum Kind<'a> {
    SdJwtVc,
    Mdoc(Box<Mdoc<'a>>),
}

#[derive(Clone)]
pub(super) struct Mdoc<'a> {
    pub(super) doc_type: &'a str,
    pub(super) namespace: &'a str,
    pub(super) transcript: Transcript<'a>,
}

impl<'a> Expected<'a> {
    /// Expects an SD-JWT VC of `issuer`, by its name in the [`Trust`](crate::Trust), for a live
    /// session.
    pub fn sd_jwt_vc(issuer: &'a str, sent: Sent<'a>) -> Self {
        Self::new(issuer, sent, Kind::SdJwtVc)
    }

    /// Expects an mdoc of `issuer`, by its name in the [`Trust`](crate::Trust), for a live session.
    /// Its claims are elements of `namespace`.
    pub fn mdoc(
        issuer: &'a str,
        doc_type: &'a str,
        namespace: &'a str,
        transcript: Transcript<'a>,
        sent: Sent<'a>,
    ) -> Self {
        Self::new(issuer, sent, Kind::Mdoc(Box::new(Mdoc { doc_type, namespace, transcript })))
    }

    fn new(issuer: &'a str, sent: Sent<'a>, kind: Kind<'a>) -> Self {
        let (mode, claim_paths) = (Mode::Live, Vec::new());
        Self { issuer, sent, kind, claims: &[], claim_paths, mode, alg: None }
    }

    /// The issuer, by its name in the trust.
    pub fn issuer(&self) -> &'a str {
        self.issuer
    }

    /// The format.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn format(&self) -> CredentialFormat {
        match self.kind {
            Kind::SdJwtVc => CredentialFormat::SdJwtVc,
            Kind::Mdoc(_) => CredentialFormat::Mdoc,
        }
    }

    /// Whether test material is accepted.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn takes_tests(&self) -> bool {
        !self.mode.is_live()
    }

    /// Sets the required claims. Only these are returned. You must check their values:
    /// `age_over_18` may be `false`.
    pub fn claims(mut self, names: &'a [&'a str]) -> Self {
        self.claims = names;
        self
    }

    /// Sets the path of an SD-JWT VC claim that is not a top-level member of the payload under its
    /// name.
    pub fn claim_at(mut self, claim: impl Into<String>, path: ClaimPath) -> Self {
        self.claim_paths.push((claim.into(), path));
        self
    }

    /// Sets the mode: [`Mode::Test`] also accepts test material.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the required algorithm of the issuer.
    pub fn alg(mut self, alg: Alg) -> Self {
        self.alg = Some(alg);
        self
    }
}

/// Omits the nonce.
impl fmt::Debug for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected")
            .field("issuer", &self.issuer)
            .field("sent", &self.sent)
            .field("claims", &self.claims)
            .finish_non_exhaustive()
    }
}

/// How the request and the answer of an mdoc were transported. The device signs this too, including
/// the encryption of the answer (OpenID4VP B.2.6).
///
/// ```
/// use idgate_core::Transcript;
///
/// let plain = Transcript::openid4vp("https://shop.example/answer");
/// # let jwk = r#"{"kty":"EC","crv":"P-256","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",
/// #     "y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}"#;
/// let encrypted = plain.encrypted_to(jwk.as_bytes()).unwrap();
/// assert!(Transcript::openid4vp("").encrypted_to(b"no key").is_err());
/// ```
#[derive(Clone)]
pub struct Transcript<'a> {
    pub(super) way: Way<'a>,
    pub(super) key: Option<CapturedKey>,
    /// The wallet's nonce, in base64url.
    pub(super) apu: Option<&'a str>,
}

#[derive(Clone, Copy)]
pub(super) enum Way<'a> {
    OpenId4Vp { response_uri: &'a str },
    Draft { response_uri: &'a str },
    DcApi { origin: &'a str },
}

/// The error for an unreadable key or nonce of an encrypted answer; the text says why.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The key.
    Key(JwkError),
    /// The nonce.
    Apu,
}

impl fmt::Display for TranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(why) => why.fmt(f),
            Self::Apu => f.write_str("the apu is not UTF-8 text in base64url"),
        }
    }
}

impl core::error::Error for TranscriptError {}

impl<'a> Transcript<'a> {
    /// The wallet posted its answer to `response_uri` (OpenID4VP 1.0, B.2.6.1).
    pub fn openid4vp(response_uri: &'a str) -> Self {
        Self::new(Way::OpenId4Vp { response_uri })
    }

    /// The same for a draft before 1.0, where the device may also have signed the transcript of
    /// ISO/IEC TS 18013-7 annex B.
    pub fn draft(response_uri: &'a str) -> Self {
        Self::new(Way::Draft { response_uri })
    }

    /// The browser of a page from `origin` delivered the answer (OpenID4VP B.2.6.2).
    pub fn dc_api(origin: &'a str) -> Self {
        Self::new(Way::DcApi { origin })
    }

    const fn new(way: Way<'a>) -> Self {
        Self { way, key: None, apu: None }
    }

    /// Sets the key, a JWK, that the answer was encrypted to. A device MAC needs its private half,
    /// `d`.
    ///
    /// # Errors
    /// The JWK is not an EC key on a known curve.
    pub fn encrypted_to(mut self, jwk: &[u8]) -> Result<Self, TranscriptError> {
        self.key = Some(CapturedKey::parse(jwk).map_err(TranscriptError::Key)?);
        Ok(self)
    }

    /// Sets the `apu` of the encrypted answer's header, in base64url: the wallet's nonce (ISO/IEC
    /// TS 18013-7 B.4.4). Only drafts use it.
    ///
    /// # Errors
    /// `apu` is not UTF-8 text in base64url.
    pub fn apu(mut self, apu: &'a str) -> Result<Self, TranscriptError> {
        let text = base64url::decode(apu).ok().map(String::from_utf8);
        if !matches!(text, Some(Ok(_))) {
            return Err(TranscriptError::Apu);
        }
        self.apu = Some(apu);
        Ok(self)
    }
}

/// Omits the key.
impl fmt::Debug for Transcript<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, text) = match self.way {
            Way::OpenId4Vp { response_uri } => ("openid4vp", response_uri),
            Way::Draft { response_uri } => ("draft", response_uri),
            Way::DcApi { origin } => ("dc_api", origin),
        };
        f.debug_struct("Transcript")
            .field(name, &text)
            .field("is_encrypted", &self.key.is_some())
            .finish_non_exhaustive()
    }
}
