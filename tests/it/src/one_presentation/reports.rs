//! Which checks the report on a verified presentation has.

use idgate_core::error::Check;

use super::*;

/// The checks of a verified presentation, in order.
fn checks(verified: &Verified) -> Vec<Check> {
    assert!(verified.checks().all(|(_, passed)| passed));
    verified.checks().map(|(check, _)| check).collect()
}

/// The checks of these groups, without `other`.
fn all_of(groups: &[&str], other: &[Check]) -> Vec<Check> {
    let all = Check::ALL.iter().copied().filter(|check| groups.contains(&check.group()));
    all.filter(|check| !other.contains(check)).collect()
}

#[test]
fn the_report_has_every_check_of_an_sd_jwt_vc() {
    let expected = Expected::sd_jwt_vc(ISSUER, SENT).claims(&["birthdate"]);
    let verified = trust(pid()).verify(&shown(None), &expected, NOW).unwrap();
    let groups = ["text", "issuer", "disclosures", "validity", "holder", "request", "status"];
    let other = [Check::TransactionData, Check::SameSubject, Check::SignerStatus];
    assert_eq!(checks(&verified), all_of(&groups, &other));
}

#[test]
fn the_report_has_every_check_of_an_mdoc() {
    let (sample, text) = licence(&openid4vp(CLIENT_ID, NONCE, None, RESPONSE_URI));
    let expected = expected_licence(Transcript::openid4vp(RESPONSE_URI));
    let groups = [
        "device response",
        "document signer",
        "mobile security object",
        "device",
        "request",
        "status",
    ];
    let licences = || Issuer::new(MDL_ISSUER).doc_type(MDL).iaca_roots(sample.root.der.clone());
    let verified = trust(licences()).verify(&text, &expected, NOW).unwrap();
    let other = [Check::SameSubject, Check::SignerStatus];
    assert_eq!(checks(&verified), all_of(&groups, &other));
    let (from, until) = (compact_utc(NOW.0 - 1000), compact_utc(NOW.0 + 3_600_000));
    let root = &sample.root;
    let crl = Crl::new(&root.builder.subject.der(), &key_identifier(&root.key), &from, &until);
    let with_crl = trust(licences().crls(crl.sign(&root.key)));
    let verified = with_crl.verify(&text, &expected, NOW).unwrap();
    assert_eq!(checks(&verified), all_of(&groups, &[Check::SameSubject]));
}
