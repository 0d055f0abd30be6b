//! Rules for certificates: document signers follow the profile of ISO/IEC 18013-5 Annex B; roots
//! and intermediates meet the requirements of RFC 5280 for a CA. Each rule is a function that
//! returns the fault.

#[cfg(all(test, any(feature = "aws-lc-rs", feature = "rustcrypto")))]
#[allow(clippy::unwrap_used)]
mod tests;

use sha1::{Digest as _, Sha1};
use x509_parser::extensions::{CRLDistributionPoint, DistributionPointName, GeneralName, KeyUsage};
use x509_parser::oid_registry::{
    OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER, OID_X509_EXT_BASIC_CONSTRAINTS,
    OID_X509_EXT_CERTIFICATE_POLICIES, OID_X509_EXT_CRL_DISTRIBUTION_POINTS,
    OID_X509_EXT_EXTENDED_KEY_USAGE, OID_X509_EXT_ISSUER_ALT_NAME, OID_X509_EXT_KEY_USAGE,
    OID_X509_EXT_SUBJECT_ALT_NAME, OID_X509_EXT_SUBJECT_KEY_IDENTIFIER, Oid as X509Oid,
};
use x509_parser::prelude::X509Extension;

use super::anchors::TrustAnchor;
use super::certificate::Certificate;
use super::names::{self, COUNTRY_NAME, STATE_OR_PROVINCE_NAME};
use super::oid::Oid;
use crate::limits::MAX_SIGNER_LIFETIME_MS;

/// A broken rule, for operators.
pub(crate) type Broken = &'static str;

/// The parameters of the rules for a document signer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignerProfile<'p> {
    /// The accepted extended key usages.
    pub(crate) ekus: &'p [Oid],
    /// Test-mode sessions tolerate a missing issuerAltName and missing CRL distribution points.
    pub(crate) tolerant: bool,
}

/// The rules for a document signer (Annex B.1.4), with the key identifier of its issuer and the
/// root that its path leads to.
pub(crate) fn check_document_signer(
    signer: &Certificate<'_>,
    issuer_key_identifier: Option<&[u8]>,
    root: &TrustAnchor,
    profile: SignerProfile<'_>,
) -> Result<(), Broken> {
    check_unmarked_signer(signer, issuer_key_identifier, root, profile.tolerant)?;
    check_signer_eku(signer, profile)?;
    // An unreadable one is refused above, or tolerated.
    if !signer.has_unreadable_issuer_alt_name() {
        check_issuer_alt_name(signer, profile.tolerant)?;
    }
    check_lifetime(signer)
}

/// The same rules without extended key usage, issuerAltName and the limit on lifetimes.
pub(super) fn check_unmarked_signer(
    signer: &Certificate<'_>,
    issuer_key_identifier: Option<&[u8]>,
    root: &TrustAnchor,
    tolerant: bool,
) -> Result<(), Broken> {
    check_version(signer)?;
    check_signer(signer, root)?;
    check_signer_key_usage(signer)?;
    check_not_ca(signer)?;
    check_subject_key_identifier(signer)?;
    check_authority_key_identifier(signer, issuer_key_identifier)?;
    check_distribution_points(signer, tolerant)?;
    check_country(signer, root)?;
    check_state(signer, root)
}

/// A root is a CA with keyCertSign, and has no restriction that is not processed here. Every use
/// checks its validity period. An unreadable issuerAltName is ignored, because nothing depends on
/// it.
pub(crate) fn check_root(root: &Certificate<'_>) -> Result<(), Broken> {
    check_extensions_but(root, Unreadable::IssuerAltName)?;
    check_ca(root)
}

/// The extension rules for every signer below `root`. An unreadable issuerAltName counts as absent
/// if the root is for tests, or if a trusted list names its provider.
pub(super) fn check_signer(signer: &Certificate<'_>, root: &TrustAnchor) -> Result<(), Broken> {
    match root.tolerates_unreadable_issuer_alt_name() {
        true => check_extensions_but(signer, Unreadable::IssuerAltName)?,
        false => check_extensions(signer)?,
    }
    check_key_identifiers(signer)
}

/// The same rules for a signer that a trusted list names directly.
pub(super) fn check_listed(signer: &Certificate<'_>) -> Result<(), Broken> {
    check_extensions_but(signer, Unreadable::IssuerAltName)?;
    check_key_identifiers(signer)
}

/// The rules for an intermediate CA; `below` counts the CAs under it that are not self-issued.
pub(crate) fn check_intermediate(ca: &Certificate<'_>, below: usize) -> Result<(), Broken> {
    check_below_root(ca)?;
    check_ca(ca)?;
    match path_len(ca) {
        Some(path_len) if below > path_len => Err("has more CAs below it than pathLen allows"),
        _ => Ok(()),
    }
}

/// How many CAs that are not self-issued may be below this one (RFC 5280 4.2.1.9); `None`: any.
pub(crate) fn path_len(ca: &Certificate<'_>) -> Option<usize> {
    let constraints = ca.basic_constraints()?;
    constraints.path_len_constraint.map(|path_len| usize::try_from(path_len).unwrap_or(usize::MAX))
}

/// The rules for a signer of lists, which must have this extended key usage among its own. Real
/// ones have only digitalSignature or nonRepudiation.
pub(crate) fn check_list_signer(signer: &Certificate<'_>, eku: &[u8]) -> Result<(), Broken> {
    check_below_root(signer)?;
    let is_for_signing = |usage: &KeyUsage| usage.digital_signature() || usage.non_repudiation();
    let signs = signer.key_usage().is_none_or(is_for_signing);
    let has_eku = signer.extended_key_usages().is_some_and(|usages| usages.contains(&eku));
    match (signs, has_eku) {
        (true, true) => Ok(()),
        (false, _) => Err("has a signer whose key is not for signing"),
        (_, false) => Err("has a signer without the extended key usage of a list signer"),
    }
}

/// The rules for a signer of status lists that names its purpose: credentials, by one of `ekus`, or
/// their status. Without an extended key usage it is accepted because of its root alone (ISO/IEC
/// 18013-5 Table B.9).
pub(crate) fn check_status_signer(signer: &Certificate<'_>, ekus: &[Oid]) -> Result<(), Broken> {
    match signer.extension(&OID_X509_EXT_EXTENDED_KEY_USAGE) {
        None => check_not_ca(signer),
        Some(_) => check_marked_status_signer(signer, ekus),
    }
}

/// The same if its root may sign many other certificates: it must name its purpose.
pub(crate) fn check_marked_status_signer(
    signer: &Certificate<'_>,
    ekus: &[Oid],
) -> Result<(), Broken> {
    check_not_ca(signer)?;
    let usages = signer.extended_key_usages().unwrap_or_default();
    let is_for_status =
        |oid: &&[u8]| *oid == STATUS_SIGNING || ekus.iter().any(|eku| eku.as_der() == *oid);
    if usages.iter().any(is_for_status) {
        return Ok(());
    }
    Err("has an extended key usage that is for neither document signers nor status lists")
}

/// Every extension that matters can be read, no critical one is unknown (RFC 5280 4.2), and none
/// restricts paths: such restrictions are not processed here, and Annex B forbids them for mdocs.
pub(crate) fn check_extensions(certificate: &Certificate<'_>) -> Result<(), Broken> {
    check_extensions_but(certificate, Unreadable::Nothing)
}

/// Extensions of a certificate that are allowed to be unreadable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Unreadable {
    Nothing,
    IssuerAltName,
}

fn check_extensions_but(
    certificate: &Certificate<'_>,
    unreadable: Unreadable,
) -> Result<(), Broken> {
    let is_skipped = |extension: &X509Extension<'_>| {
        unreadable == Unreadable::IssuerAltName
            && extension.oid == OID_X509_EXT_ISSUER_ALT_NAME
            && certificate.has_unreadable_issuer_alt_name()
    };
    for extension in certificate.extensions() {
        if RESTRICTING.iter().any(|oid| extension.oid.as_bytes() == *oid) {
            return Err(
                "has an extension that is not supported: name constraints, policy mappings, \
                 policy constraints, inhibitAnyPolicy or freshestCRL",
            );
        }
        let is_known = KNOWN.contains(&extension.oid);
        if extension.critical && !is_known {
            return Err("has a critical extension that is not known");
        }
        if is_known && extension.parsed_extension().error().is_some() && !is_skipped(extension) {
            return Err("has an extension that cannot be read");
        }
    }
    Ok(())
}

/// The same for every certificate except the root. Key identifiers must not be critical (RFC 5280
/// 4.2.1.1, 4.2.1.2).
pub(crate) fn check_below_root(certificate: &Certificate<'_>) -> Result<(), Broken> {
    check_extensions(certificate)?;
    check_key_identifiers(certificate)
}

fn check_key_identifiers(certificate: &Certificate<'_>) -> Result<(), Broken> {
    let identifiers = [OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER, OID_X509_EXT_SUBJECT_KEY_IDENTIFIER];
    let is_critical = |oid| certificate.extension(oid).is_some_and(|extension| extension.critical);
    if identifiers.iter().any(is_critical) {
        return Err("has a key identifier that is critical");
    }
    Ok(())
}

/// policyMappings, nameConstraints, policyConstraints, inhibitAnyPolicy, freshestCRL
const RESTRICTING: [&[u8]; 5] =
    [b"\x55\x1d\x21", b"\x55\x1d\x1e", b"\x55\x1d\x24", b"\x55\x1d\x36", b"\x55\x1d\x2e"];

/// The extensions that are processed, or that restrict nothing that this library relies on.
const KNOWN: [X509Oid<'static>; 9] = [
    OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER,
    OID_X509_EXT_SUBJECT_KEY_IDENTIFIER,
    OID_X509_EXT_KEY_USAGE,
    OID_X509_EXT_CERTIFICATE_POLICIES,
    OID_X509_EXT_SUBJECT_ALT_NAME,
    OID_X509_EXT_ISSUER_ALT_NAME,
    OID_X509_EXT_BASIC_CONSTRAINTS,
    OID_X509_EXT_EXTENDED_KEY_USAGE,
    OID_X509_EXT_CRL_DISTRIBUTION_POINTS,
];

/// 1.3.6.1.5.5.7.3.30, which issuers use for id-kp-oauthStatusSigning until it has a number
/// (draft-ietf-oauth-status-list 10).
const STATUS_SIGNING: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x03\x1e";

/// The bits of keyUsage, with digitalSignature lowest.
const DIGITAL_SIGNATURE: u16 = 1;

fn check_ca(ca: &Certificate<'_>) -> Result<(), Broken> {
    if ca.subject().iter_rdn().next().is_none() {
        return Err("is a CA without a name");
    }
    if !ca.basic_constraints().is_some_and(|constraints| constraints.ca) {
        return Err("is not a CA");
    }
    if !ca.key_usage().is_some_and(|usage| usage.key_cert_sign()) {
        return Err("has a key usage without keyCertSign");
    }
    Ok(())
}

fn check_version(signer: &Certificate<'_>) -> Result<(), Broken> {
    const V3: u32 = 2;
    if signer.version() == V3 { Ok(()) } else { Err("is not of version 3") }
}

fn check_not_ca(signer: &Certificate<'_>) -> Result<(), Broken> {
    match signer.basic_constraints() {
        Some(constraints) if constraints.ca => Err("is a CA, not a document signer"),
        _ => Ok(()),
    }
}

fn check_signer_key_usage(signer: &Certificate<'_>) -> Result<(), Broken> {
    match signer.key_usage() {
        Some(usage) if usage.flags == DIGITAL_SIGNATURE => Ok(()),
        _ => Err("has a key usage other than digitalSignature alone"),
    }
}

fn check_signer_eku(signer: &Certificate<'_>, profile: SignerProfile<'_>) -> Result<(), Broken> {
    let extension = signer.extension(&OID_X509_EXT_EXTENDED_KEY_USAGE);
    let Some(extension) = extension else { return Err("lacks an extended key usage") };
    let usages = signer.extended_key_usages().unwrap_or_default();
    let is_accepted = |oid: &&[u8]| profile.ekus.iter().any(|eku| eku.as_der() == *oid);
    if usages.is_empty() || !usages.iter().all(is_accepted) {
        return Err("has an extended key usage that is not a document signer's");
    }
    if !extension.critical && !profile.tolerant {
        return Err("has an extended key usage that is not critical");
    }
    Ok(())
}

/// RFC 5280 4.2.1.2, method 1.
fn check_subject_key_identifier(signer: &Certificate<'_>) -> Result<(), Broken> {
    match signer.subject_key_identifier() {
        Some(identifier) if *identifier == *Sha1::digest(signer.key_bits()) => Ok(()),
        Some(_) => Err("has a subject key identifier other than SHA-1 of its key"),
        None => Err("lacks a subject key identifier"),
    }
}

fn check_authority_key_identifier(
    signer: &Certificate<'_>,
    issuer: Option<&[u8]>,
) -> Result<(), Broken> {
    match (signer.authority_key_identifier(), issuer) {
        (None, _) => Err("lacks an authority key identifier"),
        (Some(own), Some(issuer)) if own != issuer => {
            Err("has the authority key identifier of another key")
        }
        _ => Ok(()),
    }
}

fn check_issuer_alt_name(signer: &Certificate<'_>, tolerant: bool) -> Result<(), Broken> {
    let is_contact =
        |name: &GeneralName<'_>| matches!(name, GeneralName::RFC822Name(_) | GeneralName::URI(_));
    if signer.extension(&OID_X509_EXT_ISSUER_ALT_NAME).is_none() {
        return if tolerant { Ok(()) } else { Err("lacks an issuer alternative name") };
    }
    if !signer.issuer_alt_names().iter().any(is_contact) {
        return Err("has an issuer alternative name without rfc822Name or URI");
    }
    Ok(())
}

fn check_distribution_points(signer: &Certificate<'_>, tolerant: bool) -> Result<(), Broken> {
    if signer.extension(&OID_X509_EXT_CRL_DISTRIBUTION_POINTS).is_none() {
        return if tolerant { Ok(()) } else { Err("lacks CRL distribution points") };
    }
    let points = signer.crl_distribution_points();
    let is_plain = |point: &CRLDistributionPoint<'_>| {
        let has_uri = match &point.distribution_point {
            Some(DistributionPointName::FullName(names)) => {
                names.iter().any(|name| matches!(name, GeneralName::URI(_)))
            }
            _ => false,
        };
        has_uri && point.reasons.is_none() && point.crl_issuer.is_none()
    };
    if points.is_empty() || !points.iter().all(is_plain) {
        return Err("has a CRL distribution point without URI, or with reasons or cRLIssuer");
    }
    Ok(())
}

fn check_country(signer: &Certificate<'_>, root: &TrustAnchor) -> Result<(), Broken> {
    match names::attribute_texts(signer.subject().as_raw(), COUNTRY_NAME).as_slice() {
        [own] if root.country().is_some_and(|country| country.eq_ignore_ascii_case(own)) => Ok(()),
        [_] => Err("is from a different country than its root"),
        _ => Err("does not name exactly one country"),
    }
}

fn check_state(signer: &Certificate<'_>, root: &TrustAnchor) -> Result<(), Broken> {
    let own = names::attribute_texts(signer.subject().as_raw(), STATE_OR_PROVINCE_NAME);
    let is_same = match (own.as_slice(), root.state_or_province()) {
        ([], None) => true,
        ([own], Some(state)) => names::is_same_text(own, state),
        _ => false,
    };
    if is_same { Ok(()) } else { Err("is from a different state or province than its root") }
}

fn check_lifetime(signer: &Certificate<'_>) -> Result<(), Broken> {
    if signer.not_after().since(signer.not_before()) > MAX_SIGNER_LIFETIME_MS {
        return Err("is valid for more than 457 days");
    }
    Ok(())
}
