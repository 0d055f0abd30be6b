//! The search for a path: depth first, from the signer upwards.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::crypto::CryptoProvider;
use crate::time::UnixMillis;
use crate::trust::certificate::Certificate;
use crate::trust::{TrustAnchor, names, profile};

/// Signature checks for one path. An honest chain needs one or two, a root under key rollover a
/// few more; 16 of the slowest (RSA of 8192 bits) still cost a hostile answer little.
const MAX_SIGNATURE_CHECKS: u32 = 16;

/// Why there is no path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Failure {
    /// There would be one, were it not for dates.
    Expired(&'static str),
    Invalid(&'static str),
}

/// A path that leads to a root.
#[derive(Clone, Debug)]
pub(crate) struct Path<'p> {
    pub(crate) root: &'p TrustAnchor,
    /// From the signer's issuer upwards.
    intermediates: Vec<&'p Certificate<'p>>,
}

impl Path<'_> {
    /// Whether the root itself issued the signer.
    pub(crate) fn is_direct(&self) -> bool {
        self.intermediates.is_empty()
    }

    /// The key identifier of whoever issued the signer.
    pub(crate) fn issuer_key_identifier(&self) -> Option<&[u8]> {
        match self.intermediates.first() {
            Some(issuer) => issuer.subject_key_identifier(),
            None => self.root.key_identifier(),
        }
    }

    /// The certificate of whoever issued the signer.
    pub(crate) fn issuer_der(&self) -> Arc<[u8]> {
        match self.intermediates.first() {
            Some(issuer) => issuer.der().into(),
            None => self.root.shared_der(),
        }
    }
}

/// One search over what the presenter sent and what the operator trusts.
pub(crate) struct Search<'p> {
    provider: &'p CryptoProvider,
    intermediates: &'p [Certificate<'p>],
    roots: &'p [&'p TrustAnchor],
    now: UnixMillis,
    checks_left: u32,
    /// Whether a path was found that fails only by dates.
    expired: bool,
}

impl<'p> Search<'p> {
    pub(crate) fn new(
        provider: &'p CryptoProvider,
        intermediates: &'p [Certificate<'p>],
        roots: &'p [&'p TrustAnchor],
        now: UnixMillis,
    ) -> Self {
        let checks_left = MAX_SIGNATURE_CHECKS;
        Self { provider, intermediates, roots, now, checks_left, expired: false }
    }

    /// A path from `signer` to a root over at most `max_intermediates` that are not self-issued.
    pub(crate) fn path(
        &mut self,
        signer: &Certificate<'_>,
        max_intermediates: usize,
    ) -> Result<Path<'p>, Failure> {
        self.checks_left = MAX_SIGNATURE_CHECKS;
        self.expired = false;
        let mut above = Vec::new();
        let is_in_time = signer.is_valid_at(self.now);
        let found = self.extend(signer, &mut above, max_intermediates, is_in_time);
        match found {
            Some(root) => Ok(Path { root, intermediates: above }),
            None if self.expired => {
                Err(Failure::Expired("a certificate of the path is outside its dates"))
            }
            None if self.checks_left == 0 => {
                Err(Failure::Invalid("the path needs more signature checks than allowed"))
            }
            None => Err(Failure::Invalid("no path leads to a trusted root")),
        }
    }

    /// Looks for an issuer of `subject` among the roots, then among the intermediates that are not
    /// in `above`, which then holds the path. `in_time` says that all below are within dates.
    fn extend(
        &mut self,
        subject: &Certificate<'_>,
        above: &mut Vec<&'p Certificate<'p>>,
        max_intermediates: usize,
        in_time: bool,
    ) -> Option<&'p TrustAnchor> {
        let issuer = names::canonical(subject.issuer().as_raw())?;
        let root = self.find_root(subject, &issuer, in_time);
        if root.is_some() {
            return root;
        }
        for candidate in self.intermediates {
            let is_used = above.iter().any(|used| used.der() == candidate.der());
            if is_used || !self.may_issue(candidate, subject, &issuer, above, max_intermediates) {
                continue;
            }
            let in_time = in_time && candidate.is_valid_at(self.now);
            above.push(candidate);
            let found = self.extend(candidate, above, max_intermediates, in_time);
            if found.is_some() {
                return found;
            }
            above.pop();
        }
        None
    }

    fn find_root(
        &mut self,
        subject: &Certificate<'_>,
        issuer: &[u8],
        in_time: bool,
    ) -> Option<&'p TrustAnchor> {
        for root in self.roots {
            let is_candidate = root.name() == issuer
                && may_match(subject.authority_key_identifier(), root.key_identifier());
            if !is_candidate || !self.has_signed(subject, |s, p| s.verify(p, root.key()).is_ok()) {
                continue;
            }
            if in_time && root.is_valid_at(self.now) {
                return Some(root);
            }
            self.expired = true;
        }
        None
    }

    /// Name, key identifier and rules first, the signature last.
    fn may_issue(
        &mut self,
        candidate: &Certificate<'_>,
        subject: &Certificate<'_>,
        issuer: &[u8],
        above: &[&Certificate<'_>],
        max_intermediates: usize,
    ) -> bool {
        let below = above.iter().filter(|ca| !is_self_issued(ca)).count();
        let with_candidate = below + usize::from(!is_self_issued(candidate));
        with_candidate <= max_intermediates
            && names::canonical(candidate.subject().as_raw()).as_deref() == Some(issuer)
            && may_match(subject.authority_key_identifier(), candidate.subject_key_identifier())
            && profile::check_intermediate(candidate, below).is_ok()
            && self.has_signed(subject, |subject, provider| {
                candidate.key().is_ok_and(|key| subject.verify(provider, &key).is_ok())
            })
    }

    fn has_signed(
        &mut self,
        subject: &Certificate<'_>,
        verify: impl Fn(&Certificate<'_>, &CryptoProvider) -> bool,
    ) -> bool {
        match self.checks_left.checked_sub(1) {
            Some(left) => {
                self.checks_left = left;
                verify(subject, self.provider)
            }
            None => false,
        }
    }
}

/// Key identifiers rule a candidate out only where both are there.
fn may_match(authority: Option<&[u8]>, subject: Option<&[u8]>) -> bool {
    match (authority, subject) {
        (Some(authority), Some(subject)) => authority == subject,
        _ => true,
    }
}

/// RFC 5280 4.2.1.9: self-issued certificates do not count for pathLen.
fn is_self_issued(ca: &Certificate<'_>) -> bool {
    ca.subject().as_raw() == ca.issuer().as_raw()
}
