//! One presentation outside a session: the request that was sent, and the credential that must come back.

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

/// The request that the wallet answered. The fields have names, so that none is taken for another.
#[derive(Clone, Copy)]
#[allow(clippy::exhaustive_structs)] // one field more is one check more: its caller must know
pub struct Sent<'a> {
    /// The `client_id` exactly as sent, with its prefix: the holder's proof must name it.
    pub client_id: &'a str,
    /// The nonce.
    pub nonce: &'a str,
    /// When the request was made: the proof of an SD-JWT VC from before it is stale. An mdoc has no such time.
    pub at: UnixMillis,
}

/// Never the nonce.
impl fmt::Debug for Sent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sent")
            .field("client_id", &self.client_id)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// The credential that a presentation must have.
///
/// ```
/// use idgate_core::{Expected, Sent, UnixMillis};
///
/// let sent = Sent { client_id: "x509_san_dns:shop.example", nonce: "n-0S6", at: UnixMillis(0) };
/// let expected = Expected::sd_jwt_vc("https://issuer.example", sent).claims(&["birthdate"]);
/// ```
///
/// A request has all of its parts:
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

/// The format, and what only credentials of that format have.
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
    /// An SD-JWT VC of `issuer`, by its name in the [`Trust`](crate::Trust), for a live session.
    pub fn sd_jwt_vc(issuer: &'a str, sent: Sent<'a>) -> Self {
        Self::new(issuer, sent, Kind::SdJwtVc)
    }

    /// An mdoc of `issuer`, by its name in the [`Trust`](crate::Trust), for a live session. Its claims are
    /// elements of `namespace`.
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

    /// Whether material for tests serves.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn takes_tests(&self) -> bool {
        !self.mode.is_live()
    }

    /// The claims that must be there. Only these come back. Their values are yours to judge: `age_over_18` may be
    /// `false`.
    pub fn claims(mut self, names: &'a [&'a str]) -> Self {
        self.claims = names;
        self
    }

    /// Where a claim of an SD-JWT VC is, if it is not a member of the payload by its name.
    pub fn claim_at(mut self, claim: impl Into<String>, path: ClaimPath) -> Self {
        self.claim_paths.push((claim.into(), path));
        self
    }

    /// The mode of the session that it would be for: [`Mode::Test`] also takes material for tests.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The issuer's algorithm must be this one.
    pub fn alg(mut self, alg: Alg) -> Self {
        self.alg = Some(alg);
        self
    }
}

/// Never the nonce.
impl fmt::Debug for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected")
            .field("issuer", &self.issuer)
            .field("sent", &self.sent)
            .field("claims", &self.claims)
            .finish_non_exhaustive()
    }
}

/// The device of an mdoc also signs the way that the request took, and the encryption of the answer
/// (OpenID4VP B.2.6).
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
    /// The nonce that the wallet made, in base64url.
    pub(super) apu: Option<&'a str>,
}

#[derive(Clone, Copy)]
pub(super) enum Way<'a> {
    OpenId4Vp { response_uri: &'a str },
    Draft { response_uri: &'a str },
    DcApi { origin: &'a str },
}

/// A key or a nonce of an encrypted answer that cannot be read; the text says why.
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
            Self::Apu => f.write_str("the apu is not base64url of text"),
        }
    }
}

impl core::error::Error for TranscriptError {}

impl<'a> Transcript<'a> {
    /// The wallet posted its answer to `response_uri` (OpenID4VP 1.0, B.2.6.1).
    pub fn openid4vp(response_uri: &'a str) -> Self {
        Self::new(Way::OpenId4Vp { response_uri })
    }

    /// The same of a draft before 1.0, where the device may also have signed as ISO/IEC TS 18013-7 annex B
    /// has it.
    pub fn draft(response_uri: &'a str) -> Self {
        Self::new(Way::Draft { response_uri })
    }

    /// The browser of a page from `origin` brought the answer (OpenID4VP B.2.6.2).
    pub fn dc_api(origin: &'a str) -> Self {
        Self::new(Way::DcApi { origin })
    }

    const fn new(way: Way<'a>) -> Self {
        Self { way, key: None, apu: None }
    }

    /// The answer was encrypted to this key, a JWK. A device MAC needs its private half, `d`.
    ///
    /// # Errors
    /// It is not an EC key on a known curve.
    pub fn encrypted_to(mut self, jwk: &[u8]) -> Result<Self, TranscriptError> {
        self.key = Some(CapturedKey::parse(jwk).map_err(TranscriptError::Key)?);
        Ok(self)
    }

    /// The `apu` of the encrypted answer's header, in base64url: the nonce that the wallet made
    /// (ISO/IEC TS 18013-7 B.4.4). Only a draft uses it.
    ///
    /// # Errors
    /// It is not base64url of text.
    pub fn apu(mut self, apu: &'a str) -> Result<Self, TranscriptError> {
        let text = base64url::decode(apu).ok().map(String::from_utf8);
        if !matches!(text, Some(Ok(_))) {
            return Err(TranscriptError::Apu);
        }
        self.apu = Some(apu);
        Ok(self)
    }
}

/// Never the key.
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
