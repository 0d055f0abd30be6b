//! Trust through a list: marks of signers, dates of lists, providers of status.

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::trusted_list::{
    ORGANIZATION, ORGANIZATION_IDENTIFIER, QC_STATEMENTS, provider, qc_psb, qc_type_pid,
};
use idgate_testkit::x509::{
    BASIC_CONSTRAINTS, CertificateBuilder, EXT_KEY_USAGE, ISSUER_ALT_NAME, KEY_USAGE, Name,
    SUBJECT_KEY_IDENTIFIER, basic_constraints, ext_key_usage, key_usage, subject_key_identifier,
};

use super::*;
use crate::error::{Reason, VerifyError};
use crate::trust::oid::Oid;
use crate::trust::path::{
    StatusRoots, VerifiedPath, authenticate_chain, authenticate_sd_jwt_chain,
};

const PID_DOC: &str = "eu.europa.ec.eudi.pid.1";

fn key(seed: &str) -> SigningKey {
    SigningKey::from_seed(Curve::P256, seed)
}

fn iaca(seed: &str) -> Identity {
    let name = Name::new("LU", seed);
    CertificateBuilder::iaca_root(name, &key(seed), NOW.0).self_sign(&key(seed))
}

/// A signer of ISO/IEC 18013-5 B.1.4.
fn iso(root: &Identity) -> CertificateBuilder {
    CertificateBuilder::document_signer(root, Name::new("LU", "signer"), &key("signer"), NOW.0)
}

/// A signer of ETSI TS 119 412-6: no extended key usage, two years, a qcStatement.
fn etsi(root: &Identity) -> CertificateBuilder {
    iso(root)
        .without(EXT_KEY_USAGE)
        .without(ISSUER_ALT_NAME)
        .set(QC_STATEMENTS, false, qc_type_pid())
        .with(|one| one.not_after_ms += 365 * 86_400_000)
}

/// A certificate that a listed CA issues for other purposes.
fn unmarked(root: &Identity) -> CertificateBuilder {
    etsi(root).without(QC_STATEMENTS)
}

fn listing(kind: Kind, certificates: &[&[u8]], terms: &ListTerms) -> TrustEntry {
    let services = [kind.issuance(certificates)];
    let list = made(kind).with(provider("P", "NTRLU-1", "LU", &services));
    let mut entry = TrustEntry::new(IssuerId::new("eu"));
    if kind == Kind::PubEaa {
        entry.vct.push("urn:diploma:1".into());
        entry.doc_types.push(DocType::new(PID_DOC));
    }
    entry.take_list(&import_made(&list).unwrap(), terms);
    entry
}

fn profile(profile: ListProfile) -> ListTerms {
    ListTerms { profile: Some(profile), ..ListTerms::default() }
}

type Verdict = Result<VerifiedPath, VerifyError>;

fn mdoc_at(entry: &TrustEntry, leaf: &[u8], doc_type: &str, now: UnixMillis) -> Verdict {
    authenticate_chain(&PROVIDER, &[leaf], entry, doc_type, true, now)
}

fn mdoc(entry: &TrustEntry, signer: CertificateBuilder, root: &Identity) -> Verdict {
    mdoc_at(entry, &signer.sign(&root.key), PID_DOC, NOW)
}

fn sd_jwt(entry: &TrustEntry, signer: CertificateBuilder, root: &Identity) -> Verdict {
    authenticate_sd_jwt_chain(&PROVIDER, &[&signer.sign(&root.key)], entry, true, NOW)
}

#[track_caller]
fn refused(verdict: Verdict, reason: Reason) {
    let error = verdict.map(|path| path.signer_subject).unwrap_err();
    assert_eq!(error.reason, reason, "{error}");
}

#[test]
fn either_accepts_only_signers_of_the_two_profiles() {
    let root = iaca("root");
    let entry = listing(Kind::Pid, &[&root.der], &ListTerms::default());
    for signer in [iso(&root), etsi(&root), iso(&root).set(QC_STATEMENTS, false, qc_type_pid())] {
        mdoc(&entry, signer.clone(), &root).unwrap();
        sd_jwt(&entry, signer, &root).unwrap();
    }
    let tls = unmarked(&root).set(EXT_KEY_USAGE, false, ext_key_usage(&["1.3.6.1.5.5.7.3.1"]));
    let psb = unmarked(&root).set(QC_STATEMENTS, false, qc_psb());
    for signer in [unmarked(&root), tls, psb] {
        refused(mdoc(&entry, signer.clone(), &root), Reason::ChainInvalid);
        refused(sd_jwt(&entry, signer, &root), Reason::ChainInvalid);
    }
    let long = iso(&root).with(|one| one.not_after_ms += 365 * 86_400_000);
    refused(mdoc(&entry, long, &root), Reason::ChainInvalid);
}

/// The European age app's signers have such an extension.
#[test]
fn an_unreadable_issuer_alt_name_of_a_listed_provider_is_tolerated_and_named() {
    let root = iaca("root");
    let entry = listing(Kind::Pid, &[&root.der], &ListTerms::default());
    let unreadable = idgate_testkit::der::sequence(&[&[0x30, 0]]);
    let with = |critical| iso(&root).set(ISSUER_ALT_NAME, critical, unreadable.clone());
    for verdict in [mdoc(&entry, with(false), &root), sd_jwt(&entry, with(false), &root)] {
        assert_eq!(verdict.unwrap().tolerated, ["2.5.29.18"]);
    }
    for verdict in [mdoc(&entry, with(true), &root), sd_jwt(&entry, with(true), &root)] {
        refused(verdict, Reason::ChainInvalid);
    }
    // A missing extension is still an error.
    let absent = iso(&root).without(ISSUER_ALT_NAME);
    refused(mdoc(&entry, absent, &root), Reason::ChainInvalid);
}

/// A usage that the operator requires of SD-JWT VC issuers marks them below a listed CA.
#[test]
fn a_usage_that_the_operator_requires_marks_issuers_of_sd_jwts() {
    let root = iaca("root");
    let own = || unmarked(&root).set(EXT_KEY_USAGE, false, ext_key_usage(&["1.2.3.4"]));
    for kind in [ListProfile::Iso, ListProfile::Either] {
        let mut entry = listing(Kind::Pid, &[&root.der], &profile(kind));
        refused(sd_jwt(&entry, own(), &root), Reason::ChainInvalid);
        entry.sd_jwt_ekus = Oid::parse("1.2.3.4").into_iter().collect();
        sd_jwt(&entry, own(), &root).unwrap();
        refused(mdoc(&entry, own(), &root), Reason::ChainInvalid);
        // The other marks do not replace it.
        refused(sd_jwt(&entry, iso(&root), &root), Reason::ChainInvalid);
        refused(sd_jwt(&entry, etsi(&root), &root), Reason::ChainInvalid);
    }
}

#[test]
fn iso_and_etsi_accept_only_their_own_and_any_accepts_all() {
    let root = iaca("root");
    let of = |kind| listing(Kind::Pid, &[&root.der], &profile(kind));
    for (kind, takes) in [
        (ListProfile::Iso, [true, false, false]),
        (ListProfile::Etsi, [false, true, false]),
        (ListProfile::Any, [true, true, true]),
    ] {
        let entry = of(kind);
        for (signer, taken) in [iso(&root), etsi(&root), unmarked(&root)].into_iter().zip(takes) {
            assert_eq!(mdoc(&entry, signer.clone(), &root).is_ok(), taken, "{kind:?}");
            assert_eq!(sd_jwt(&entry, signer, &root).is_ok(), taken, "{kind:?}");
        }
    }
    // The rules that ETSI's profile keeps.
    for broken in [
        etsi(&root).without(SUBJECT_KEY_IDENTIFIER),
        etsi(&root).set(KEY_USAGE, true, key_usage(0b1100_0000)),
        etsi(&root).without(idgate_testkit::x509::CRL_DISTRIBUTION_POINTS),
        etsi(&root).without(idgate_testkit::x509::AUTHORITY_KEY_IDENTIFIER),
    ] {
        refused(mdoc(&of(ListProfile::Etsi), broken, &root), Reason::ChainInvalid);
    }
}

#[test]
fn public_bodies_are_marked_by_qc_psb() {
    let root = iaca("root");
    let entry = listing(Kind::PubEaa, &[&root.der], &ListTerms::default());
    sd_jwt(&entry, unmarked(&root).set(QC_STATEMENTS, false, qc_psb()), &root).unwrap();
    refused(sd_jwt(&entry, etsi(&root), &root), Reason::ChainInvalid);
}

#[test]
fn an_mdl_list_requires_the_iso_profile() {
    let root = iaca("root");
    let entry = listing(Kind::Mdl, &[&root.der], &ListTerms::default());
    let mdl = "org.iso.18013.5.1.mDL";
    mdoc_at(&entry, &iso(&root).sign(&root.key), mdl, NOW).unwrap();
    refused(mdoc_at(&entry, &etsi(&root).sign(&root.key), mdl, NOW), Reason::ChainInvalid);
    refused(mdoc(&entry, iso(&root), &root), Reason::UntrustedIssuer);
    refused(sd_jwt(&entry, iso(&root), &root), Reason::ChainInvalid);
}

#[test]
fn a_list_past_its_next_update_trusts_no_signer() {
    let root = iaca("root");
    let next = NOW.plus(89 * 86_400_000);
    let stale_too = ListTerms { allow_stale: true, ..ListTerms::default() };
    for (terms, after) in [(ListTerms::default(), false), (stale_too, true)] {
        let entry = listing(Kind::Pid, &[&root.der], &terms);
        let leaf = iso(&root).sign(&root.key);
        mdoc_at(&entry, &leaf, PID_DOC, next.minus(1)).unwrap();
        let verdict = mdoc_at(&entry, &leaf, PID_DOC, next);
        assert_eq!(verdict.is_ok(), after);
        let sd_jwt = authenticate_sd_jwt_chain(&PROVIDER, &[&leaf], &entry, true, next);
        assert_eq!(sd_jwt.is_ok(), after);
        if !after {
            refused(verdict, Reason::UntrustedIssuer);
            refused(sd_jwt, Reason::UntrustedIssuer);
        }
        let lapsed = entry.lapsed_list(Some(&DocType::new(PID_DOC)), true, next);
        assert_eq!(lapsed.is_none(), after);
        let told = "is trusted only through the trusted list Example Operator, which was in force";
        assert!(lapsed.is_none_or(|(why, _)| why.starts_with(told)));
        assert_eq!(entry.lapsed_list(None, true, NOW), None);
    }
}

#[test]
fn a_listed_signer_is_valid_in_live_sessions_until_its_list_ends() {
    let signer = etsi(&iaca("nobody"))
        .set(BASIC_CONSTRAINTS, true, basic_constraints(false, None))
        .sign(&key("nobody"));
    let entry = listing(Kind::Pid, &[&signer], &ListTerms::default());
    for path in [
        mdoc_at(&entry, &signer, PID_DOC, NOW).unwrap(),
        authenticate_sd_jwt_chain(&PROVIDER, &[&signer], &entry, true, NOW).unwrap(),
    ] {
        assert!(path.pinned);
        let listed = path.listed.unwrap();
        assert_eq!(listed.providers[0].identifier(), Some("NTRLU-1"));
        assert_eq!((listed.list_type, listed.list_sequence), (ListType::Pid, 7));
    }
    refused(mdoc_at(&entry, &signer, "org.iso.18013.5.1.mDL", NOW), Reason::UntrustedIssuer);
    let next = NOW.plus(89 * 86_400_000);
    refused(mdoc_at(&entry, &signer, PID_DOC, next), Reason::UntrustedIssuer);
}

#[test]
fn one_certificate_of_two_providers_is_attributed_by_its_signers_subject() {
    let root = iaca("root");
    let services = [Kind::Pid.issuance(&[&root.der])];
    let list = made(Kind::Pid)
        .with(provider("First", "NTRLU-1", "LU", &services))
        .with(provider("Second", "NTRLU-2", "LU", &services));
    let entry = fed(&import_made(&list).unwrap(), &ListTerms::default());
    assert_eq!(entry.roots.len(), 1);
    let named = |oid: &str, text: &str| {
        let name = Name::new("LU", "signer").with(oid, 0x0c, text);
        let signer = iso(&root).with(|one| one.subject = name);
        let path = mdoc(&entry, signer, &root).unwrap();
        let providers = path.listed.unwrap();
        providers.providers.iter().map(|one| one.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(named(ORGANIZATION_IDENTIFIER, "NTRLU-2"), ["Second"]);
    assert_eq!(named(ORGANIZATION, "first"), ["First"]);
    assert_eq!(named(ORGANIZATION, "Third"), ["First", "Second"]);
    assert_eq!(named(ORGANIZATION_IDENTIFIER, "NTRLU-3"), ["First", "Second"]);
}

/// A listed CA has other customers, whose certificates name other purposes.
#[test]
fn below_roots_of_sd_jwt_issuers_signers_of_status_need_a_mark_or_the_usage() {
    let root = iaca("root");
    let entry = listing(Kind::Pid, &[&root.der], &ListTerms::default());
    let roots: Vec<&TrustAnchor> = entry.sd_jwt_roots.iter().collect();
    let here = StatusRoots {
        provider: &PROVIDER,
        roots: &roots,
        ekus: &entry.ekus,
        sd_jwt_ekus: &[],
        now: NOW,
    };
    let by =
        |signer: CertificateBuilder| here.authenticate_beside_issuer(&[&signer.sign(&root.key)]);
    let used_for = |oid| unmarked(&root).set(EXT_KEY_USAGE, false, ext_key_usage(&[oid]));
    let (tls_server, status) = ("1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.30");
    for good in [iso(&root), etsi(&root), used_for(status)] {
        assert!(by(good).is_ok());
    }
    refused(by(used_for(tls_server)), Reason::ChainInvalid);
    refused(by(unmarked(&root)), Reason::ChainInvalid);
    // If the operator requires no mark of issuers, signers of status need none either.
    let entry = listing(Kind::Pid, &[&root.der], &profile(ListProfile::Any));
    let roots: Vec<&TrustAnchor> = entry.sd_jwt_roots.iter().collect();
    let of_any = StatusRoots { roots: &roots, ..here };
    assert!(of_any.authenticate_beside_issuer(&[&unmarked(&root).sign(&root.key)]).is_ok());
}

#[test]
fn a_root_for_status_is_not_trusted_for_issuers() {
    let (root, status) = (iaca("root"), iaca("status"));
    let services = [Kind::Pid.issuance(&[&root.der]), Kind::Pid.revocation(&[&status.der])];
    let list = made(Kind::Pid).with(provider("P", "NTRLU-1", "LU", &services));
    let entry = fed(&import_made(&list).unwrap(), &ListTerms::default());
    refused(mdoc(&entry, iso(&status), &status), Reason::ChainInvalid);
    refused(sd_jwt(&entry, iso(&status), &status), Reason::ChainInvalid);
    let signer = unmarked(&status)
        .set(SUBJECT_KEY_IDENTIFIER, false, subject_key_identifier(&key("signer")))
        .sign(&status.key);
    assert!(mdoc_at(&entry, &signer, PID_DOC, NOW).is_err());
}
