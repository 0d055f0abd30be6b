//! Documents that the reader of isomdl 0.2.0 calls valid and idgate must refuse. Both verdicts are
//! asserted, so a new release of the peer, or a change here, fails a test if a verdict changes.

use idgate_core::Reason;
use idgate_interop::NONCE;
use idgate_interop::mdoc_gate::verdict;
use idgate_interop::mdoc_peer::Sample;
use idgate_testkit::mdoc::MDL;
use time::Duration;

/// The peer accepts, idgate refuses.
#[track_caller]
fn only_the_peer_accepts(sample: &Sample, response: &[u8], reason: Reason) {
    assert!(sample.reader_accepts(response));
    assert_eq!(verdict(&sample.root.der, &["family_name"], response), Err(reason));
}

/// isomdl never compares an element with its digest (ISO/IEC 18013-5 9.3.1, step 3).
#[test]
fn a_changed_element() {
    let sample = Sample::default();
    let mdoc = sample.issue(MDL, Duration::HOUR);
    let mut response = sample.present(mdoc, &["family_name"], NONCE);
    let (own, forged) = (b"Mustermann", b"Nustermann");
    let at = response.windows(own.len()).position(|part| part == own).unwrap();
    response[at..at + own.len()].copy_from_slice(forged);
    only_the_peer_accepts(&sample, &response, Reason::DigestMismatch);
}

/// isomdl never checks validityInfo (9.3.1, step 5).
#[test]
fn an_expired_mso() {
    let sample = Sample::default();
    let mdoc = sample.issue(MDL, Duration::hours(20));
    let response = sample.present(mdoc, &["family_name"], NONCE);
    only_the_peer_accepts(&sample, &response, Reason::CredentialExpired);
}

/// isomdl never compares the docType of the MSO with that of the document (9.3.1, step 4).
#[test]
fn an_mso_of_another_doc_type() {
    let sample = Sample::default();
    let mdoc = sample.issue("org.iso.23220.photoid.1", Duration::HOUR);
    let response = sample.present(mdoc, &["family_name"], NONCE);
    only_the_peer_accepts(&sample, &response, Reason::DocTypeMismatch);
}
