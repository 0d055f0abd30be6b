//! The cache never changes a verdict. For a cached signer a provider that verifies no signature is
//! enough, which shows the tests that the cache was used.

use alloc::format;
use alloc::vec::Vec;

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::time::{DAY_MS, SAMPLE_NOW_MS, YEAR_MS};
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};

use super::*;
use crate::crypto::aws_lc_rs::PROVIDER;
use crate::error::Reason;
use crate::ids::{DocType, IssuerId};
use crate::trust::PinnedSigner;
use crate::trust::anchors::RootOrigin;

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
const MDL: &str = "org.iso.18013.5.1.mDL";
/// A provider that verifies nothing.
const BLIND: CryptoProvider = CryptoProvider { verifiers: &[], ..PROVIDER };

struct Sample {
    known: KnownSigners,
    root: Identity,
    entry: TrustEntry,
    livemode: bool,
    /// `None`: for SD-JWT VCs.
    doc_type: Option<&'static str>,
}

impl Sample {
    fn new() -> Self {
        let root = Identity::iaca(Curve::P256, SAMPLE_NOW_MS);
        let mut entry = TrustEntry::new(IssuerId::new("utopia"));
        entry.roots.push(anchor(&root));
        Self { known: KnownSigners::default(), root, entry, livemode: true, doc_type: Some(MDL) }
    }

    fn signer(&self, seed: &str) -> CertificateBuilder {
        let key = SigningKey::from_seed(Curve::P256, seed);
        let name = Name::new("UT", "Signer");
        CertificateBuilder::document_signer(&self.root, name, &key, SAMPLE_NOW_MS)
    }

    fn der(&self) -> Vec<u8> {
        self.signer("signer").sign(&self.root.key)
    }

    fn authenticate(
        &self,
        provider: &CryptoProvider,
        chain: &[&[u8]],
        now: UnixMillis,
    ) -> Result<Arc<VerifiedPath>, Reason> {
        let Self { entry: issuer, doc_type, livemode, .. } = self;
        let purpose = Purpose { issuer, doc_type: *doc_type, livemode: *livemode };
        self.known.authenticate(provider, chain, purpose, now).map_err(|error| error.reason)
    }

    fn meet(&self, chain: &[&[u8]]) {
        self.authenticate(&PROVIDER, chain, NOW).unwrap();
    }

    /// Whether the signer is in the cache at that time.
    fn knows(&self, chain: &[&[u8]], now: UnixMillis) -> bool {
        self.authenticate(&BLIND, chain, now).is_ok()
    }

    fn count(&self) -> usize {
        let generations = self.known.generations.lock().unwrap();
        generations.young.len() + generations.old.len()
    }
}

fn anchor(root: &Identity) -> TrustAnchor {
    TrustAnchor::from_der(&PROVIDER, &root.der, RootOrigin::RootFile).unwrap()
}

#[test]
fn a_cached_signer_has_the_same_path_without_a_signature_check() {
    let sample = Sample::new();
    let der = sample.der();
    assert!(!sample.knows(&[&der], NOW));
    let first = sample.authenticate(&PROVIDER, &[&der], NOW).unwrap();
    let again = sample.authenticate(&BLIND, &[&der], NOW).unwrap();
    assert_eq!(format!("{first:?}"), format!("{again:?}"));
    let fresh = authenticate_chain(&PROVIDER, &[&der], &sample.entry, MDL, true, NOW).unwrap();
    assert_eq!(format!("{again:?}"), format!("{:?}", Arc::new(fresh)));
}

#[test]
fn dates_are_checked_each_time() {
    let mut sample = Sample::new();
    let short = sample.root.builder.clone().with(|root| root.not_after_ms = SAMPLE_NOW_MS + DAY_MS);
    sample.root = short.self_sign(&sample.root.key);
    sample.entry.roots = [anchor(&sample.root)].into();
    let der = sample.signer("s").with(|s| s.not_before_ms = SAMPLE_NOW_MS).sign(&sample.root.key);
    sample.meet(&[&der]);
    let end = NOW.plus(DAY_MS + 999);
    assert!(sample.knows(&[&der], NOW) && sample.knows(&[&der], end));
    for now in [UnixMillis(NOW.0 - 1), end.plus(1), NOW.plus(2 * YEAR_MS)] {
        assert!(!sample.knows(&[&der], now));
        let refused = sample.authenticate(&PROVIDER, &[&der], now).unwrap_err();
        assert_eq!(refused, Reason::CertificateExpired);
    }
    let der = sample.signer("t").with(|s| s.not_after_ms = SAMPLE_NOW_MS).sign(&sample.root.key);
    sample.meet(&[&der]);
    assert!(sample.knows(&[&der], NOW.plus(999)) && !sample.knows(&[&der], NOW.plus(1000)));
}

#[test]
fn the_dates_of_roots_for_sd_jwts_are_checked_each_time() {
    let mut sample = Sample::new();
    sample.doc_type = None;
    let short = sample.root.builder.clone().with(|root| root.not_after_ms = SAMPLE_NOW_MS + DAY_MS);
    sample.root = short.self_sign(&sample.root.key);
    sample.entry.sd_jwt_roots = [anchor(&sample.root)].into();
    let (der, end) = (sample.der(), NOW.plus(DAY_MS + 999));
    sample.meet(&[&der]);
    assert!(sample.knows(&[&der], NOW) && sample.knows(&[&der], end));
    assert!(!sample.knows(&[&der], end.plus(1)));
    let refused = sample.authenticate(&PROVIDER, &[&der], end.plus(1)).unwrap_err();
    assert_eq!(refused, Reason::CertificateExpired);
}

/// The search takes roots in order: one that becomes valid or expires may change the result.
#[test]
fn a_root_that_begins_or_ends_is_checked_again() {
    let mut sample = Sample::new();
    let generation = |first: u64, last: u64| {
        let root = sample.root.builder.clone().with(|root| {
            (root.not_before_ms, root.not_after_ms) = (SAMPLE_NOW_MS + first, SAMPLE_NOW_MS + last);
        });
        anchor(&root.self_sign(&sample.root.key))
    };
    let later = generation(DAY_MS, 3 * DAY_MS);
    let until_then = generation(0, 2 * DAY_MS);
    let found = |sample: &Sample, now| {
        let path = sample.authenticate(&PROVIDER, &[&sample.der()], now).unwrap();
        path.anchor_sha256
    };
    sample.entry.roots = [later.clone(), until_then.clone()].into();
    assert_eq!(found(&sample, NOW), until_then.sha256());
    assert!(sample.knows(&[&sample.der()], NOW.plus(DAY_MS - 1)));
    assert!(!sample.knows(&[&sample.der()], NOW.plus(DAY_MS)));
    assert_eq!(found(&sample, NOW.plus(DAY_MS)), later.sha256());
    assert_eq!(found(&sample, NOW), until_then.sha256());
}

#[test]
fn a_signer_is_cached_for_its_entry_document_type_and_mode_only() {
    let mut sample = Sample::new();
    let der = sample.der();
    sample.entry.roots = [anchor(&sample.root).with_doc_types([DocType::new(MDL)])].into();
    sample.meet(&[&der]);
    sample.doc_type = Some("org.iso.23220.photoid.1");
    assert_eq!(sample.authenticate(&PROVIDER, &[&der], NOW).unwrap_err(), Reason::UntrustedIssuer);
    sample.doc_type = Some(MDL);
    sample.livemode = false;
    assert!(!sample.knows(&[&der], NOW));
    sample.livemode = true;
    assert!(sample.knows(&[&der], NOW));
    sample.entry.issuer_id = IssuerId::new("erewhon");
    assert!(!sample.knows(&[&der], NOW));
}

#[test]
fn refused_signers_are_not_cached() {
    let sample = Sample::new();
    let stranger = SigningKey::from_seed(Curve::P256, "stranger");
    let forged = sample.signer("signer").sign(&stranger);
    let broken = sample.signer("signer").without("2.5.29.37").sign(&sample.root.key);
    for der in [&forged, &broken, &Vec::new()] {
        assert!(sample.authenticate(&PROVIDER, &[der], NOW).is_err());
    }
    assert_eq!(sample.count(), 0);
    // A known certificate with one changed byte is another certificate.
    let good = sample.der();
    sample.meet(&[&good]);
    let mut changed = good.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert!(sample.authenticate(&PROVIDER, &[&changed], NOW).is_err());
    assert_eq!(sample.count(), 1);
}

/// x5chain is not signed: its holder may add anything after the signer.
#[test]
fn additional_certificates_neither_change_nor_displace_entries() {
    let mut sample = Sample::new();
    let der = sample.der();
    sample.livemode = false;
    for junk in 0..20u8 {
        sample.meet(&[&der, &[junk; 40]]);
    }
    assert_eq!(sample.count(), 1);
    assert!(sample.knows(&[&der], NOW));
    let eleven = [&der[..]; 11];
    let refused = sample.authenticate(&PROVIDER, &eleven, NOW).unwrap_err();
    assert_eq!(refused, Reason::LimitExceeded);
}

#[test]
fn paths_over_intermediates_and_pinned_signers_are_not_cached() {
    let mut sample = Sample::new();
    sample.livemode = false;
    // ISO/IEC 18013-5 roots have pathLen 0, which allows no intermediate.
    let unlimited = x509::basic_constraints(true, None);
    let builder = sample.root.builder.clone().set(x509::BASIC_CONSTRAINTS, true, unlimited);
    sample.root = builder.self_sign(&sample.root.key);
    sample.entry.roots = vec![anchor(&sample.root)];
    let key = SigningKey::from_seed(Curve::P256, "intermediate");
    let name = Name::new("UT", "Between");
    let between = CertificateBuilder::intermediate(&sample.root, name, &key, SAMPLE_NOW_MS);
    let between = between.issue(&sample.root, &key);
    let below = between.document_signer(Curve::P256, SAMPLE_NOW_MS).der;
    sample.meet(&[&below, &between.der]);
    let der = sample.der();
    sample.entry.pinned_signers.push(PinnedSigner::from_der(&PROVIDER, &der).unwrap());
    sample.meet(&[&der]);
    assert_eq!(sample.count(), 0);
}

#[test]
fn memory_is_limited_and_signers_in_use_stay_cached() {
    let sample = Sample::new();
    let path = sample.authenticate(&PROVIDER, &[&sample.der()], NOW).unwrap();
    let stable = Stable { from: UnixMillis(0), until: UnixMillis(u64::MAX) };
    for number in 0..10 * MAX_KNOWN_SIGNERS {
        let other = key(
            &PROVIDER,
            &number.to_be_bytes(),
            Purpose { issuer: &sample.entry, doc_type: Some(MDL), livemode: true },
        );
        sample.known.keep(other, Known { path: path.clone(), stable });
        assert!(sample.count() <= 2 * MAX_KNOWN_SIGNERS);
        if number % 100 == 0 {
            assert!(sample.knows(&[&sample.der()], NOW), "{number}");
        }
    }
    let large = sample.signer("large").set("1.2.3.4", false, [7; MAX_KNOWN_SIGNER_BYTES].to_vec());
    let large = large.sign(&sample.root.key);
    sample.meet(&[&large]);
    assert!(!sample.knows(&[&large], NOW));
}

/// The root is trusted for both; the requirements on a signer differ.
#[test]
fn a_signer_cached_for_one_format_is_not_cached_for_the_other() {
    let mut sample = Sample::new();
    sample.entry.sd_jwt_roots = sample.entry.roots.clone();
    // An mdoc with an empty document type does not count as an SD-JWT VC either.
    sample.doc_type = Some("");
    let der = sample.der();
    let of_sd_jwt = |sample: &Sample, provider: &CryptoProvider| {
        let purpose = Purpose { issuer: &sample.entry, doc_type: None, livemode: true };
        sample.known.authenticate(provider, &[&der], purpose, NOW).is_ok()
    };
    sample.meet(&[&der]);
    assert!(sample.knows(&[&der], NOW) && !of_sd_jwt(&sample, &BLIND));
    assert!(of_sd_jwt(&sample, &PROVIDER) && of_sd_jwt(&sample, &BLIND));
    assert_eq!(sample.count(), 2);
    let sample = Sample { entry: sample.entry.clone(), ..Sample::new() };
    assert!(of_sd_jwt(&sample, &PROVIDER) && !sample.knows(&[&der], NOW));
}
