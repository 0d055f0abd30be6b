//! Path validation from a signer's certificate to a trusted root (ISO/IEC 18013-5 9.3.3, HAIP
//! 6.1.1, RFC 5280 6.1). Candidates are found by name and key identifier and confirmed by
//! signature. Every root of a name is tried, within a budget of signature checks. Certificates from
//! the presenter are never trusted by themselves.

pub(super) mod search;
mod status_signer;
#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
mod verified;

use alloc::vec::Vec;

use self::search::{Failure, Path, Search};
pub(crate) use self::status_signer::{StatusRoots, authenticate_named_signer};
pub(super) use self::verified::crl_distribution_points;
use self::verified::{Anchor, verified};
pub(crate) use self::verified::{Intermediate, VerifiedPath};
use super::anchors::TrustAnchor;
use super::certificate::{Certificate, CertificateError};
use super::entry::TrustEntry;
use super::pinned_signer::PinnedSigner;
use super::profile::{self, Broken, SignerProfile};
use super::sample_mark::SAMPLE_REFUSED;
use super::{listed_profile, names, sd_jwt_profile};
use crate::crypto::CryptoProvider;
use crate::error::{Check, Reason, VerifyError};
use crate::limits::MAX_CERTIFICATES;
use crate::time::UnixMillis;

/// Authenticates the document signer at the start of `chain`, the DER certificates of an x5chain
/// (RFC 9360 2), for credentials of `doc_type`. In live mode the signer must be directly below a
/// root; test mode allows one intermediate.
///
/// # Errors
/// `limit_exceeded`: more than 10 certificates, a signer beyond the limits of a certificate, or a
/// search beyond its budget. `untrusted_issuer`: the entry has no material for this mode and
/// document type. `certificate_expired`: a certificate of the path is outside its validity period.
/// `chain_invalid`: everything else.
pub(crate) fn authenticate_chain(
    provider: &CryptoProvider,
    chain: &[&[u8]],
    issuer: &TrustEntry,
    doc_type: &str,
    livemode: bool,
    now: UnixMillis,
) -> Result<VerifiedPath, VerifyError> {
    document_signer(provider, chain, issuer, doc_type, livemode, now)
        .map_err(|error| name_sample(error, chain, issuer, true, livemode))
}

fn document_signer(
    provider: &CryptoProvider,
    chain: &[&[u8]],
    issuer: &TrustEntry,
    doc_type: &str,
    livemode: bool,
    now: UnixMillis,
) -> Result<VerifiedPath, VerifyError> {
    let (leaf, rest) = split(chain)?;
    let signer = Certificate::parse(leaf)?;
    let intermediates = if livemode { Vec::new() } else { parse_all(rest) };
    let names = issuers(&signer, &intermediates);
    let current = issuer.roots_named(&names, livemode);
    let current = current.filter(|root| root.serves(doc_type) && root.is_in_force(now));
    let current: Vec<&TrustAnchor> = current.collect();
    let search = Search::new(provider, &intermediates, &current, now);
    let own = issuer.signers_with(true, leaf, livemode).filter(|own| own.serves(doc_type));
    if let Some(own) = named(own, leaf, now) {
        return pinned(own, &signer, search.path(&signer, 0).ok(), now);
    }
    let roots = || issuer.roots_for(livemode).filter(|root| root.serves(doc_type));
    if !roots().any(|root| root.is_in_force(now)) {
        let mut signers = issuer.pinned_signers_for(livemode).filter(|own| own.serves(doc_type));
        return Err(match roots().next().is_some() || signers.any(PinnedSigner::is_listed) {
            true => no_list_vouches(),
            false => untrusted("the issuer has no root for this mode and document type"),
        });
    }
    let path = search.path(&signer, usize::from(!livemode))?;
    let profile = SignerProfile { ekus: &issuer.ekus, tolerant: !livemode };
    let (key_identifier, root) = (path.issuer_key_identifier(), path.root);
    match root.listing() {
        Some(listing) => {
            let list = &listing.list;
            listed_profile::check_listed_signer(&signer, key_identifier, root, profile, list)
        }
        None => profile::check_document_signer(&signer, key_identifier, root, profile),
    }
    .map_err(profile_error)?;
    verified(&signer, Anchor::Root(&path), now)
}

/// Authenticates the SD-JWT VC issuer at the start of `chain`, the certificates of an `x5c` header.
/// Its path leads to one of the entry's SD-JWT VC roots, over any intermediates, or it is pinned
/// (HAIP 6.1.1), and its certificate is for signing SD-JWT VCs (RFC 5280 4.2.1.12). A root in the
/// chain is not trusted because it is there.
///
/// # Errors
/// Those of [`authenticate_chain`], except for document types and profile. `chain_invalid`: the
/// certificate is for other purposes.
pub(crate) fn authenticate_sd_jwt_chain(
    provider: &CryptoProvider,
    chain: &[&[u8]],
    issuer: &TrustEntry,
    livemode: bool,
    now: UnixMillis,
) -> Result<VerifiedPath, VerifyError> {
    sd_jwt_signer(provider, chain, issuer, livemode, now)
        .map_err(|error| name_sample(error, chain, issuer, false, livemode))
}

fn sd_jwt_signer(
    provider: &CryptoProvider,
    chain: &[&[u8]],
    issuer: &TrustEntry,
    livemode: bool,
    now: UnixMillis,
) -> Result<VerifiedPath, VerifyError> {
    let (leaf, rest) = split(chain)?;
    let own = named(issuer.signers_with(false, leaf, livemode), leaf, now);
    let roots = || issuer.sd_jwt_roots_for(livemode);
    if own.is_none() && !roots().any(|root| root.is_in_force(now)) {
        let mut signers = issuer.sd_jwt_signers_for(livemode);
        if roots().next().is_some() || signers.any(PinnedSigner::is_listed) {
            return Err(no_list_vouches());
        }
    }
    let (signer, intermediates) = (Certificate::parse(leaf)?, parse_all(rest));
    let names = issuers(&signer, &intermediates);
    let current = issuer.sd_jwt_roots_named(&names, livemode);
    let current: Vec<&TrustAnchor> = current.filter(|root| root.is_in_force(now)).collect();
    let search = Search::new(provider, &intermediates, &current, now);
    let check_usage =
        || sd_jwt_profile::check_sd_jwt_usage(&signer, &issuer.sd_jwt_ekus).map_err(profile_error);
    if let Some(own) = own {
        let path = pinned(own, &signer, search.path(&signer, MAX_CERTIFICATES).ok(), now)?;
        check_usage()?;
        return Ok(path);
    }
    let (path, root) = below(provider, &signer, search, MAX_CERTIFICATES, now)?;
    if let Some(listing) = root.listing() {
        let (ekus, sd_jwt_ekus) = (&issuer.ekus, &issuer.sd_jwt_ekus);
        listed_profile::check_listed_mark(&signer, ekus, sd_jwt_ekus, &listing.list)
            .map_err(profile_error)?;
    }
    check_usage()?;
    Ok(path)
}

/// Authenticates a signer whose path leads to one of `roots` through at most `max_intermediates`.
/// The only further rules: it must not be self-signed, and a key usage must include
/// digitalSignature.
///
/// # Errors
/// Those of [`authenticate_chain`].
#[cfg(feature = "internals")]
pub(crate) fn authenticate_below(
    provider: &CryptoProvider,
    chain: &[&[u8]],
    roots: &[&TrustAnchor],
    max_intermediates: usize,
    now: UnixMillis,
) -> Result<VerifiedPath, VerifyError> {
    signer_below(provider, chain, roots, max_intermediates, now).map(|(_, path, _)| path)
}

fn signer_below<'c, 'r>(
    provider: &CryptoProvider,
    chain: &[&'c [u8]],
    roots: &'r [&'r TrustAnchor],
    max_intermediates: usize,
    now: UnixMillis,
) -> Result<(Certificate<'c>, VerifiedPath, &'r TrustAnchor), VerifyError> {
    let (leaf, rest) = split(chain)?;
    let signer = Certificate::parse(leaf)?;
    let intermediates = parse_all(rest);
    let search = Search::new(provider, &intermediates, roots, now);
    let (path, root) = below(provider, &signer, search, max_intermediates, now)?;
    let root = roots.iter().find(|own| core::ptr::eq(**own, root));
    let root = root.copied().ok_or(path_error("leads to no root"))?;
    Ok((signer, path, root))
}

/// In live mode, replaces the error of a chain with a sandbox's certificate by the actual reason.
fn name_sample(
    error: VerifyError,
    chain: &[&[u8]],
    issuer: &TrustEntry,
    of_mdoc: bool,
    livemode: bool,
) -> VerifyError {
    if !livemode || !matches!(error.reason, Reason::UntrustedIssuer | Reason::ChainInvalid) {
        return error;
    }
    let Ok((leaf, rest)) = split(chain) else { return error };
    let Ok(signer) = Certificate::parse(leaf) else { return error };
    let names = issuers(&signer, &parse_all(rest));
    match issuer.leads_to_sample(of_mdoc, &names, leaf) {
        true => untrusted(SAMPLE_REFUSED),
        false => error,
    }
}

/// The path that `search` finds from `signer`, and its root.
fn below<'p>(
    provider: &CryptoProvider,
    signer: &Certificate<'_>,
    search: Search<'p>,
    max_intermediates: usize,
    now: UnixMillis,
) -> Result<(VerifiedPath, &'p TrustAnchor), VerifyError> {
    let path = search.path(signer, max_intermediates)?;
    // Only after a path is found: before that a presenter could choose the cost of a signature
    // check.
    if signer.is_self_signed(provider) {
        return Err(path_error("is self-signed, and is not pinned"));
    }
    profile::check_signer(signer, path.root).map_err(profile_error)?;
    if signer.key_usage().is_some_and(|usage| !usage.digital_signature()) {
        return Err(profile_error("has a key usage without digitalSignature"));
    }
    Ok((verified(signer, Anchor::Root(&path), now)?, path.root))
}

/// The names of the possible issuers of a path from `signer` over `intermediates`.
fn issuers(signer: &Certificate<'_>, intermediates: &[Certificate<'_>]) -> Vec<Vec<u8>> {
    let all = core::iter::once(signer).chain(intermediates);
    all.filter_map(|one| names::canonical(one.issuer().as_raw())).collect()
}

/// Authenticates the signer of a list of roots: `signer` must have the extended key usage, and its
/// path must lead to one of `cas`, through at most two of `others`.
pub(super) fn authenticate_list_signer(
    provider: &CryptoProvider,
    signer: &Certificate<'_>,
    others: &[Certificate<'_>],
    cas: &[TrustAnchor],
    eku: &[u8],
    now: UnixMillis,
) -> Result<(), &'static str> {
    let cas: Vec<&TrustAnchor> = cas.iter().collect();
    let is_ca = cas.iter().any(|ca| ca.der() == signer.der());
    if is_ca {
        // Some states sign their list with the CSCA itself.
        return if signer.is_valid_at(now) { Ok(()) } else { Err("is signed by an expired CA") };
    }
    match Search::new(provider, others, &cas, now).path(signer, 2) {
        Ok(_) => profile::check_list_signer(signer, eku),
        Err(Failure::Expired(_)) => Err("is signed with a certificate outside its validity period"),
        Err(Failure::Exhausted(_)) => Err("needs more signature checks than allowed"),
        Err(Failure::Invalid(_)) => Err("is not signed under the given signer CA"),
    }
}

/// Whether the path is valid by RFC 5280 6.1, without the profile of ISO/IEC 18013-5. Certificate
/// test suites use this.
#[cfg(feature = "internals")]
pub fn is_valid_rfc5280_path(
    provider: &CryptoProvider,
    leaf: &[u8],
    intermediates: &[&[u8]],
    roots: &[TrustAnchor],
    max_intermediates: usize,
    now: UnixMillis,
) -> bool {
    let Ok(signer) = Certificate::parse(leaf) else { return false };
    let (intermediates, roots) = (parse_all(intermediates), roots.iter().collect::<Vec<_>>());
    let path = Search::new(provider, &intermediates, &roots, now).path(&signer, max_intermediates);
    path.is_ok() && profile::check_below_root(&signer).is_ok()
}

fn split<'c, 'a>(chain: &'c [&'a [u8]]) -> Result<(&'a [u8], &'c [&'a [u8]]), VerifyError> {
    if chain.len() > MAX_CERTIFICATES {
        let detail = "the chain has more than 10 certificates";
        return Err(VerifyError::new(Reason::LimitExceeded, Check::Limits, detail));
    }
    let (leaf, rest) = chain.split_first().ok_or(path_error("the chain is empty"))?;
    Ok((leaf, rest))
}

/// The readable ones: the others cannot be part of a path.
fn parse_all<'a>(chain: &[&'a [u8]]) -> Vec<Certificate<'a>> {
    chain.iter().filter_map(|der| Certificate::parse(der).ok()).collect()
}

/// A pinned signer is trusted directly; only its validity period is checked. Its issuer is looked
/// up only for its CRL.
fn pinned(
    own: &PinnedSigner,
    signer: &Certificate<'_>,
    path: Option<Path<'_>>,
    now: UnixMillis,
) -> Result<VerifiedPath, VerifyError> {
    if !signer.is_valid_at(now) {
        return Err(Failure::Expired("the pinned signer is outside its validity period").into());
    }
    verified(signer, Anchor::Pinned { own, issuer: path.map(|path| path.issuer_der()) }, now)
}

/// The signer with that certificate, if the list that names it is still in force.
fn named<'s>(
    mut signers: impl Iterator<Item = &'s PinnedSigner>,
    leaf: &[u8],
    now: UnixMillis,
) -> Option<&'s PinnedSigner> {
    signers.find(|own| own.der() == leaf && own.is_in_force(now))
}

impl From<CertificateError> for VerifyError {
    fn from(error: CertificateError) -> Self {
        match error.is_limit {
            true => Self::new(Reason::LimitExceeded, Check::Limits, error.why),
            false => path_error(error.why),
        }
    }
}

impl From<Failure> for VerifyError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Expired(detail) => {
                Self::new(Reason::CertificateExpired, Check::CertificateValidity, detail)
            }
            Failure::Exhausted(detail) => {
                Self::new(Reason::LimitExceeded, Check::CertificatePath, detail)
            }
            Failure::Invalid(detail) => path_error(detail),
        }
    }
}

fn no_list_vouches() -> VerifyError {
    untrusted("the trusted list is not in force now: its next issue is due")
}

const fn untrusted(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::UntrustedIssuer, Check::CertificatePath, detail)
}

const fn path_error(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::ChainInvalid, Check::CertificatePath, detail)
}

fn profile_error(broken: Broken) -> VerifyError {
    VerifyError::new(Reason::ChainInvalid, Check::CertificateProfile, broken)
}
