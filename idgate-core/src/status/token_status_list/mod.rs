//! Token Status List (draft-ietf-oauth-status-list): one compressed array of small numbers for many
//! credentials, in a token signed by whoever may sign the credential. Nothing is inflated before
//! the signature verified, and whatever is wrong with a list makes the status unknown.

mod claims;
mod cwt;
mod inflate;
mod jwt;
#[cfg(all(test, feature = "aws-lc-rs"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use self::claims::Claims;
use super::context::{SignerStatus, StatusContext, TakenBy, Voucher, is_fetchable, unknown};
use crate::codec::{cbor, json};
use crate::error::{Check, Reason, VerifyError};
use crate::ids::{CredentialFormat, IssuerId};
use crate::limits::MAX_STATUS_BYTES;
use crate::time::UnixMillis;
use crate::trust::certificate::is_within;
use crate::trust::path::VerifiedPath;

/// Where a credential's status stands (draft 6): `status_list` of its `status`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct StatusListReference {
    /// Place in the list.
    pub(crate) idx: u64,
    /// Where the token is, and its `sub`.
    pub(crate) uri: String,
}

/// Who may sign the status list of a credential (draft 11.3): whoever may sign the credential, or
/// stands below a root that the trust entry names for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListSigner<'v> {
    /// Of a credential that a bare key signed: a key of the trust entry.
    IssuerKey,
    /// Of a credential that a certificate signed: one below what vouched for it.
    Certificate(&'v Voucher),
}

/// Who signed a status list.
#[derive(Clone, Debug)]
enum SignedBy {
    /// A key of the trust entry.
    IssuerKey,
    /// A certificate.
    Certificate(Box<Certified>),
}

#[derive(Clone, Debug)]
struct Certified {
    /// Of the root that it stands below, or of the pinned signer that it is.
    anchor_sha256: [u8; 32],
    taken_by: TakenBy,
    not_before: UnixMillis,
    not_after: UnixMillis,
    status: SignerStatus,
}

/// A status list token of which signature, subject and dates were checked, inflated. It serves
/// the trust entry and the trust snapshot that it was checked against, and no other.
#[derive(Clone)]
pub struct VerifiedStatusList {
    uri: String,
    bits: Bits,
    statuses: Vec<u8>,
    fresh_until: UnixMillis,
    expires_at: UnixMillis,
    /// Of the credentials that it was judged for: other formats have other signers.
    format: CredentialFormat,
    binding: Binding,
    signed_by: SignedBy,
}

/// What a verified list may be used for.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Binding {
    issuer_id: IssuerId,
    trust_version: u64,
    livemode: bool,
}

/// Bits per status: 1, 2, 4 or 8 (draft 4.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Bits(u8);

impl StatusListReference {
    /// From the `status_list` object of a JWT payload. `None`: it cannot be followed.
    pub(crate) fn from_json(status_list: json::Value<'_, '_>) -> Option<Self> {
        let idx = status_list.get("idx")?.as_u64()?;
        Self::new(idx, &status_list.get("uri")?.as_str()?)
    }

    /// From the `status_list` map of an MSO. `None`: it cannot be followed.
    pub(crate) fn from_cbor(status_list: cbor::Value<'_, '_>) -> Option<Self> {
        let idx = status_list.get("idx")?.as_u64()?;
        Self::new(idx, &status_list.get("uri")?.as_text()?)
    }

    /// `None`: the URI cannot be fetched.
    pub(crate) fn new(idx: u64, uri: &str) -> Option<Self> {
        is_fetchable(uri).then(|| Self { idx, uri: uri.into() })
    }
}

impl Bits {
    fn new(bits: u64) -> Option<Self> {
        match bits {
            1 | 2 | 4 | 8 => u8::try_from(bits).ok().map(Self),
            _ => None,
        }
    }
}

impl VerifiedStatusList {
    /// Authenticates the token at `uri` and inflates its list (draft 8.3).
    pub(super) fn verify(
        token: &[u8],
        uri: &str,
        signer: ListSigner<'_>,
        context: &StatusContext<'_>,
    ) -> Result<Self, VerifyError> {
        if token.len() > MAX_STATUS_BYTES {
            return Err(unknown("the status list token is larger than 10 MiB"));
        }
        let (claims, signed_by) = match signer {
            // The list of an SD-JWT VC is a JWT, whoever signs it (SD-JWT VC on `status`).
            ListSigner::Certificate(voucher)
                if signer.format() == CredentialFormat::Mdoc && cwt::is_cwt(token) =>
            {
                cwt::authenticate(token, voucher, context)?
            }
            _ => jwt::authenticate(token, signer, context)?,
        };
        Self::accept(&claims, uri, signer.format(), signed_by, context)
    }

    fn accept(
        claims: &Claims,
        uri: &str,
        format: CredentialFormat,
        signed_by: SignedBy,
        context: &StatusContext<'_>,
    ) -> Result<Self, VerifyError> {
        let end = claims.end(context.issuer.status_max_age_days);
        claims.check(uri, end, context.now)?;
        if !signed_by.may_sign_at(claims.iat) {
            let detail = "iat of the status list token lies outside its certificate's dates";
            return Err(unknown(detail));
        }
        let bits =
            Bits::new(claims.bits).ok_or(unknown("bits of the status list is not 1, 2, 4 or 8"))?;
        Ok(Self {
            uri: uri.into(),
            bits,
            statuses: inflate::zlib(&claims.lst)?,
            fresh_until: claims.fresh_until(end, context.now),
            expires_at: end,
            format,
            binding: Binding::of(context),
            signed_by,
        })
    }

    /// Where it was fetched from.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Until when it need not be fetched again: the fetch plus `ttl`, at most `exp` (draft 13.7).
    /// A token with neither is not to be kept.
    pub fn fresh_until(&self) -> UnixMillis {
        self.fresh_until
    }

    /// Its `exp`, or without one the time for which the trust entry lets it count: from then on it
    /// says nothing, whatever the state of its source.
    pub fn expires_at(&self) -> Option<UnixMillis> {
        Some(self.expires_at)
    }

    /// What is known of the certificate that signed it, for its revocation; `None`: a bare key did.
    pub(super) fn signer(&self) -> Option<&SignerStatus> {
        match &self.signed_by {
            SignedBy::IssuerKey => None,
            SignedBy::Certificate(certified) => Some(&certified.status),
        }
    }

    pub(super) fn weight(&self) -> usize {
        self.statuses.len()
    }

    /// Whether it says something about a credential of this trust entry now.
    pub(super) fn serves(&self, signer: ListSigner<'_>, context: &StatusContext<'_>) -> bool {
        let voucher = match signer {
            ListSigner::IssuerKey => None,
            ListSigner::Certificate(voucher) => Some(voucher),
        };
        let is_signed_rightly = match &self.signed_by {
            SignedBy::IssuerKey => voucher.is_none(),
            SignedBy::Certificate(certified) => {
                context.takes_lists_of(&certified.anchor_sha256, certified.taken_by, voucher)
            }
        };
        is_signed_rightly
            && self.format == signer.format()
            && self.binding == Binding::of(context)
            && self.signed_by.may_sign_at(context.now)
            && context.now < self.expires_at
    }

    /// The status at `idx`, least significant bits first; `None` past the end (draft 4.1).
    pub fn status(&self, idx: u64) -> Option<u8> {
        let per_byte = 8 / self.bits.0;
        let byte = usize::try_from(idx / u64::from(per_byte)).ok()?;
        let place = u8::try_from(idx % u64::from(per_byte)).ok()?;
        let mask = u8::MAX >> (8 - self.bits.0);
        Some((self.statuses.get(byte)? >> (place * self.bits.0)) & mask)
    }

    /// What the list says about the credential at `idx` (draft 7.1, decisions 7).
    pub(super) fn check(&self, idx: u64) -> Result<(), VerifyError> {
        let refuse = |reason, detail| Err(VerifyError::new(reason, Check::Status, detail));
        match self.status(idx) {
            Some(0) => Ok(()),
            Some(1) => refuse(Reason::CredentialRevoked, "the issuer revoked the credential"),
            Some(2) => refuse(Reason::CredentialSuspended, "the issuer suspended the credential"),
            Some(_) => {
                refuse(Reason::CredentialRevoked, "the credential has a status other than valid")
            }
            None => Err(unknown("the credential's index is past the end of the status list")),
        }
    }
}

impl ListSigner<'_> {
    /// Of the credentials whose list it is.
    fn format(&self) -> CredentialFormat {
        match self {
            Self::IssuerKey => CredentialFormat::SdJwtVc,
            Self::Certificate(voucher) => voucher.format(),
        }
    }
}

impl SignedBy {
    fn certificate(path: &VerifiedPath, taken_by: TakenBy) -> Self {
        Self::Certificate(Box::new(Certified {
            anchor_sha256: path.anchor_sha256,
            taken_by,
            not_before: path.not_before,
            not_after: path.not_after,
            status: SignerStatus::of(path),
        }))
    }

    /// A bare key has no dates.
    fn may_sign_at(&self, at: UnixMillis) -> bool {
        match self {
            Self::IssuerKey => true,
            Self::Certificate(certified) => {
                is_within(certified.not_before, certified.not_after, at)
            }
        }
    }
}

impl Binding {
    fn of(context: &StatusContext<'_>) -> Self {
        Self {
            issuer_id: context.issuer.issuer_id.clone(),
            trust_version: context.trust_version,
            livemode: context.livemode,
        }
    }
}

impl fmt::Debug for VerifiedStatusList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedStatusList")
            .field("uri", &self.uri)
            .field("bits", &self.bits.0)
            .field("bytes", &self.statuses.len())
            .field("fresh_until", &self.fresh_until)
            .finish_non_exhaustive()
    }
}
