//! Files of roots: the certificates that can be roots, and the reasons why others cannot.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::anchors::{RootOrigin, TrustAnchor, TrustMaterialError};
use super::certificate::Certificate;
use super::names;
use crate::crypto::CryptoProvider;

/// The content of a file of roots.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RootFile {
    /// The certificates that can be roots, in their order.
    pub roots: Vec<TrustAnchor>,
    /// The certificates that cannot be roots, in their order, each with the reason.
    pub unusable: Vec<UnusableRoot>,
}

/// A certificate that cannot be a root; the text names it and the reason.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct UnusableRoot {
    /// Its place in the file, from 1.
    pub place: usize,
    /// The subject as RFC 4514 text; `None`: it is unreadable.
    pub subject: Option<String>,
    /// The reason.
    pub why: Cow<'static, str>,
}

impl fmt::Display for UnusableRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.subject.as_deref().unwrap_or("without a readable subject");
        write!(f, "certificate {} ({subject}) {}", self.place, self.why)
    }
}

/// Reads a file of roots: PEM or DER, one or many.
///
/// # Errors
/// The file has no certificate.
pub fn read_roots(provider: &CryptoProvider, file: &[u8]) -> Result<RootFile, TrustMaterialError> {
    let mut read = RootFile { roots: Vec::new(), unusable: Vec::new() };
    for (at, der) in super::pem::pem_or_der(file, "CERTIFICATE")?.iter().enumerate() {
        match TrustAnchor::from_der(provider, der, RootOrigin::RootFile) {
            Ok(root) => read.roots.push(root),
            Err(TrustMaterialError(why)) => {
                let subject = Certificate::parse(der).ok();
                let subject = subject.map(|parsed| names::rfc4514(parsed.subject().as_raw()));
                read.unusable.push(UnusableRoot { place: at.saturating_add(1), subject, why });
            }
        }
    }
    Ok(read)
}

/// Reads the roots of a file: PEM or DER, one or many.
///
/// # Errors
/// The file has no certificate, or has some that cannot be roots; the text names each, with the
/// reason.
pub fn roots_from_file(
    provider: &CryptoProvider,
    file: &[u8],
) -> Result<Vec<TrustAnchor>, TrustMaterialError> {
    let RootFile { roots, unusable } = read_roots(provider, file)?;
    if unusable.is_empty() {
        return Ok(roots);
    }
    let total = roots.len().saturating_add(unusable.len());
    let each: Vec<String> = unusable.iter().map(ToString::to_string).collect();
    Err(TrustMaterialError(
        format!(
            "has {} certificates of {total} that cannot be roots: {}",
            each.len(),
            each.join("; ")
        )
        .into(),
    ))
}
