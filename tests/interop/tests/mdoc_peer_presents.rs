//! idgate verifies documents that isomdl issues and presents.

use idgate_core::Reason;
use idgate_interop::NONCE;
use idgate_interop::mdoc_gate::verdict;
use idgate_interop::mdoc_peer::Sample;
use idgate_testkit::mdoc::MDL;
use time::Duration;

#[test]
fn a_document_of_the_peer_is_verified() {
    let sample = Sample::default();
    let mdoc = sample.issue(MDL, Duration::HOUR);
    let response = sample.present(mdoc, &["family_name", "age_over_18"], NONCE);
    assert_eq!(
        verdict(&sample.root.der, &["family_name", "age_over_18"], &response).unwrap(),
        r#"{"family_name":"Mustermann","age_over_18":true}"#
    );
    assert!(sample.reader_accepts(&response));
}

#[test]
fn a_proof_for_another_nonce_is_refused_by_both() {
    let sample = Sample::default();
    let mdoc = sample.issue(MDL, Duration::HOUR);
    let response = sample.present(mdoc, &["family_name"], "another");
    assert_eq!(
        verdict(&sample.root.der, &["family_name"], &response),
        Err(Reason::DeviceAuthInvalid)
    );
    assert!(!sample.reader_accepts(&response));
}

#[test]
fn an_element_that_the_peer_withholds_is_missing() {
    let sample = Sample::default();
    let mdoc = sample.issue(MDL, Duration::HOUR);
    let response = sample.present(mdoc, &["family_name"], NONCE);
    assert_eq!(
        verdict(&sample.root.der, &["family_name", "age_over_18"], &response),
        Err(Reason::ClaimMissing)
    );
}
