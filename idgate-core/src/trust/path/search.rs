//! The search for a path: depth first, from the signer upwards. Signatures are checked from the
//! root downwards.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::crypto::CryptoProvider;
use crate::limits::{MAX_PATH_ISSUERS, MAX_PATH_SIGNATURE_CHECKS};
use crate::time::UnixMillis;
use crate::trust::anchors::TrustAnchor;
use crate::trust::certificate::Certificate;
use crate::trust::{names, profile};

/// The reason why there is no path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Failure {
    /// A path exists, but a certificate is outside its validity period.
    Expired(&'static str),
    /// The search found nothing within its budget, and there is more to search.
    Exhausted(&'static str),
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
    /// Whether the root issued the signer directly.
    pub(crate) fn is_direct(&self) -> bool {
        self.intermediates.is_empty()
    }

    /// The key identifier of the signer's issuer.
    pub(crate) fn issuer_key_identifier(&self) -> Option<&[u8]> {
        match self.intermediates.first() {
            Some(issuer) => issuer.subject_key_identifier(),
            None => self.root.key_identifier(),
        }
    }

    /// The certificate of the signer's issuer.
    pub(crate) fn issuer_der(&self) -> Arc<[u8]> {
        self.der_above(0)
    }

    /// Each intermediate, with its issuer's certificate.
    pub(crate) fn intermediates(&self) -> impl Iterator<Item = (&Certificate<'_>, Arc<[u8]>)> {
        let above = (1..).map(|at| self.der_above(at));
        self.intermediates.iter().copied().zip(above)
    }

    fn der_above(&self, at: usize) -> Arc<[u8]> {
        match self.intermediates.get(at) {
            Some(issuer) => issuer.der().into(),
            None => self.root.shared_der(),
        }
    }
}

/// A search over the presenter's certificates and the operator's roots.
pub(crate) struct Search<'p> {
    provider: &'p CryptoProvider,
    intermediates: &'p [Certificate<'p>],
    /// Their subjects in canonical form, computed when first needed.
    subjects: Vec<Option<Vec<u8>>>,
    roots: &'p [&'p TrustAnchor],
    now: UnixMillis,
    checks_left: u32,
    tries_left: u32,
    exhausted: bool,
}

/// The path from a certificate to a root, with verified signatures.
struct Lead<'p> {
    root: &'p TrustAnchor,
    /// From the root downwards, without the certificate itself.
    above: Vec<&'p Certificate<'p>>,
    /// Whether every certificate of it, including both ends, is within its validity period.
    in_time: bool,
}

impl<'p> Search<'p> {
    pub(crate) fn new(
        provider: &'p CryptoProvider,
        intermediates: &'p [Certificate<'p>],
        roots: &'p [&'p TrustAnchor],
        now: UnixMillis,
    ) -> Self {
        let (checks_left, tries_left) = (MAX_PATH_SIGNATURE_CHECKS, MAX_PATH_ISSUERS);
        let (subjects, exhausted) = (Vec::new(), false);
        Self { provider, intermediates, subjects, roots, now, checks_left, tries_left, exhausted }
    }

    /// Finds a path from `signer` to a root over at most `max_intermediates` that are not
    /// self-issued.
    pub(crate) fn path(
        mut self,
        signer: &Certificate<'_>,
        max_intermediates: usize,
    ) -> Result<Path<'p>, Failure> {
        match self.lead(signer, &mut Vec::new(), max_intermediates) {
            Some(Lead { root, above, in_time: true }) => {
                Ok(Path { root, intermediates: above.into_iter().rev().collect() })
            }
            Some(_) => {
                Err(Failure::Expired("a certificate of the path is outside its validity period"))
            }
            None if self.exhausted => {
                Err(Failure::Exhausted("the path needs more signature checks than allowed"))
            }
            None => Err(Failure::Invalid("no path leads to a trusted root")),
        }
    }

    /// Finds the path from `subject` to a root; `below` are the CAs under it, including itself if
    /// it is one. A presented key is used only after a path to it is found, so that a presenter
    /// cannot choose the cost of a signature check. A path that fails because of dates is used only
    /// if there is no other.
    fn lead(
        &mut self,
        subject: &Certificate<'_>,
        below: &mut Vec<&'p Certificate<'p>>,
        max_intermediates: usize,
    ) -> Option<Lead<'p>> {
        let issuer = names::canonical(subject.issuer().as_raw())?;
        let subject_in_time = subject.is_valid_at(self.now);
        let mut late = None;
        for root in self.roots {
            if self.is_issued_by_root(subject, root, &issuer, count(below)) {
                let in_time = subject_in_time && root.is_valid_at(self.now);
                let lead = Lead { root, above: Vec::new(), in_time };
                if in_time {
                    return Some(lead);
                }
                late.get_or_insert(lead);
            }
        }
        for candidate in self.candidates(subject, &issuer, below, max_intermediates) {
            let Some(left) = self.tries_left.checked_sub(1) else {
                self.exhausted = true;
                break;
            };
            self.tries_left = left;
            below.push(candidate);
            let lead = self.lead(candidate, below, max_intermediates);
            below.pop();
            let Some(mut lead) = lead else { continue };
            let has_signed = self.has_signed(|provider| {
                candidate.key().is_ok_and(|key| subject.verify(provider, &key).is_ok())
            });
            if has_signed {
                lead.above.push(candidate);
                lead.in_time &= subject_in_time;
                if lead.in_time {
                    return Some(lead);
                }
                late.get_or_insert(lead);
            }
        }
        late
    }

    /// Checks name, key identifier and path length (RFC 5280 6.1.4 (l)) first, and the signature
    /// last.
    fn is_issued_by_root(
        &mut self,
        subject: &Certificate<'_>,
        root: &TrustAnchor,
        issuer: &[u8],
        below: usize,
    ) -> bool {
        root.name() == issuer
            && may_match(subject.authority_key_identifier(), root.key_identifier())
            && root.allows_below(below)
            && self.has_signed(|provider| subject.verify(provider, root.key()).is_ok())
    }

    /// The presented CAs that may have issued `subject`, by all checks that cost no signature
    /// check.
    fn candidates(
        &mut self,
        subject: &Certificate<'_>,
        issuer: &[u8],
        below: &[&Certificate<'_>],
        max_intermediates: usize,
    ) -> Vec<&'p Certificate<'p>> {
        if self.subjects.is_empty() {
            let canonical = |ca: &Certificate<'_>| names::canonical(ca.subject().as_raw());
            self.subjects = self.intermediates.iter().map(canonical).collect();
        }
        let cas_below = count(below);
        let may_issue = |(ca, name): &(&'p Certificate<'p>, &Option<Vec<u8>>)| {
            name.as_deref() == Some(issuer)
                && below.iter().all(|used| used.der() != ca.der())
                && cas_below + usize::from(!is_self_issued(ca)) <= max_intermediates
                && may_match(subject.authority_key_identifier(), ca.subject_key_identifier())
                && profile::check_intermediate(ca, cas_below).is_ok()
        };
        let named = self.intermediates.iter().zip(&self.subjects);
        named.filter(may_issue).map(|(ca, _)| ca).collect()
    }

    fn has_signed(&mut self, verify: impl Fn(&CryptoProvider) -> bool) -> bool {
        let Some(left) = self.checks_left.checked_sub(1) else {
            self.exhausted = true;
            return false;
        };
        self.checks_left = left;
        verify(self.provider)
    }
}

/// Key identifiers exclude a candidate only if both are present.
fn may_match(authority: Option<&[u8]>, subject: Option<&[u8]>) -> bool {
    match (authority, subject) {
        (Some(authority), Some(subject)) => authority == subject,
        _ => true,
    }
}

/// The CAs that count for pathLen (RFC 5280 4.2.1.9).
fn count(cas: &[&Certificate<'_>]) -> usize {
    cas.iter().filter(|ca| !is_self_issued(ca)).count()
}

fn is_self_issued(ca: &Certificate<'_>) -> bool {
    ca.subject().as_raw() == ca.issuer().as_raw()
}
