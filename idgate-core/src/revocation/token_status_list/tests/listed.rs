//! Signers of status lists where a trusted list names the issuer: only those that it names for that
//! provider, while the list is in force.

use alloc::sync::Arc;

use idgate_testkit::trusted_list::{Kind, TrustedList, list_signer, provider};
use serde_json::Value;

use super::super::super::fixtures::{MDL, for_usages, root_with, signer_under, signer_with};
use super::*;
use crate::crypto::aws_lc_rs::PROVIDER;
use crate::ids::IssuerId;
use crate::trust::TrustEntry;
use crate::trust::certificate::Certificate;
use crate::trust::listing::ListProfile;
use crate::trust::trusted_list::{ListAnchors, ListRules, ListTerms, import_trusted_list};

const DAY_MS: u64 = 86_400_000;

fn ca(name: &str) -> Vec<u8> {
    root_with(name, &signing_key(name), [1, 0x06])
}

/// A signer of status lists below that CA.
fn below(name: &str) -> Vec<u8> {
    let spki = signing_key("signer").public_spki();
    signer_under((name, &signing_key(name)), &spki, ["20260101000000Z", "20261231235959Z"], &[])
}

/// An entry that imported a list of that age, with or without stale lists allowed. Its two
/// providers each have a root, a CA for status lists, and a signer of status lists below an
/// unlisted CA.
fn listed(age_ms: u64, allow_stale: bool) -> TrustEntry {
    let made = NOW.0 - age_ms;
    let own = [
        Kind::Mdl.issuance(&[&root()]),
        Kind::Mdl.revocation(&[&ca("own status"), &below("own, unlisted")]),
    ];
    let other = [
        Kind::Mdl.issuance(&[&ca("other")]),
        Kind::Mdl.revocation(&[&ca("other status"), &below("other, unlisted")]),
    ];
    let list = TrustedList::new(Kind::Mdl, made)
        .with(provider("Own", "NTRUT-1", "UT", &own))
        .with(provider("Other", "NTRUT-2", "UT", &other));
    fed(&list, made, &ListTerms { allow_stale, ..ListTerms::default() })
}

/// The entry after importing the list, made at that time.
fn fed(list: &TrustedList, made: u64, terms: &ListTerms) -> TrustEntry {
    let signer = list_signer(made);
    let anchors = ListAnchors::from_file(&PROVIDER, &signer.der).unwrap();
    let rules = ListRules { allow_stale: true, ..ListRules::new(&anchors) };
    let list = list.sign(&signer);
    let list = import_trusted_list(&PROVIDER, list.as_bytes(), &rules, NOW).unwrap();
    let mut entry = TrustEntry::new(IssuerId::new("issuer"));
    entry.take_list(&list, terms);
    entry
}

/// Verified as the list of a credential of the first provider.
fn by(der: &[u8], entry: &TrustEntry) -> Verdict {
    let vouching = entry.roots.iter().find(|one| one.der() == root()).unwrap();
    let signer = signer(&signing_key("document signer"));
    let listed = vouching.listing().unwrap();
    let listed = listed.attribute(&Certificate::parse(&signer).unwrap(), NOW);
    let voucher = Voucher::of_mdoc(vouching.sha256(), MDL).listed_as(Some(Arc::new(listed)));
    let token = StatusCwt::new(&list(), URI, NOW_SECS, &[der]).sign(&signing_key("signer"));
    verify_for(&voucher, &context(entry), &token)
}

#[test]
fn the_signer_of_a_list_belongs_to_the_credentials_provider() {
    let entry = listed(0, false);
    assert_eq!((entry.status_roots.len(), entry.status_signers.len()), (2, 2));
    for name in ["own status", "own, unlisted"] {
        assert!(by(&below(name), &entry).is_ok(), "{name}");
    }
    for name in ["other status", "other, unlisted", "other"] {
        refused(by(&below(name), &entry), "no path leads");
    }
}

#[test]
fn listed_signers_of_status_count_no_longer_than_the_list() {
    let (over, going_on) = (listed(200 * DAY_MS, false), listed(200 * DAY_MS, true));
    for name in ["own status", "own, unlisted"] {
        refused(by(&below(name), &over), "no root of the trust entry");
        assert!(by(&below(name), &going_on).is_ok(), "{name}");
    }
}

/// Such a CA may have other customers. Signers below an IACA need no mark.
#[test]
fn below_a_listed_ca_signers_of_status_need_a_mark() {
    const PID: &str = "eu.europa.ec.eudi.pid.1";
    const STATUS: &str = "1.3.6.1.5.5.7.3.30";
    let marked = signer_with(&signing_key("signer"), &[for_usages(&[STATUS])]);
    let unmarked = signer(&signing_key("signer"));
    let by = |der: &[u8], kind: Kind, doc_type: &str, profile, services: &[Value]| {
        let services = [&[kind.issuance(&[&root()])], services].concat();
        let list = TrustedList::new(kind, NOW.0).with(provider("P", "NTRUT-1", "UT", &services));
        let entry = fed(&list, NOW.0, &ListTerms { profile, ..ListTerms::default() });
        let vouching = entry.roots.first().unwrap();
        let listed = vouching.listing().unwrap();
        let listed = listed.attribute(&Certificate::parse(der).unwrap(), NOW);
        let voucher =
            Voucher::of_mdoc(vouching.sha256(), doc_type).listed_as(Some(Arc::new(listed)));
        let token = StatusCwt::new(&self::list(), URI, NOW_SECS, &[der]);
        verify_for(&voucher, &context(&entry), &token.sign(&signing_key("signer")))
    };
    assert!(by(&marked, Kind::Pid, PID, None, &[]).is_ok());
    refused(by(&unmarked, Kind::Pid, PID, None, &[]), "the qcStatement of an issuer");
    assert!(by(&unmarked, Kind::Pid, PID, Some(ListProfile::Any), &[]).is_ok());
    let named = Kind::Pid.revocation(&[&root()]);
    assert!(by(&unmarked, Kind::Pid, PID, None, &[named]).is_ok(), "it is listed for status, too");
    assert!(by(&unmarked, Kind::Mdl, MDL, None, &[]).is_ok());
}
