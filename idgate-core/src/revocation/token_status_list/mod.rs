//! Token Status List (draft-ietf-oauth-status-list): one compressed array of small numbers for many
//! credentials, in a token that a signer of the credential may sign. An identifier list (ISO/IEC
//! 18013-5 second edition 12.3.6) has the identifiers of revoked mdocs instead, and follows the
//! same rules. Nothing is inflated before the signature is verified, and any fault of a list makes
//! the status unknown.

mod claims;
mod cwt;
mod identifiers;
mod inflate;
mod judged;
mod jwt;
#[cfg(all(test, feature = "aws-lc-rs"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use self::claims::{Claims, Listed};
use self::identifiers::Identifiers;
pub(super) use self::judged::Judged;
use super::context::{SignerStatus, StatusContext, TakenBy, Voucher, is_fetchable, unknown};
use crate::codec::{cbor, json};
use crate::error::{Check, Reason, VerifyError};
use crate::ids::{CredentialFormat, IssuerId};
use crate::limits::MAX_STATUS_BYTES;
use crate::time::UnixMillis;
use crate::trust::TrustSnapshot;
use crate::trust::certificate::is_within;
use crate::trust::path::VerifiedPath;
use crate::trust::snapshot::SameTrust;

/// The place of a credential's status: `status_list` of its `status` (draft 6), or
/// `identifier_list` (ISO/IEC 18013-5 second edition 12.3.6).
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct StatusListReference {
    /// Place in the list.
    pub(crate) place: Place,
    /// The URI of the token, which is also its `sub`.
    pub(crate) uri: String,
}

/// A credential's place in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// The index of its status in a status list.
    Index(u64),
    /// The identifier that the issuer adds to an identifier list when it revokes the credential.
    Identifier(Vec<u8>),
}

/// The kinds of lists.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ListKind {
    /// A status for each place.
    Statuses,
    /// The identifiers of revoked mdocs.
    Identifiers,
}

/// The accepted signers of a credential's status list (draft 11.3): those that may sign the
/// credential, or that are below a root that the trust entry names for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListSigner<'v> {
    /// For a credential signed by a bare key: a key of the trust entry.
    IssuerKey,
    /// For a credential signed by a certificate: a certificate below the same anchor.
    Certificate(&'v Voucher),
}

/// The signer of a status list.
#[derive(Clone, Debug)]
enum SignedBy {
    /// A key of the trust entry.
    IssuerKey,
    /// A certificate.
    Certificate(Box<Certified>),
}

#[derive(Clone, Debug)]
struct Certified {
    /// The hash of the root above it, or of the pinned signer itself.
    anchor_sha256: [u8; 32],
    taken_by: TakenBy,
    not_before: UnixMillis,
    not_after: UnixMillis,
    status: SignerStatus,
}

/// A status list token with verified signature, subject and dates, inflated. It can be used only
/// with the trust entry and the trust snapshot that it was checked against.
#[derive(Clone)]
pub struct VerifiedStatusList {
    uri: String,
    content: Content,
    issued_at: UnixMillis,
    fresh_until: UnixMillis,
    expires_at: UnixMillis,
    /// The format of the credentials that it was judged for: other formats have other signers.
    format: CredentialFormat,
    /// The anchor of the first of them; `None`: a bare key.
    voucher: Option<Voucher>,
    binding: Binding,
    signed_by: SignedBy,
}

/// The content of a verified list.
#[derive(Clone)]
enum Content {
    Statuses { bits: Bits, statuses: Vec<u8> },
    Identifiers(Identifiers),
}

/// The restrictions on the use of a verified list.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Binding {
    issuer_id: IssuerId,
    trust: Option<SameTrust>,
    livemode: bool,
}

/// Bits per status: 1, 2, 4 or 8 (draft 4.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Bits(u8);

impl StatusListReference {
    /// Reads the `status_list` object of a JWT payload. `None`: it cannot be used.
    pub(crate) fn from_json(status_list: json::Value<'_, '_>) -> Option<Self> {
        let idx = status_list.get("idx")?.as_u64()?;
        Self::new(idx, &status_list.get("uri")?.as_str()?)
    }

    /// Reads the `status_list` map of an MSO. `None`: it cannot be used.
    pub(crate) fn from_cbor(status_list: cbor::Value<'_, '_>) -> Option<Self> {
        let idx = status_list.get("idx")?.as_u64()?;
        Self::new(idx, &status_list.get("uri")?.as_text()?)
    }

    /// Reads the `identifier_list` map of an MSO. `None`: it cannot be used.
    pub(crate) fn from_identifier_list(identifier_list: cbor::Value<'_, '_>) -> Option<Self> {
        let identifier = identifier_list.get("id")?.as_bytes()?;
        Self::of_identifier(&identifier, &identifier_list.get("uri")?.as_text()?)
    }

    /// A place in a status list. `None`: the URI cannot be fetched.
    pub(crate) fn new(idx: u64, uri: &str) -> Option<Self> {
        is_fetchable(uri).then(|| Self { place: Place::Index(idx), uri: uri.into() })
    }

    /// An identifier in an identifier list. `None`: the URI cannot be fetched.
    pub(crate) fn of_identifier(identifier: &[u8], uri: &str) -> Option<Self> {
        let place = Place::Identifier(identifier.into());
        is_fetchable(uri).then(|| Self { place, uri: uri.into() })
    }

    /// The kind of the list.
    pub(crate) fn kind(&self) -> ListKind {
        match self.place {
            Place::Index(_) => ListKind::Statuses,
            Place::Identifier(_) => ListKind::Identifiers,
        }
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
    /// Authenticates the token of this kind at `uri`.
    pub(super) fn verify_kind(
        kind: ListKind,
        token: &[u8],
        uri: &str,
        signer: ListSigner<'_>,
        context: &StatusContext<'_>,
    ) -> Result<Judged, VerifyError> {
        match kind {
            ListKind::Statuses => Self::judge(token, uri, signer, context),
            ListKind::Identifiers => Self::judge_identifiers(token, uri, signer, context),
        }
    }

    /// Authenticates the status list token at `uri` and inflates its list (draft 8.3).
    fn judge(
        token: &[u8],
        uri: &str,
        signer: ListSigner<'_>,
        context: &StatusContext<'_>,
    ) -> Result<Judged, VerifyError> {
        check_size(token)?;
        let (claims, signed_by) = match signer {
            // The list of an SD-JWT VC is a JWT, whichever signer it has (SD-JWT VC on `status`).
            ListSigner::Certificate(voucher)
                if signer.format() == CredentialFormat::Mdoc && cwt::is_cwt(token) =>
            {
                cwt::authenticate(token, ListKind::Statuses, voucher, context)?
            }
            _ => jwt::authenticate(token, signer, context)?,
        };
        Self::accept(claims, uri, signer, signed_by, context)
    }

    /// Authenticates the identifier list token at `uri`, which is a CWT and only for mdocs (ISO/IEC
    /// 18013-5 second edition 12.3.6.4).
    fn judge_identifiers(
        token: &[u8],
        uri: &str,
        signer: ListSigner<'_>,
        context: &StatusContext<'_>,
    ) -> Result<Judged, VerifyError> {
        check_size(token)?;
        let voucher = match signer {
            ListSigner::Certificate(voucher) if signer.format() == CredentialFormat::Mdoc => {
                voucher
            }
            _ => return Err(unknown("an identifier list is for mdocs only")),
        };
        if !cwt::is_cwt(token) {
            return Err(unknown("the identifier list token is not a CWT"));
        }
        let (claims, signed_by) =
            cwt::authenticate(token, ListKind::Identifiers, voucher, context)?;
        Self::accept(claims, uri, signer, signed_by, context)
    }

    fn accept(
        claims: Claims,
        uri: &str,
        signer: ListSigner<'_>,
        signed_by: SignedBy,
        context: &StatusContext<'_>,
    ) -> Result<Judged, VerifyError> {
        claims.check(uri, context.now)?;
        let end = claims.end(context.issuer.status_max_age_days);
        let over = claims.over(end, context.now);
        if !signed_by.may_sign_at(claims.iat) {
            let detail =
                "iat of the status list token is outside its certificate's validity period";
            return Err(unknown(detail));
        }
        let fresh_until = claims.fresh_until(end, context.now);
        let content = match claims.list {
            Listed::Statuses { bits, lst } => {
                let known = Bits::new(bits);
                let bits = known.ok_or(unknown("bits of the status list is not 1, 2, 4 or 8"))?;
                Content::Statuses { bits, statuses: inflate::zlib(&lst)? }
            }
            Listed::Identifiers(identifiers) => Content::Identifiers(identifiers),
        };
        let list = Self {
            uri: uri.into(),
            content,
            issued_at: claims.iat,
            fresh_until,
            expires_at: end,
            format: signer.format(),
            voucher: signer.voucher().cloned(),
            binding: Binding::of(context),
            signed_by,
        };
        Ok(match over {
            Some(why) => Judged::Over(list, why),
            None => Judged::Current(list),
        })
    }

    /// The URI that it was fetched from.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The format of the credentials that it was judged for.
    pub(super) fn format(&self) -> CredentialFormat {
        self.format
    }

    /// The time until which it need not be fetched again: the fetch plus `ttl`, at most `exp`
    /// (draft 13.7). A token with neither must not be cached.
    pub fn fresh_until(&self) -> UnixMillis {
        self.fresh_until
    }

    /// Its `exp`, or without one the age that the trust entry allows. From then on it is no longer
    /// valid, whatever the state of its source.
    pub fn expires_at(&self) -> Option<UnixMillis> {
        Some(self.expires_at)
    }

    /// The facts needed to check whether the certificate that signed it is revoked; `None`: a bare
    /// key signed it.
    pub(super) fn signer(&self) -> Option<&SignerStatus> {
        match &self.signed_by {
            SignedBy::IssuerKey => None,
            SignedBy::Certificate(certified) => Some(&certified.status),
        }
    }

    pub(super) fn weight(&self) -> usize {
        match &self.content {
            Content::Statuses { statuses, .. } => statuses.len(),
            Content::Identifiers(identifiers) => identifiers.weight(),
        }
    }

    pub(super) fn kind(&self) -> ListKind {
        match self.content {
            Content::Statuses { .. } => ListKind::Statuses,
            Content::Identifiers(_) => ListKind::Identifiers,
        }
    }

    /// Whether it can be used now for a credential of this trust entry.
    pub(super) fn serves(&self, signer: ListSigner<'_>, context: &StatusContext<'_>) -> bool {
        self.is_for(signer, context)
            && self.signed_by.may_sign_at(context.now)
            && context.now < self.expires_at
    }

    /// Whether its signer is accepted for this credential, at any time.
    pub(super) fn is_for(&self, signer: ListSigner<'_>, context: &StatusContext<'_>) -> bool {
        let voucher = signer.voucher();
        let is_signed_rightly = match &self.signed_by {
            SignedBy::IssuerKey => voucher.is_none(),
            SignedBy::Certificate(certified) => {
                context.takes_lists_of(&certified.anchor_sha256, certified.taken_by, voucher)
            }
        };
        is_signed_rightly && self.format == signer.format() && self.binding == Binding::of(context)
    }

    /// The status at `idx`, least significant bits first (draft 4.1); `None` past the end, and in
    /// an identifier list, which has no places.
    pub fn status(&self, idx: u64) -> Option<u8> {
        let Content::Statuses { bits, statuses } = &self.content else { return None };
        let per_byte = 8 / bits.0;
        let byte = usize::try_from(idx / u64::from(per_byte)).ok()?;
        let place = u8::try_from(idx % u64::from(per_byte)).ok()?;
        let mask = u8::MAX >> (8 - bits.0);
        Some((statuses.get(byte)? >> (place * bits.0)) & mask)
    }

    /// Checks the credential at `place` against the list.
    pub(super) fn check_at(&self, place: &Place) -> Result<(), VerifyError> {
        match (place, &self.content) {
            (Place::Index(idx), Content::Statuses { .. }) => self.check(*idx),
            (Place::Identifier(identifier), Content::Identifiers(identifiers)) => {
                match identifiers.contains(identifier) {
                    true => Err(VerifyError::new(
                        Reason::CredentialRevoked,
                        Check::Status,
                        "the issuer revoked the credential",
                    )),
                    false => Ok(()),
                }
            }
            _ => Err(unknown("the credential names a list of a different kind")),
        }
    }

    /// The list's answer about the credential at `idx` (draft 7.1). A status other
    /// than 0 (valid) and 2 (suspended) counts as revoked.
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

fn check_size(token: &[u8]) -> Result<(), VerifyError> {
    if token.len() > MAX_STATUS_BYTES {
        return Err(unknown("the status list token is larger than 10 MiB"));
    }
    Ok(())
}

impl<'v> ListSigner<'v> {
    /// The anchor of the credential; `None`: a bare key.
    fn voucher(self) -> Option<&'v Voucher> {
        match self {
            Self::IssuerKey => None,
            Self::Certificate(voucher) => Some(voucher),
        }
    }

    /// The format of the list's credentials.
    pub(super) fn format(&self) -> CredentialFormat {
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

    /// A bare key has no validity period.
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
            trust: context.trust.map(TrustSnapshot::same),
            livemode: context.livemode,
        }
    }
}

impl fmt::Debug for VerifiedStatusList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = f.debug_struct("VerifiedStatusList");
        told.field("uri", &self.uri);
        match &self.content {
            Content::Statuses { bits, statuses } => {
                told.field("bits", &bits.0).field("bytes", &statuses.len())
            }
            Content::Identifiers(identifiers) => told.field("identifiers", &identifiers.len()),
        };
        told.field("fresh_until", &self.fresh_until).finish_non_exhaustive()
    }
}
