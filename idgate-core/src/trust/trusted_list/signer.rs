//! The signer of a trusted list of any form. The signer that a list names must lead to the
//! operator's anchors, and must have made its signature.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::ListRules;
use super::anchors::{self, VouchedBy};
use super::error::{TrustedListError, not_authentic, out_of_date};
use crate::crypto::{CryptoProvider, IssuerKey};
use crate::limits::LIST_CLOCK_SKEW_MS;
use crate::time::UnixMillis;
use crate::trust::certificate::Certificate;
use crate::trust::names;

/// The signer of a trusted list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListSigner {
    /// Its subject (RFC 4514).
    pub subject: String,
    /// SHA-256 of its certificate.
    pub sha256: [u8; 32],
    /// organizationName of its subject.
    pub organization: Option<String>,
    /// The last second of its validity.
    pub not_after: UnixMillis,
    /// The time of signing that it states.
    pub signed_at: Option<UnixMillis>,
    /// Whether it is an anchor of the operator, or below a CA among the anchors. If not, anyone may
    /// have made the list.
    pub is_known: bool,
}

/// A signer with a verified signature. The payload must agree with it.
#[derive(Debug)]
pub(super) struct Authenticated {
    pub(super) signer: ListSigner,
    pub(super) vouched_by: VouchedBy,
    pub(super) countries: Vec<String>,
    pub(super) organizations: Vec<String>,
}

/// The signer that a list names.
pub(super) struct Claimed<'c> {
    /// Certificates in DER, the signer's own first.
    pub(super) chain: &'c [Vec<u8>],
    pub(super) signed_at: Option<UnixMillis>,
}

impl Claimed<'_> {
    /// Returns the signer after `verify`, which receives the SHA-256 of its certificate and its
    /// key, finds the signature valid. The signer of a new list must be valid now: only the signer
    /// says when it signed, and an attacker with an expired key would claim an earlier time.
    pub(super) fn authenticate(
        &self,
        provider: &CryptoProvider,
        rules: &ListRules<'_>,
        (is_new, now): (bool, UnixMillis),
        verify: impl FnOnce(&[u8; 32], &IssuerKey) -> Result<(), TrustedListError>,
    ) -> Result<Authenticated, TrustedListError> {
        if self.signed_at.is_some_and(|at| at > now.plus(LIST_CLOCK_SKEW_MS)) {
            return Err(out_of_date("is dated in the future"));
        }
        let certificates: Vec<Certificate<'_>> =
            self.chain.iter().filter_map(|der| Certificate::parse(der).ok()).collect();
        let (signer, others) = match certificates.split_first() {
            Some(split) if self.chain.first().is_some_and(|der| *der == split.0.der()) => split,
            _ => return Err(not_authentic("has a signer whose certificate cannot be read")),
        };
        let key =
            signer.key().map_err(|why| not_authentic(format!("has a signer whose key {why}")))?;
        let organizations = anchors::organizations(signer);
        let at = self.signed_at.filter(|_| !is_new).unwrap_or(now);
        let vouched_by = match rules.anchors {
            Some(anchors) => {
                let instants = (at, now);
                anchors::authenticate(provider, signer, others, anchors, rules.crls, instants)?
            }
            None => VouchedBy::Nobody,
        };
        if let (VouchedBy::Ca, Some(fixed)) = (vouched_by, rules.organization)
            && !organizations.iter().any(|own| own == fixed)
        {
            let own = organizations.first().map_or("(none)", String::as_str);
            let why = format!("is signed for O={own}, and this source is of O={fixed}");
            return Err(not_authentic(why));
        }
        verify(&provider.sha256(signer.der()), &key)?;
        Ok(Authenticated {
            signer: ListSigner {
                is_known: vouched_by != VouchedBy::Nobody,
                ..described(provider, signer, self.signed_at)
            },
            vouched_by,
            countries: anchors::countries(signer),
            organizations,
        })
    }

    /// The signer of a list that was authenticated when it was stored.
    pub(super) fn recalled(
        &self,
        provider: &CryptoProvider,
    ) -> Result<ListSigner, TrustedListError> {
        let der = self.chain.first().ok_or_else(lacks_signer)?;
        let signer = Certificate::parse(der).map_err(|_| lacks_signer())?;
        Ok(described(provider, &signer, self.signed_at))
    }
}

fn described(
    provider: &CryptoProvider,
    signer: &Certificate<'_>,
    signed_at: Option<UnixMillis>,
) -> ListSigner {
    ListSigner {
        subject: names::rfc4514(signer.subject().as_raw()),
        sha256: provider.sha256(signer.der()),
        organization: anchors::organizations(signer).into_iter().next(),
        not_after: signer.not_after(),
        signed_at,
        is_known: false,
    }
}

pub(super) fn lacks_signer() -> TrustedListError {
    not_authentic("lacks the certificate of its signer")
}
