//! The signers that may sign the status list of a credential, and how long a list is accepted.

use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};

use super::super::super::fixtures::{
    MDL, anchor, for_a_ca, for_usages, root_with, signer_of, signer_under, signer_with,
};
use super::*;
use crate::crypto::aws_lc_rs::PROVIDER;
use crate::ids::DocType;
use crate::trust::oid::Oid;
use crate::trust::{PinnedSigner, TrustEntry};

/// A list by `signer`'s certificate, verified for an mDL below the fixture's root.
fn by(der: &[u8], entry: &TrustEntry) -> Verdict {
    let token = StatusCwt::new(&list(), URI, NOW_SECS, &[der]).sign(&signing_key("signer"));
    verify_in(&context(entry), &token)
}

fn other_root() -> Vec<u8> {
    root_with("Other", &signing_key("other root"), [1, 0x06])
}

fn signer_under_the_other_root() -> Vec<u8> {
    let (spki, dates) =
        (signing_key("signer").public_spki(), ["20260101000000Z", "20261231235959Z"]);
    signer_under(("Other", &signing_key("other root")), &spki, dates, &[])
}

#[test]
fn the_signer_of_a_list_is_below_the_credentials_root() {
    let mut both = entry();
    both.roots.push(anchor(&other_root()));
    refused(by(&signer_under_the_other_root(), &both), "no path leads");
    assert!(by(&signer(&signing_key("signer")), &both).is_ok());
    let vouched_by_the_other = Voucher::of_mdoc(anchor(&other_root()).sha256(), MDL);
    let here = context(&both);
    let token = cwt().sign(&signing_key("signer"));
    refused(verify_for(&vouched_by_the_other, &here, &token), "no path leads");
    // A list that was accepted for one root cannot be used for credentials below the other.
    let list = verify_in(&here, &token).unwrap();
    assert!(list.serves(ListSigner::Certificate(&voucher()), &here));
    assert!(!list.serves(ListSigner::Certificate(&vouched_by_the_other), &here));
}

#[test]
fn the_signer_of_a_list_may_be_below_a_status_root_of_the_entry() {
    let mut named = entry();
    named.status_roots.push(anchor(&other_root()));
    let list = by(&signer_under_the_other_root(), &named).unwrap();
    let here = context(&named);
    assert!(list.serves(ListSigner::Certificate(&voucher()), &here));
    assert!(!list.serves(ListSigner::Certificate(&voucher()), &context(&entry())));
    // It is for test sessions only, or for other document types.
    let for_tests = named.status_roots[0].clone().for_test_only();
    let other_type = named.status_roots[0].clone().with_doc_types([DocType::new("other")]);
    let same_type = named.status_roots[0].clone().with_doc_types([DocType::new(MDL)]);
    for (root, livemode, taken) in [
        (&for_tests, true, false),
        (&for_tests, false, true),
        (&other_type, true, false),
        (&same_type, true, true),
    ] {
        named.status_roots = vec![root.clone()];
        let context = StatusContext { livemode, ..context(&named) };
        let token =
            StatusCwt::new(&list_of_none(), URI, NOW_SECS, &[&signer_under_the_other_root()]);
        let token = token.sign(&signing_key("signer"));
        assert_eq!(verify_in(&context, &token).is_ok(), taken);
    }
}

fn list_of_none() -> StatusList {
    StatusList::new(1, 8)
}

/// A bare key has no root; the operator may name one for its lists.
#[test]
fn a_status_root_covers_lists_of_bare_keys_too() {
    let mut named = entry();
    let token = certified(jwt());
    let here = |entry: &TrustEntry| verify_by_key(&context(entry), token.as_bytes());
    refused(here(&named), "no trusted key");
    named.status_roots.push(anchor(&root()));
    let list = here(&named).unwrap();
    assert!(list.serves(ListSigner::IssuerKey, &context(&named)));
    assert!(!list.serves(ListSigner::IssuerKey, &context(&entry())));
    named.status_roots = vec![anchor(&other_root())];
    assert!(here(&named).is_err());
}

#[test]
fn a_status_root_with_document_types_does_not_cover_lists_of_sd_jwts() {
    let mut named = entry();
    named.status_roots.push(anchor(&root()).with_doc_types([DocType::new(MDL)]));
    let token = certified(jwt());
    refused(verify_by_key(&context(&named), token.as_bytes()), "no root");
}

#[test]
fn the_signer_of_a_list_is_within_its_roots_document_types() {
    for (types, taken) in [(vec![], true), (vec![MDL], true), (vec!["other"], false)] {
        let mut limited = entry();
        let root = limited.roots.remove(0);
        limited.roots.push(root.with_doc_types(types.iter().copied().map(DocType::new)));
        assert_eq!(by(&signer(&signing_key("signer")), &limited).is_ok(), taken, "{types:?}");
    }
}

#[test]
fn the_signer_of_a_list_is_not_a_ca() {
    refused(by(&signer_with(&signing_key("signer"), &[for_a_ca()]), &entry()), "is a CA");
}

#[test]
fn the_signer_of_a_list_is_for_credentials_or_their_status() {
    const TLS_SERVER: &str = "1.3.6.1.5.5.7.3.1";
    const DOCUMENT_SIGNER: &str = "1.0.18013.5.1.2";
    const STATUS: &str = "1.3.6.1.5.5.7.3.30";
    const OWN: &str = "1.3.130.2.0.0.1.2";
    let with = |usages: &[&str], entry: &TrustEntry| {
        by(&signer_with(&signing_key("signer"), &[for_usages(usages)]), entry)
    };
    for usages in [&[TLS_SERVER][..], &["2.5.29.37.0"], &[OWN], &[]] {
        refused(with(usages, &entry()), "extended key usage");
    }
    for usages in [&[DOCUMENT_SIGNER][..], &[STATUS], &[TLS_SERVER, STATUS]] {
        assert!(with(usages, &entry()).is_ok(), "{usages:?}");
    }
    assert!(by(&signer(&signing_key("signer")), &entry()).is_ok(), "none at all");
    let mut other = entry();
    other.ekus = Oid::parse(OWN).into_iter().collect();
    assert!(with(&[OWN], &other).is_ok());
    refused(with(&[DOCUMENT_SIGNER], &other), "extended key usage");
}

#[test]
fn iat_lies_within_the_dates_of_the_certificate() {
    let key = signing_key("signer");
    let spki = key.public_spki();
    // NOW is noon on 21 November.
    let token = |not_before: &str, iat: u64| {
        let der = signer_of(&spki, [not_before, "20261231235959Z"]);
        StatusCwt::new(&list(), URI, iat, &[&der]).sign(&key)
    };
    assert!(of_mdoc(&token("20261121000000Z", NOW_SECS - 43_200)).is_ok());
    refused(of_mdoc(&token("20261121000000Z", NOW_SECS - 43_201)), "outside its certificate");
    let jwt = jwt().with("iat", json!(NOW_SECS - 50_000));
    let der = signer_of(&spki, ["20261121000000Z", "20261231235959Z"]);
    let jwt = jwt.with_header("x5c", x5c(&[&der])).sign(&key);
    refused(of_mdoc(jwt.as_bytes()), "outside its certificate");
}

#[test]
fn a_token_without_exp_is_valid_for_the_entrys_max_age_after_iat() {
    const DAY: u64 = 86_400;
    let old = |days: u64, more: u64| {
        let iat = NOW_SECS - days * DAY - more;
        let jwt = jwt().with("iat", json!(iat)).without("exp");
        let key = signing_key("signer");
        let cwt = StatusCwt::new(&list(), URI, iat, &[&signer(&key)]).without(4).sign(&key);
        (signed(jwt), cwt)
    };
    let verify = |days: u32, (jwt, cwt): &(String, Vec<u8>)| {
        let mut entry = entry();
        entry.status_max_age_days = days;
        let sd_jwt = verify_by_key(&context(&entry), jwt.as_bytes());
        let mdoc = verify_in(&context(&entry), cwt);
        [sd_jwt, mdoc]
    };
    let default = entry().status_max_age_days;
    assert_eq!(default, 7);
    for (days, token, taken) in [
        (default, old(6, 0), true),
        (default, old(7, 59), true),
        (default, old(7, 60), false),
        (default, old(300, 0), false),
        (301, old(300, 0), true),
        (1, old(1, 60), false),
    ] {
        for verdict in verify(days, &token) {
            match taken {
                true => {
                    let list = verdict.unwrap();
                    let end = list.expires_at().unwrap();
                    assert!(list.fresh_until() <= end && end.plus(60_000) > NOW);
                }
                false => refused(verdict, "no exp"),
            }
        }
    }
    // A list with an exp expires then, however old it is.
    let with_exp = jwt().with("iat", json!(NOW_SECS - 300 * DAY));
    assert!(of_sd_jwt(&signed(with_exp.with("exp", json!(NOW_SECS + 1)))).is_ok());
}

#[test]
fn a_pinned_signer_may_sign_the_list_of_its_own_credentials() {
    let key = signing_key("signer");
    let mut pinned = entry();
    pinned.roots.clear();
    pinned.pinned_signers.push(PinnedSigner::from_der(&PROVIDER, &signer(&key)).unwrap());
    let itself = Voucher::of_mdoc(pinned.pinned_signers[0].sha256(), MDL);
    let here = context(&pinned);
    let token = cwt().sign(&key);
    assert!(verify_for(&itself, &here, &token).is_ok());
    refused(verify_for(&voucher(), &here, &token), "no root");
}

/// The fixture's root as the anchor of an SD-JWT VC.
fn sd_jwt_voucher() -> Voucher {
    Voucher::of_sd_jwt(anchor(&root()).sha256())
}

/// An entry whose only roots are the fixture's, for SD-JWT VCs.
fn sd_jwt_entry() -> TrustEntry {
    let mut entry = entry();
    entry.sd_jwt_roots = core::mem::take(&mut entry.roots);
    entry
}

/// A list by `signer`'s certificate, verified for an SD-JWT VC below the root.
fn of_sd_jwt_by(der: &[u8], entry: &TrustEntry) -> Verdict {
    let token = jwt().with_header("x5c", x5c(&[der])).sign(&signing_key("signer"));
    verify_for(&sd_jwt_voucher(), &context(entry), token.as_bytes())
}

/// HAIP 6.1: signed with certificates, like the credential itself.
#[test]
fn the_list_of_a_certified_sd_jwt_is_signed_below_its_root() {
    let plain = signer(&signing_key("signer"));
    assert!(of_sd_jwt_by(&plain, &sd_jwt_entry()).is_ok());
    let of_any_use = signer_with(&signing_key("signer"), &[for_usages(&["1.2.3.4"])]);
    assert!(of_sd_jwt_by(&of_any_use, &sd_jwt_entry()).is_ok(), "as the credential's signer");
    let mut other = sd_jwt_entry();
    other.sd_jwt_roots.push(anchor(&other_root()));
    refused(of_sd_jwt_by(&signer_under_the_other_root(), &other), "no path leads");
    refused(of_sd_jwt_by(&plain, &entry()), "no path leads");
    // A bare key of the entry may not sign it.
    let by_key = signed(jwt());
    let here = sd_jwt_entry();
    refused(verify_for(&sd_jwt_voucher(), &context(&here), by_key.as_bytes()), "not a list");
}

/// RFC 5280 4.2.1.12: a certificate that may not sign credentials may not sign their lists, unless
/// it is for lists.
#[test]
fn certificates_for_other_purposes_may_not_sign_lists_of_sd_jwts() {
    const TLS_SERVER: &str = "1.3.6.1.5.5.7.3.1";
    const STATUS: &str = "1.3.6.1.5.5.7.3.30";
    let with = |usages: &[&str], entry: &TrustEntry| {
        of_sd_jwt_by(&signer_with(&signing_key("signer"), &[for_usages(usages)]), entry)
    };
    refused(with(&[TLS_SERVER], &sd_jwt_entry()), "RFC 5280 4.2.1.12");
    for usages in [&[STATUS][..], &["1.2.3.4"], &[TLS_SERVER, STATUS]] {
        assert!(with(usages, &sd_jwt_entry()).is_ok(), "{usages:?}");
    }
    let mut demanding = sd_jwt_entry();
    demanding.sd_jwt_ekus = Oid::parse("1.2.3.4").into_iter().collect();
    refused(with(&["1.2.3.5"], &demanding), "RFC 5280 4.2.1.12");
    for usages in [&[STATUS][..], &["1.2.3.4"]] {
        assert!(with(usages, &demanding).is_ok(), "{usages:?}");
    }
    assert!(of_sd_jwt_by(&signer(&signing_key("signer")), &demanding).is_ok(), "none at all");
}

#[test]
fn roots_and_non_signature_keys_may_not_sign_lists_of_sd_jwts() {
    let (ca, service) = (signing_key("between"), signing_key("service"));
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let for_both = root.builder.clone().set(x509::KEY_USAGE, true, x509::key_usage(0b1000_0110));
    let root = for_both.self_sign(&root.key);
    let mut entry = sd_jwt_entry();
    entry.sd_jwt_roots = vec![anchor(&root.der)];
    let vouched = Voucher::of_sd_jwt(entry.sd_jwt_roots[0].sha256());
    let by = |chain: &[&[u8]], key: &SigningKey| {
        let token = jwt().with_header("x5c", x5c(chain)).sign(key);
        verify_for(&vouched, &context(&entry), token.as_bytes())
    };
    let direct = root.issuer_of_sd_jwts(&service, NOW.0);
    assert!(by(&[&direct.der], &service).is_ok());
    refused(by(&[&root.der], &root.key), "self-signed");
    let agreeing = direct.builder.set(x509::KEY_USAGE, true, x509::key_usage(0b0000_1000));
    refused(by(&[&agreeing.sign(&root.key)], &service), "digitalSignature");
    let name = Name::new("UT", "Between");
    let between = CertificateBuilder::issuer_root(name, &ca, NOW.0).under(&root).issue(&root, &ca);
    let leaf = between.issuer_of_sd_jwts(&service, NOW.0);
    assert!(by(&[&leaf.der, &between.der], &service).is_ok());
    refused(by(&[&leaf.der], &service), "no path leads");
}

#[test]
fn the_list_of_a_certified_sd_jwt_may_be_signed_below_a_status_root() {
    let mut named = sd_jwt_entry();
    named.status_roots.push(anchor(&other_root()));
    let list = of_sd_jwt_by(&signer_under_the_other_root(), &named).unwrap();
    assert!(list.serves(ListSigner::Certificate(&sd_jwt_voucher()), &context(&named)));
    assert!(!list.serves(ListSigner::Certificate(&sd_jwt_voucher()), &context(&sd_jwt_entry())));
    named.status_roots[0].test_only = true;
    assert!(of_sd_jwt_by(&signer_under_the_other_root(), &named).is_err());
}

/// Unrelated roots do not hide a fault below the credential's root.
#[test]
fn an_expired_signer_is_reported_even_with_status_roots() {
    let key = signing_key("signer");
    let expired = signer_of(&key.public_spki(), ["20260101000000Z", "20261001000000Z"]);
    let mut named = sd_jwt_entry();
    refused(of_sd_jwt_by(&expired, &named), "outside its validity period");
    named.status_roots.push(anchor(&other_root()));
    refused(of_sd_jwt_by(&expired, &named), "outside its validity period");
    // For a signer below a status root, the fault below that root is reported.
    let of_any_use = [for_usages(&["1.2.3.4"])];
    let dates = ["20260101000000Z", "20261231235959Z"];
    let issuer = signing_key("other root");
    let below = signer_under(("Other", &issuer), &key.public_spki(), dates, &of_any_use);
    refused(of_sd_jwt_by(&below, &named), "extended key usage");
}

#[test]
fn the_list_of_a_certified_sd_jwt_is_not_a_cwt() {
    let entry = sd_jwt_entry();
    let token = cwt().sign(&signing_key("signer"));
    refused(verify_for(&sd_jwt_voucher(), &context(&entry), &token), "is not a JWT");
}

#[test]
fn a_pinned_issuer_may_sign_the_list_of_its_own_credentials() {
    let der = signer(&signing_key("signer"));
    let mut pinned = sd_jwt_entry();
    pinned.sd_jwt_roots.clear();
    pinned.sd_jwt_signers.push(PinnedSigner::from_der(&PROVIDER, &der).unwrap());
    let itself = Voucher::of_sd_jwt(pinned.sd_jwt_signers[0].sha256());
    let token = jwt().with_header("x5c", x5c(&[&der])).sign(&signing_key("signer"));
    let here = context(&pinned);
    assert!(verify_for(&itself, &here, token.as_bytes()).is_ok());
    let of_mdoc = Voucher::of_mdoc(pinned.sd_jwt_signers[0].sha256(), MDL);
    assert!(verify_for(&of_mdoc, &here, token.as_bytes()).is_err());
}

/// The root is trusted for both; the requirements on a signer of lists differ.
#[test]
fn a_list_accepted_for_one_format_is_not_reused_for_the_other() {
    let mut both = entry();
    both.sd_jwt_roots = both.roots.clone();
    let (here, mdoc, sd_jwt) = (context(&both), voucher(), sd_jwt_voucher());
    let (mdoc, sd_jwt) = (ListSigner::Certificate(&mdoc), ListSigner::Certificate(&sd_jwt));
    let token = certified(jwt());
    for (own, other) in [(mdoc, sd_jwt), (sd_jwt, mdoc)] {
        let list = VerifiedStatusList::verify(token.as_bytes(), URI, own, &here).unwrap();
        assert!(list.serves(own, &here) && !list.serves(other, &here));
    }
}

/// Below the credential's root, any signer of credentials may sign lists; below a root for status
/// lists, only a signer of status lists may. Earlier results do not matter.
#[test]
fn a_list_accepted_below_the_credentials_root_is_not_reused_below_another() {
    let mut both = sd_jwt_entry();
    both.status_roots.push(both.sd_jwt_roots[0].clone());
    both.sd_jwt_roots.push(anchor(&other_root()));
    let here = context(&both);
    let (own, other) = (sd_jwt_voucher(), Voucher::of_sd_jwt(anchor(&other_root()).sha256()));
    let (own, other) = (ListSigner::Certificate(&own), ListSigner::Certificate(&other));
    let by = |der: &[u8], signer: ListSigner<'_>| {
        let token = jwt().with_header("x5c", x5c(&[der])).sign(&signing_key("signer"));
        VerifiedStatusList::verify(token.as_bytes(), URI, signer, &here)
    };
    let of_any_use = signer_with(&signing_key("signer"), &[for_usages(&["1.2.3.4"])]);
    let list = by(&of_any_use, own).unwrap();
    assert!(list.serves(own, &here));
    for signer in [other, ListSigner::IssuerKey] {
        assert!(by(&of_any_use, signer).is_err() && !list.serves(signer, &here), "{signer:?}");
    }
    // A signer by the rule for status lists is accepted for every credential that this rule covers.
    let for_status = signer(&signing_key("signer"));
    for taken_for in [other, ListSigner::IssuerKey] {
        let list = by(&for_status, taken_for).unwrap();
        for signer in [own, other, ListSigner::IssuerKey] {
            assert!(by(&for_status, signer).is_ok() && list.serves(signer, &here), "{signer:?}");
        }
    }
}
