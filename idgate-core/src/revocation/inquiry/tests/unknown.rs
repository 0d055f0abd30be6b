//! A status list that cannot be fetched, where the trust entry and the request accept that: the
//! cases that count as unknown, and those that are refused anyway.

use serde_json::json;

use super::*;
use crate::revocation::{Revocation, RevocationOutcome, SourceFault};
use crate::trust::{OnUnknownRevocation, UnknownRevocation};

const ACCEPTED: RevocationDetails = RevocationDetails {
    credential: RevocationOutcome::Unknown,
    signer: RevocationOutcome::NotPublished,
};
const REFUSED: Result<RevocationDetails, Reason> = Err(Reason::RevocationUnknown);

fn accepting(policy: RevocationPolicy) -> TrustEntry {
    let mut entry = with_policy(policy);
    entry.on_unknown_revocation = OnUnknownRevocation::Accept;
    entry
}

/// The outcome for the credential at index 0 if its list answers with `what`, for this entry and
/// wish.
fn told_of(
    entry: &TrustEntry,
    on_unknown: Option<UnknownRevocation>,
    what: Supplied<'_>,
) -> Result<RevocationDetails, Reason> {
    let context = StatusContext { on_unknown, ..context(entry) };
    let mut inquiry = Inquiry::open(list_at(0), &context).map_err(|error| error.reason)?;
    inquiry.supply(&list_need(), what, &context);
    settled(&inquiry)
}

/// The same for an entry that accepts an unknown status.
fn told(what: Supplied<'_>) -> Result<RevocationDetails, Reason> {
    told_of(&accepting(RevocationPolicy::IfPublished), None, what)
}

fn told_of_token(token: &str) -> Result<RevocationDetails, Reason> {
    told(Supplied::Bytes(token.as_bytes()))
}

fn list_of(bits: u8) -> StatusJwt {
    StatusJwt::new(&StatusList::new(bits, 8).with(1, 1), URI, NOW_SECS - 3600)
}

fn sign(token: StatusJwt) -> String {
    token.sign(&signing_key("issuer"))
}

#[test]
fn a_host_that_cannot_be_reached_leaves_the_status_unknown() {
    assert_eq!(told(Supplied::Failed(SourceFault::Unreachable)), Ok(ACCEPTED));
}

#[test]
fn an_answer_that_comes_too_late_leaves_the_status_unknown() {
    assert_eq!(told(Supplied::Failed(SourceFault::TooSlow)), Ok(ACCEPTED));
}

#[test]
fn an_http_error_status_leaves_the_status_unknown() {
    assert_eq!(told(Supplied::Failed(SourceFault::HttpStatus)), Ok(ACCEPTED));
}

#[test]
fn an_expired_list_leaves_the_status_unknown() {
    let over = list_of(1).with("exp", json!(NOW_SECS - 600));
    assert_eq!(told_of_token(&sign(over)), Ok(ACCEPTED));
    let old = StatusJwt::new(&StatusList::new(1, 8), URI, NOW_SECS - 8 * 86_400).without("exp");
    assert_eq!(told_of_token(&sign(old)), Ok(ACCEPTED));
}

#[test]
fn a_bad_status_does_not_become_unknown_when_its_list_expires() {
    let over = StatusJwt::new(&StatusList::new(1, 8).with(0, 1), URI, NOW_SECS - 3600);
    assert_eq!(told_of_token(&sign(over.with("exp", json!(NOW_SECS - 600)))), REFUSED);
}

/// A list with this status of the credential, cached while it was current.
fn kept(status: u8, exp: u64, entry: &TrustEntry) -> VerifiedSource {
    let token = StatusJwt::new(&StatusList::new(1, 8).with(0, status), URI, NOW_SECS - 3600);
    let token = sign(token.with("exp", json!(exp)));
    let context = StatusContext { now: UnixMillis((NOW_SECS - 1800) * 1000), ..context(entry) };
    let mut inquiry = Inquiry::open(list_at(0), &context).unwrap();
    inquiry.supply(&list_need(), Supplied::Bytes(token.as_bytes()), &context).unwrap()
}

/// The outcome if the list answers with `what` and an earlier copy is cached.
fn told_with(
    kept: &VerifiedSource,
    entry: &TrustEntry,
    what: Supplied<'_>,
) -> Result<RevocationDetails, Reason> {
    let context = context(entry);
    let mut inquiry = Inquiry::open(list_at(0), &context).unwrap();
    inquiry.supply(&list_need(), what, &context);
    inquiry.reuse(kept, &context);
    settled(&inquiry)
}

#[test]
fn a_cached_revocation_counts_if_the_fetched_list_has_expired() {
    let entry = accepting(RevocationPolicy::IfPublished);
    let over = sign(list_of(1).with("exp", json!(NOW_SECS - 600)));
    let over = || Supplied::Bytes(over.as_bytes());
    let revoked = kept(1, NOW_SECS + 600, &entry);
    assert_eq!(told_with(&revoked, &entry, over()), Err(Reason::CredentialRevoked));
    let good = kept(0, NOW_SECS + 600, &entry);
    assert_eq!(told_with(&good, &entry, over()), Ok(ACCEPTED), "it makes nothing good");
}

#[test]
fn an_expired_cached_revocation_prevents_acceptance_as_unknown() {
    let entry = accepting(RevocationPolicy::IfPublished);
    let silent = Supplied::Failed(SourceFault::Unreachable);
    assert_eq!(told_with(&kept(1, NOW_SECS - 600, &entry), &entry, silent), REFUSED);
    let silent = Supplied::Failed(SourceFault::Unreachable);
    assert_eq!(told_with(&kept(0, NOW_SECS - 600, &entry), &entry, silent), Ok(ACCEPTED));
}

#[test]
fn a_cached_copy_changes_only_an_unknown_status() {
    let entry = accepting(RevocationPolicy::IfPublished);
    let forged = list_of(1).sign(&signing_key("other"));
    let good = kept(0, NOW_SECS + 600, &entry);
    assert_eq!(told_with(&good, &entry, Supplied::Bytes(forged.as_bytes())), REFUSED);
    let current = sign(list_of(1));
    let revoked = kept(1, NOW_SECS + 600, &entry);
    let told = told_with(&revoked, &entry, Supplied::Bytes(current.as_bytes())).unwrap();
    assert_eq!(told.credential, RevocationOutcome::Good);
}

#[test]
fn an_expired_list_is_not_cached() {
    let entry = accepting(RevocationPolicy::IfPublished);
    let context = context(&entry);
    let over = sign(list_of(1).with("exp", json!(NOW_SECS - 600)));
    let mut inquiry = Inquiry::open(list_at(0), &context).unwrap();
    let kept = inquiry.supply(&list_need(), Supplied::Bytes(over.as_bytes()), &context);
    assert!(kept.is_none());
}

/// The source is not unknown: it exists, and is wrong.
#[test]
fn a_source_that_answers_wrongly_is_refused() {
    for fault in [
        SourceFault::NotAllowed,
        SourceFault::Redirect,
        SourceFault::ContentCoding,
        SourceFault::TooLarge,
        SourceFault::Broken,
    ] {
        assert_eq!(told(Supplied::Failed(fault)), REFUSED, "{fault:?}");
    }
}

/// A caller that gives no cause may not have fetched at all.
#[test]
fn a_source_that_is_unavailable_without_a_cause_is_refused() {
    assert_eq!(told(Supplied::Unavailable), REFUSED);
    let entry = accepting(RevocationPolicy::IfPublished);
    assert_eq!(
        settled(&open(list_at(0), &entry).unwrap()),
        REFUSED,
        "nor one that was not fetched"
    );
}

#[test]
fn a_list_not_signed_by_the_issuer_is_refused() {
    assert_eq!(told_of_token(&list_of(1).sign(&signing_key("other"))), REFUSED);
    let over = list_of(1).with("exp", json!(NOW_SECS - 600));
    assert_eq!(
        told_of_token(&over.sign(&signing_key("other"))),
        REFUSED,
        "nor one that has expired"
    );
}

#[test]
fn a_list_with_another_sub_is_refused() {
    let other = list_of(1).with("sub", json!("https://other.example"));
    assert_eq!(told_of_token(&sign(other)), REFUSED);
}

#[test]
fn a_list_of_another_type_is_refused() {
    assert_eq!(told_of_token(&sign(list_of(1).with_header("typ", json!("JWT")))), REFUSED);
    assert_eq!(told(Supplied::Bytes(b"<html>we are down</html>")), REFUSED);
    assert_eq!(told(Supplied::Bytes(b"")), REFUSED);
}

#[test]
fn a_list_in_an_unsupported_coding_is_refused() {
    let coded = |lst: &str| json!({ "bits": 1, "lst": lst });
    assert_eq!(told_of_token(&sign(list_of(1).with("status_list", coded("AAAA")))), REFUSED);
    let bits = json!({ "bits": 3, "lst": "AAAA" });
    assert_eq!(told_of_token(&sign(list_of(1).with("status_list", bits))), REFUSED);
}

#[test]
fn a_list_over_the_size_limit_is_refused() {
    let large = vec![b'a'; crate::limits::MAX_STATUS_BYTES + 1];
    assert_eq!(told(Supplied::Bytes(&large)), REFUSED);
}

#[test]
fn an_index_past_the_end_of_the_list_is_refused() {
    let entry = accepting(RevocationPolicy::IfPublished);
    let context = context(&entry);
    for token in [list_of(1), list_of(1).with("exp", json!(NOW_SECS - 600))] {
        let mut inquiry = Inquiry::open(list_at(1000), &context).unwrap();
        inquiry.supply(&list_need(), Supplied::Bytes(sign(token).as_bytes()), &context);
        assert_eq!(settled(&inquiry), REFUSED);
    }
}

#[test]
fn a_credential_over_a_limit_is_refused_before_anything_is_unknown() {
    let uris: Vec<String> = (0..21).map(|n| format!("https://status.example/{n}")).collect();
    let entry = accepting(RevocationPolicy::IfPublished);
    let of = |uri: &String| {
        let status = PublishedStatus::List(StatusListReference::new(0, uri).unwrap());
        open(Published { status, ..Published::default() }, &entry).unwrap()
    };
    let inquiries: Vec<Inquiry> = uris.iter().map(of).collect();
    let refused = check_count(&inquiries, &mut BTreeSet::new()).unwrap_err();
    assert_eq!(refused.reason, Reason::LimitExceeded);
}

#[test]
fn a_status_that_names_no_mechanism_is_refused() {
    let published = Published { status: PublishedStatus::Unknown, ..Published::default() };
    let entry = accepting(RevocationPolicy::IfPublished);
    assert_eq!(open(published, &entry).unwrap_err(), Reason::RevocationUnknown);
}

#[test]
fn an_unknown_crl_of_the_credentials_signer_is_never_accepted() {
    let entry = accepting(RevocationPolicy::IfPublished);
    let context = context(&entry);
    for fault in [SourceFault::Unreachable, SourceFault::TooSlow, SourceFault::HttpStatus] {
        let both = Published { signer: signer_with(&[&[CRL_URI]]).signer, ..list_at(0) };
        let mut inquiry = Inquiry::open(both, &context).unwrap();
        inquiry.supply(&list_need(), Supplied::Failed(fault), &context);
        inquiry.supply(&crl_need(CRL_URI), Supplied::Failed(fault), &context);
        assert_eq!(settled(&inquiry), REFUSED, "{fault:?}");
    }
}

#[test]
fn a_revoked_signer_outweighs_an_unknown_status() {
    let entry = accepting(RevocationPolicy::IfPublished);
    let context = context(&entry);
    for (crl, expected) in [
        (crl(), Ok(RevocationDetails { signer: RevocationOutcome::Good, ..ACCEPTED })),
        (crl().revoke(SERIAL), Err(Reason::CertificateRevoked)),
    ] {
        let both = Published { signer: signer_with(&[&[CRL_URI]]).signer, ..list_at(0) };
        let mut inquiry = Inquiry::open(both, &context).unwrap();
        let unreachable = Supplied::Failed(SourceFault::Unreachable);
        inquiry.supply(&list_need(), unreachable, &context);
        inquiry.supply(&crl_need(CRL_URI), Supplied::Bytes(&signed(&crl)), &context);
        assert_eq!(settled(&inquiry), expected);
    }
}

/// The list was fetched, and whether it is trustworthy is one of its checks.
#[test]
fn an_unknown_crl_of_the_lists_signer_is_never_accepted() {
    let entry = accepting(RevocationPolicy::IfPublished);
    let context = context(&entry);
    let need = Need::StatusList { uri: URI.into(), format: CredentialFormat::Mdoc };
    let der = crate::revocation::fixtures::signer_with(&signing_key("signer"), &[crl_at(CRL_URI)]);
    let over = cbor::integer(i64::try_from(NOW_SECS - 600).unwrap());
    let list = StatusCwt::new(&StatusList::new(1, 8), URI, NOW_SECS - 3600, &[&der]);
    let exp = 4;
    for (token, is_over) in [(list.clone(), false), (list.with(exp, over), true)] {
        for (crl, good) in [(Some(crl()), true), (None, false), (Some(crl().revoke(SERIAL)), false)]
        {
            let published = Published { voucher: Some(voucher()), ..list_at(0) };
            let mut inquiry = Inquiry::open(published, &context).unwrap();
            let token = token.sign(&signing_key("signer"));
            inquiry.supply(&need, Supplied::Bytes(&token), &context);
            assert_eq!(inquiry.needs().collect::<Vec<_>>(), [crl_need(CRL_URI)]);
            let crl = crl.as_ref().map(signed);
            let failed = Supplied::Failed(SourceFault::Unreachable);
            let what = crl.as_deref().map_or(failed, Supplied::Bytes);
            inquiry.supply(&crl_need(CRL_URI), what, &context);
            let expected = match (good, is_over) {
                (true, false) => CREDENTIAL,
                (true, true) => Ok(ACCEPTED),
                (false, _) => REFUSED,
            };
            assert_eq!(settled(&inquiry), expected);
        }
    }
}

#[test]
fn an_entry_that_requires_a_status_always_refuses_an_unknown_one() {
    let failed = Supplied::Failed(SourceFault::Unreachable);
    for on_unknown in [OnUnknownRevocation::Accept, OnUnknownRevocation::Tenant] {
        let mut required = with_policy(RevocationPolicy::Required);
        required.on_unknown_revocation = on_unknown;
        for wish in [None, Some(UnknownRevocation::Accept)] {
            assert_eq!(told_of(&required, wish, failed), REFUSED);
        }
    }
}

#[test]
fn the_request_decides_if_the_entry_allows_it_and_may_always_refuse() {
    let failed = Supplied::Failed(SourceFault::Unreachable);
    let (refuse, accept) = (Some(UnknownRevocation::Refuse), Some(UnknownRevocation::Accept));
    for (choice, wish, expected) in [
        (OnUnknownRevocation::Refuse, None, REFUSED),
        (OnUnknownRevocation::Refuse, accept, REFUSED),
        (OnUnknownRevocation::Accept, None, Ok(ACCEPTED)),
        (OnUnknownRevocation::Accept, refuse, REFUSED),
        (OnUnknownRevocation::Tenant, None, REFUSED),
        (OnUnknownRevocation::Tenant, refuse, REFUSED),
        (OnUnknownRevocation::Tenant, accept, Ok(ACCEPTED)),
    ] {
        let mut entry = entry();
        entry.on_unknown_revocation = choice;
        assert_eq!(told_of(&entry, wish, failed), expected, "{choice:?} {wish:?}");
    }
}

#[test]
fn a_list_that_can_be_fetched_still_decides() {
    assert_eq!(told_of_token(&sign(list_of(1))), CREDENTIAL);
    let revoked = StatusJwt::new(&StatusList::new(1, 8).with(0, 1), URI, NOW_SECS);
    assert_eq!(told_of_token(&sign(revoked)), Err(Reason::CredentialRevoked));
}

#[test]
fn an_unknown_status_is_named_whatever_the_signers_status() {
    for signer in [RevocationOutcome::Good, RevocationOutcome::NotPublished] {
        let details = RevocationDetails { signer, ..ACCEPTED };
        assert_eq!(details.summary(), Revocation::Unknown);
    }
    assert_eq!(
        (Revocation::Unknown.name(), RevocationOutcome::Unknown.name()),
        ("unknown", "unknown")
    );
}
