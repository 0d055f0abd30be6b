//! Questions about one certificate or one list, for test suites.

use alloc::vec::Vec;

use super::Inquiry;
use super::list::ListQuestion;
use crate::crypto::CryptoProvider;
use crate::ids::{CredentialFormat, IssuerId};
use crate::revocation::context::{SignerStatus, StatusContext, Voucher};
use crate::revocation::outcome::RevocationDetails;
use crate::revocation::published::Published;
use crate::revocation::source::Supplied;
use crate::revocation::token_status_list::StatusListReference;
use crate::time::UnixMillis;
use crate::trust::crl::VerifiedCrl;
use crate::trust::path::authenticate_below;
use crate::trust::{TrustAnchor, TrustEntry};

/// Whether the certificate `leaf`, directly below one of `roots`, is good by CRLs that its operator
/// supplied, without the profile of ISO/IEC 18013-5. Certificate test suites use this.
pub fn is_good_by_crls(
    provider: &CryptoProvider,
    leaf: &[u8],
    roots: &[TrustAnchor],
    crls: &[&[u8]],
    now: UnixMillis,
) -> bool {
    let mut issuer = TrustEntry::new(IssuerId::new("suite"));
    issuer.roots = roots.to_vec();
    let crl = |der: &&[u8]| VerifiedCrl::from_der(provider, der, roots).ok();
    issuer.crls = crls.iter().filter_map(crl).collect();
    let anchors: Vec<&TrustAnchor> = roots.iter().collect();
    let Ok(path) = authenticate_below(provider, &[leaf], &anchors, 1, now) else { return false };
    let context = StatusContext {
        provider,
        issuer: &issuer,
        trust: None,
        livemode: true,
        on_unknown: None,
        now,
    };
    let signer = Some(SignerStatus::of(&path));
    let published = Published { signer, ..Published::default() };
    Inquiry::open(published, &context)
        .and_then(|inquiry| inquiry.settle())
        .is_ok_and(|settled| settled == RevocationDetails::asked(false, true))
}

/// Whether `token` is the status list at `uri` of `issuer`, for an mdoc of its first root, and says
/// that the credential at `idx` is good. The revocation of the signer's certificate is not checked.
/// Tests of the parsers use this.
pub fn is_good_by_status_list(
    provider: &CryptoProvider,
    token: &[u8],
    (uri, idx): (&str, u64),
    issuer: &TrustEntry,
    format: CredentialFormat,
    now: UnixMillis,
) -> bool {
    let context =
        StatusContext { provider, issuer, trust: None, livemode: true, on_unknown: None, now };
    let root = issuer.roots.first().filter(|_| format == CredentialFormat::Mdoc);
    let voucher = root.map(|root| Voucher::of_mdoc(root.sha256(), ""));
    is_good(StatusListReference::new(idx, uri), token, voucher, &context)
}

/// Whether `token` is the identifier list at `uri` of `issuer`, for an mdoc of its first root, and
/// does not have the credential's `identifier`. The revocation of the signer's certificate is not
/// checked. Tests of the parsers use this.
pub fn is_good_by_identifier_list(
    provider: &CryptoProvider,
    token: &[u8],
    (uri, identifier): (&str, &[u8]),
    issuer: &TrustEntry,
    now: UnixMillis,
) -> bool {
    let context =
        StatusContext { provider, issuer, trust: None, livemode: true, on_unknown: None, now };
    let voucher = issuer.roots.first().map(|root| Voucher::of_mdoc(root.sha256(), ""));
    is_good(StatusListReference::of_identifier(identifier, uri), token, voucher, &context)
}

fn is_good(
    reference: Option<StatusListReference>,
    token: &[u8],
    voucher: Option<Voucher>,
    context: &StatusContext<'_>,
) -> bool {
    let Some(reference) = reference else { return false };
    let mut list = ListQuestion::new(reference, voucher, false);
    let Some(need) = list.need() else { return false };
    list.supply(&need, Supplied::Bytes(token), None, context);
    list.answer().is_some_and(Result::is_ok)
}
