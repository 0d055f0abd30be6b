//! Offers: their content, their addresses, and their number.

use idgate_testkit::openid4vci::read_offer_link;

use super::*;
use crate::limits::{MAX_OPEN_OFFERS, MAX_REQUESTS_OF_OFFER, OFFER_LIFE_MS};

#[test]
fn a_link_by_value_has_the_whole_offer_and_the_host_that_one_wallet_requires() {
    let desk = Desk::new();
    let made = desk.offer_with(Sample::ProofOfAge, |wish| Wish { tx_code: true, ..wish });
    assert!(
        made.link.starts_with("openid-credential-offer://credential_offer?credential_offer=%7B")
    );
    assert!(!made.link.contains('+') && made.link.len() < 700, "{}", made.link);
    let offer = read_offer_link(&made.link).unwrap().unwrap();
    assert_eq!(offer, made.credential_offer);
    assert_eq!(offer["credential_issuer"], PLAIN);
    assert_eq!(offer["credential_configuration_ids"], json!(["proof_of_age"]));
    let grants = offer["grants"].as_object().unwrap();
    assert_eq!(grants.len(), 1);
    let tx_code = &grants[PRE_AUTHORIZED]["tx_code"];
    assert_eq!((&tx_code["input_mode"], &tx_code["length"]), (&json!("numeric"), &json!(6)));
    let code = made.tx_code.unwrap();
    assert!(code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()), "{code}");
    let haip = desk.offer_with(Sample::Pid, |wish| Wish { haip: true, ..wish });
    assert!(haip.link.starts_with("haip-vci://"), "{}", haip.link);
}

#[test]
fn an_offer_by_reference_can_be_read_until_it_is_used_or_expires() {
    let desk = Desk::new();
    let by_reference = |wish| Wish { by_reference: true, ..wish };
    let made = desk.offer_with(Sample::Pid, by_reference);
    let uri = read_offer_link(&made.link).unwrap().unwrap_err();
    assert_eq!(made.credential_offer_uri.as_deref(), Some(&*uri));
    assert!(made.link.len() < 200, "{}", made.link);
    let path = uri.strip_prefix(BASE).unwrap();
    let reply = desk.get(path);
    assert_eq!((reply.status, &reply.body), (200, &made.credential_offer));
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(desk.redeem(&made, &[]).status, 200);
    assert_eq!(desk.get(path).status, 404, "used");
    let made = desk.offer_with(Sample::Pid, by_reference);
    let path = made.credential_offer_uri.unwrap().strip_prefix(BASE).unwrap().to_owned();
    desk.pass(OFFER_LIFE_MS);
    assert_eq!(desk.get(&path).status, 404, "over");
    assert_eq!(desk.get("/vci/offers/unknown").status, 404);
}

#[test]
fn offers_beyond_the_maximum_are_refused_until_one_expires() {
    let desk = Desk::new();
    let wish = Wish {
        sample: Sample::Pid,
        by_reference: false,
        tx_code: false,
        attested: false,
        haip: false,
    };
    let first = desk.phones.offer(wish).unwrap();
    for _ in 1..MAX_OPEN_OFFERS {
        desk.phones.offer(wish).unwrap();
    }
    let refused = desk.phones.offer(wish).err().unwrap();
    assert!(refused.contains("100 offers are open"), "{refused}");
    assert_eq!(desk.redeem(&first, &[]).status, 200, "and changes nothing");
    desk.phones.offer(wish).unwrap();
}

#[test]
fn a_reference_is_read_a_bounded_number_of_times() {
    let desk = Desk::new();
    let made = desk.offer_with(Sample::Pid, |wish| Wish { by_reference: true, ..wish });
    let path = made.credential_offer_uri.unwrap().strip_prefix(BASE).unwrap().to_owned();
    for _ in 0..MAX_REQUESTS_OF_OFFER {
        assert_eq!(desk.get(&path).status, 200);
    }
    assert_eq!(desk.get(&path).status, 404);
}

#[test]
fn an_offer_reports_its_progress() {
    let (desk, own) = (Desk::new(), key("holder"));
    let made = desk.offer(Sample::Pid);
    assert_eq!(desk.state_of(&made).0, Progress::Offered);
    desk.get("/.well-known/openid-credential-issuer/vci");
    assert_eq!(desk.state_of(&made).0, Progress::MetadataFetched);
    let token = desk.redeem(&made, &[]).text("access_token");
    assert_eq!(desk.state_of(&made).0, Progress::Token);
    let bad = desk.proof(&own).claim("aud", "x").sign(&own);
    desk.credential(&token, &request(Sample::Pid, &[bad]));
    let rule = "aud is not the identifier of this issuer";
    assert_eq!(desk.state_of(&made), (Progress::Failed, Some(rule)));
    let proof = desk.proof(&own).sign(&own);
    desk.credential(&token, &request(Sample::Pid, &[proof]));
    assert_eq!(desk.state_of(&made), (Progress::Issued, None));
}

#[test]
fn a_request_that_names_no_offer_changes_none() {
    let desk = Desk::new();
    let made = desk.offer(Sample::Pid);
    let fields = [("grant_type", PRE_AUTHORIZED), ("pre-authorized_code", "guessed")];
    desk.form("/vci/token", &[], &fields);
    desk.credential("guessed", &json!({}));
    assert_eq!(desk.state_of(&made), (Progress::Offered, None));
}

/// A memory image or a core file must not contain a code, token or reference that still works.
#[test]
fn codes_tokens_and_references_are_kept_as_digests() {
    let desk = Desk::new();
    let by_value = desk.offer(Sample::Pid);
    let by_reference = desk.offer_with(Sample::Pid, |wish| Wish { by_reference: true, ..wish });
    let token = desk.token(Sample::Pid);
    let kept = format!("{:?}", desk.phones.inner().offers);
    let uri = by_reference.credential_offer_uri.clone().unwrap();
    let (_, reference) = uri.rsplit_once('/').unwrap();
    let codes = [code_of(&by_value), code_of(&by_reference)];
    for secret in codes.into_iter().chain([token, reference.to_owned()]) {
        assert!(!kept.contains(&secret), "{kept}");
    }
}
