//! The checks of `trust check`. Problems make the check fail; the operator judges the warnings.

use std::collections::BTreeSet;

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::limits::MAX_AKI_VALUES;
use idgate_core::shell::{RootOrigin, TrustAnchor};
use idgate_core::trust::RevocationPolicy;

use super::show::{fingerprint, is_expired, sha256};
use super::{list_check, on_unknown};
use crate::digest::hex;
use idgate_store::{TrustCertificate, TrustKey, TrustList, TrustRecord};

const DAY_MS: u64 = 86_400_000;
/// A certificate that ends within this time gets a warning.
const SOON_MS: u64 = 30 * DAY_MS;
/// ICAO publishes several Master Lists a year.
const OLD_LIST_MS: u64 = 180 * DAY_MS;

/// Returns the reasons why an entry refuses credentials that it should accept.
pub(super) fn problems(record: &TrustRecord, now: UnixMillis) -> Vec<String> {
    let issuer_id = &record.issuer_id;
    let mut found = Vec::new();
    let unusable = |key: &&TrustKey| PROVIDER.check_key(&key.key).is_err();
    found.extend(record.keys.iter().filter(unusable).map(|key| {
        format!("{issuer_id}: key {} is not a point on its curve; remove it", fingerprint(key))
    }));
    found.extend(named_certificates(record).filter(|(_, _, end)| is_expired(*end, now)).map(
        |(what, subject, end)| {
            format!("{issuer_id}: {what} {subject} expired on {end}; replace it")
        },
    ));
    found.extend(refused_sd_jwt_signers(record));
    found.extend(live_samples(record));
    for crl in &record.crls {
        match &crl.verified {
            Err(why) => found.push(format!("{issuer_id}: {why}")),
            Ok(crl) if is_expired(crl.next_update(), now) => found.push(format!(
                "{issuer_id}: a CRL was due to be replaced on {}; add a newer one",
                crl.next_update()
            )),
            Ok(_) => {}
        }
    }
    found.extend(list_check::problems(record, now));
    if !record.has_material() {
        found.push(format!("{issuer_id}: has no key and no certificate and refuses everything"));
    } else if record.keys.is_empty()
        && record.trusted_list.is_none()
        && record.pinned_signers.is_empty()
        && record.sd_jwt_signers.is_empty()
        && record
            .roots
            .iter()
            .chain(&record.sd_jwt_roots)
            .all(|root| is_expired(root.certificate.not_after(), now))
    {
        found.push(format!("{issuer_id}: every root is expired, so everything is refused"));
    }
    found
}

/// Returns a problem for each certificate of an SD-JWT VC issuer, pinned or from a trusted list,
/// that is refused because of its extended key usages.
pub(super) fn refused_sd_jwt_signers(record: &TrustRecord) -> Vec<String> {
    let entry = record.entry();
    let told = entry.refused_sd_jwt_signers().map(|(signer, broken)| {
        let (issuer_id, subject) = (&record.issuer_id, signer.subject());
        format!(
            "{issuer_id}: SD-JWT signer {subject} {broken}, so its credentials are refused; ask the \
             issuer for another certificate, or name one of its extended key usages with --sd-jwt-eku"
        )
    });
    told.collect()
}

/// Returns a problem for each certificate of a sandbox's samples that is not only for test
/// sessions. Live sessions refuse credentials below it.
fn live_samples(record: &TrustRecord) -> Vec<String> {
    let entry = record.entry();
    let roots = entry.roots.iter().chain(&entry.sd_jwt_roots).chain(&entry.status_roots);
    let roots = roots.filter(|root| root.is_sample() && !root.test_only);
    let signers = entry.pinned_signers.iter().chain(&entry.sd_jwt_signers);
    let signers = signers.filter(|signer| signer.is_sample() && !signer.test_only);
    let subjects = roots.map(TrustAnchor::subject).chain(signers.map(|signer| signer.subject()));
    let told = subjects.map(|subject| {
        format!(
            "{}: {subject} is from a sandbox's samples, so live sessions refuse it; remove it",
            record.issuer_id
        )
    });
    told.collect()
}

/// Returns notes for the operator about an entry without problems.
pub(super) fn notes(record: &TrustRecord) -> Vec<String> {
    let told = which_list_decides(record).into_iter().chain(on_unknown::note(record));
    told.chain(unreadable_names(record)).collect()
}

/// Returns a note for each certificate whose issuerAltName is skipped (decisions 41).
fn unreadable_names(record: &TrustRecord) -> Vec<String> {
    let entry = record.entry();
    let roots = entry.roots.iter().chain(&entry.sd_jwt_roots).chain(&entry.status_roots);
    let roots = roots.filter(|root| root.has_unreadable_issuer_alt_name());
    let signers = entry.pinned_signers.iter().chain(&entry.sd_jwt_signers);
    let signers = signers.filter(|signer| signer.has_unreadable_issuer_alt_name());
    let subjects: BTreeSet<&str> =
        roots.map(TrustAnchor::subject).chain(signers.map(|signer| signer.subject())).collect();
    let told = subjects.into_iter().map(|subject| {
        format!(
            "{}: {subject} has an issuerAltName (2.5.29.18) that cannot be read; no check uses it, so it is skipped",
            record.issuer_id
        )
    });
    told.collect()
}

fn which_list_decides(record: &TrustRecord) -> Option<String> {
    let serves_mdocs = record.serves_mdocs() || !record.entry().roots.is_empty();
    (serves_mdocs && record.revocation != RevocationPolicy::Off).then(|| {
        format!(
            "{}: if an mdoc names a status list and an identifier list, only the status list is used; if it \
             cannot be fetched, the answer is revocation_unknown",
            record.issuer_id
        )
    })
}

/// Returns warnings about settings that may be mistakes, and material that soon ends.
pub(super) fn warnings(record: &TrustRecord, now: UnixMillis) -> Vec<String> {
    let issuer_id = &record.issuer_id;
    let mut found: Vec<String> = without_vct(record).into_iter().collect();
    found.extend(what_it_allows(record));
    found.extend(unnumbered_crls(record));
    found.extend(list_check::warnings(record, now));
    let soon = |end: UnixMillis| !is_expired(end, now) && end.since(now) < SOON_MS;
    found.extend(
        named_certificates(record)
            .filter(|(_, _, end)| soon(*end))
            .map(|(what, subject, end)| format!("{issuer_id}: {what} {subject} ends on {end}")),
    );
    for list in &record.lists {
        found
            .extend(list_age(list, now).map(|why| format!("{issuer_id}: the {} {why}", list.kind)));
        let of_list = record.roots.iter().map(|root| &root.certificate);
        let of_list = of_list.filter(|root| root.origin.name() == list.kind);
        let ends: Vec<UnixMillis> = of_list.map(|root| root.not_after()).collect();
        let expired = ends.iter().filter(|end| is_expired(**end, now)).count();
        let ending = ends.iter().filter(|end| soon(**end)).count();
        if expired > 0 || ending > 0 {
            found.push(format!(
                "{issuer_id}: of the {}'s roots, {expired} are expired and not trusted, and {ending} \
                 end within 30 days",
                list.kind
            ));
        }
    }
    found
}

/// Warns about an entry for SD-JWT VCs that names no credential type.
pub(super) fn without_vct(record: &TrustRecord) -> Option<String> {
    (record.vct.is_empty() && record.serves_sd_jwts()).then(|| {
        let what = match record.trusted_list.is_some() {
            true => "no SD-JWT VC is accepted: an entry that follows a trusted list names its types",
            false => {
                "credentials of any type are accepted, and sessions of 1.0 and haip cannot ask for them"
            }
        };
        format!("{}: no --vct, so {what}", record.issuer_id)
    })
}

/// Warns about other attributes with which an entry may accept more than the operator intended.
fn what_it_allows(record: &TrustRecord) -> Vec<String> {
    let issuer_id = &record.issuer_id;
    let any_type = |root: &TrustCertificate<TrustAnchor>| root.certificate.doc_types.is_empty();
    let serves_mdocs = record.roots.iter().any(any_type) || !record.pinned_signers.is_empty();
    let allowed = [
        // A listed provider may use any `iss`.
        (record.serves_sd_jwts() && record.entry().iss.is_none() && record.trusted_list.is_none())
            .then_some(
            "iss: not compared, because the name is neither a URL nor a DID; give --iss, or any \
             issuer name that its keys or certificates sign is accepted",
        ),
        (serves_mdocs && record.doc_types.is_empty() && record.trusted_list.is_none())
            .then_some("no --doc-type, so mdocs of any type that is asked for are accepted"),
        (record.revocation == RevocationPolicy::Off)
            .then_some("--revocation off, so revoked credentials are accepted"),
        record.issuing_country_unbound.then_some(
            "--issuing-country-unbound, so test-mode sessions accept an mDL of another country than \
             its signer's",
        ),
    ];
    let allowed = allowed.into_iter().chain(what_aki_leaves_out(record));
    allowed.flatten().map(|what| format!("{issuer_id}: {what}")).collect()
}

/// Warns about `--aki` if its values do not cover all issuers. A wallet that uses `aki` does not
/// offer credentials of the others.
fn what_aki_leaves_out(record: &TrustRecord) -> [Option<&'static str>; 2] {
    if !record.aki {
        return [None, None];
    }
    let roots = || record.roots.iter().chain(&record.sd_jwt_roots).map(|root| &root.certificate);
    let signers = record.pinned_signers.len().saturating_add(record.sd_jwt_signers.len());
    let unnamed = signers > 0
        || !record.keys.is_empty()
        || roots().any(|root| root.key_identifier().is_none());
    let many = |roots: &[TrustCertificate<TrustAnchor>]| roots.len() > MAX_AKI_VALUES;
    [
        unnamed.then_some(
            "--aki, with keys, pinned signers or roots without a key identifier: wallets may not find \
             their credentials",
        ),
        (many(&record.roots) || many(&record.sd_jwt_roots))
            .then_some("--aki, with more than 10 roots: queries name none of them"),
    ]
}

/// Warns about CRLs without CRLNumber. RFC 5280 5.2.3 requires it, but many small CAs leave it out.
pub(super) fn unnumbered_crls(record: &TrustRecord) -> Vec<String> {
    let unnumbered = record
        .crls
        .iter()
        .filter(|crl| crl.verified.as_ref().is_ok_and(|verified| !verified.is_numbered()));
    let told = unnumbered.map(|crl| {
        let (issuer_id, sha256) = (&record.issuer_id, hex(&crl.sha256));
        format!("{issuer_id}: the CRL {sha256} has no CRLNumber; its issuer should add one")
    });
    told.collect()
}

/// Warns about material that several entries share.
pub(super) fn duplicates(records: &[TrustRecord]) -> Vec<String> {
    let material: Vec<_> = records.iter().map(|record| (record, fingerprints(record))).collect();
    let mut found = Vec::new();
    for (n, (record, own)) in material.iter().enumerate() {
        for (other, theirs) in material.iter().skip(n.saturating_add(1)) {
            let pair = format!("{} and {} share", record.issuer_id, other.issuer_id);
            let shared: Vec<_> = own.intersection(theirs).collect();
            match shared.as_slice() {
                [] => {}
                [(what, sha256)] => found.push(format!("{pair} the {what} {sha256}")),
                many => found.push(format!("{pair} {} keys or certificates", many.len())),
            }
        }
    }
    found
}

fn fingerprints(record: &TrustRecord) -> BTreeSet<(&'static str, String)> {
    let keys = record.keys.iter().map(|key| ("key", fingerprint(key)));
    let roots = record.roots.iter().map(|root| ("root", sha256(root.certificate.der())));
    let roots = roots.chain(
        record.sd_jwt_roots.iter().map(|root| ("SD-JWT root", sha256(root.certificate.der()))),
    );
    let signers = record.pinned_signers.iter().chain(&record.sd_jwt_signers);
    let signers = signers.map(|signer| ("signer", sha256(signer.certificate.der())));
    keys.chain(roots).chain(signers).collect()
}

/// Returns the certificates that the operator named one by one: kind, subject, end of validity.
fn named_certificates(
    record: &TrustRecord,
) -> impl Iterator<Item = (&'static str, &str, UnixMillis)> {
    let roots = record.roots.iter().map(|root| &root.certificate);
    let roots = roots.filter(|root| root.origin == RootOrigin::RootFile);
    let signers = record.pinned_signers.iter().map(|signer| &signer.certificate);
    let sd_jwt_roots = record.sd_jwt_roots.iter().map(|root| &root.certificate);
    let sd_jwt_signers = record.sd_jwt_signers.iter().map(|signer| &signer.certificate);
    let status_roots = record.status_roots.iter().map(|root| &root.certificate);
    roots
        .map(|root| ("root", root.subject(), root.not_after()))
        .chain(status_roots.map(|root| ("status root", root.subject(), root.not_after())))
        .chain(sd_jwt_roots.map(|root| ("SD-JWT root", root.subject(), root.not_after())))
        .chain(signers.map(|signer| ("pinned signer", signer.subject(), signer.not_after())))
        .chain(sd_jwt_signers.map(|one| ("SD-JWT signer", one.subject(), one.not_after())))
}

fn list_age(list: &TrustList, now: UnixMillis) -> Option<String> {
    match (list.next_update, list.issued_at) {
        (Some(next), _) if is_expired(next, now) => {
            Some(format!("was due to be replaced on {next}; import a newer one"))
        }
        (None, Some(issued)) if now.since(issued) > OLD_LIST_MS => {
            Some(format!("was issued on {issued}; look for a newer one"))
        }
        _ => None,
    }
}
