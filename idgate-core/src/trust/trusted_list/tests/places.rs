//! The part of a long list that is searched for one credential.

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::trusted_list::{QC_STATEMENTS, provider, qc_type_pid};
use idgate_testkit::x509::{CertificateBuilder, Name};

use super::*;
use crate::trust::certificate::Certificate;
use crate::trust::listing::ListedBy;
use crate::trust::path::{authenticate_chain, authenticate_sd_jwt_chain};
use crate::trust::{TrustSnapshot, names};

const PROVIDERS: usize = 30;
const PID_DOC: &str = "eu.europa.ec.eudi.pid.1";

/// A provider's certificates.
struct Own {
    root: Identity,
    status: Identity,
    signer: Vec<u8>,
    /// A certificate below its root.
    below: Vec<u8>,
}

fn own(n: usize) -> Own {
    let key = |what: &str| SigningKey::from_seed(Curve::P256, format!("{what} {n}"));
    let root = |what: &str| {
        let name = Name::new("LU", &format!("{what} {n}"));
        CertificateBuilder::iaca_root(name, &key(what), NOW.0).self_sign(&key(what))
    };
    let (issuing, status) = (root("root"), root("status"));
    let of = |root: &Identity, what: &str| {
        CertificateBuilder::document_signer(root, Name::new("LU", what), &key(what), NOW.0)
            .set(QC_STATEMENTS, false, qc_type_pid())
            .sign(&root.key)
    };
    let elsewhere = root("elsewhere");
    Own { signer: of(&elsewhere, "signer"), below: of(&issuing, "below"), root: issuing, status }
}

fn long() -> (Vec<Own>, TrustEntry) {
    let owns: Vec<Own> = (0..PROVIDERS).map(own).collect();
    let list = owns.iter().enumerate().fold(made(Kind::Pid), |list, (n, own)| {
        let services = [
            Kind::Pid.issuance(&[&own.root.der, &own.signer]),
            Kind::Pid.revocation(&[&own.status.der]),
        ];
        list.with(provider(&format!("P{n}"), &format!("NTRLU-{n}"), "LU", &services))
    });
    (owns, fed(&import_made(&list).unwrap(), &ListTerms::default()))
}

#[test]
fn a_snapshot_searches_only_relevant_entries_with_the_same_outcome() {
    let (owns, entry) = long();
    let copy = entry.clone();
    let snapshot = TrustSnapshot::new(1, [entry]);
    let placed = snapshot.entry(&IssuerId::new("eu")).unwrap();
    let stranger = own(PROVIDERS);
    let known = owns.iter().map(|own| (own, true));
    for (own, is_known) in known.chain([(&stranger, false)]) {
        for leaf in [&own.below[..], &own.signer] {
            let verdicts = [placed, &copy].map(|entry| {
                let mdoc = authenticate_chain(&PROVIDER, &[leaf], entry, PID_DOC, true, NOW);
                let sd_jwt = authenticate_sd_jwt_chain(&PROVIDER, &[leaf], entry, true, NOW);
                assert_eq!((mdoc.is_ok(), sd_jwt.is_ok()), (is_known, is_known));
                format!("{mdoc:?} {sd_jwt:?}")
            });
            assert_eq!(verdicts[0], verdicts[1]);
        }
        let root = Certificate::parse(&own.root.der).unwrap();
        let name = [names::canonical(root.subject().as_raw()).unwrap()];
        let sha256 = PROVIDER.sha256(&own.root.der);
        let by = placed.roots_hashed(true, &sha256, true).next().and_then(|root| {
            let providers = root.listing()?.providers().cloned().collect();
            Some(ListedBy { list_type: ListType::Pid, list_sequence: 7, providers })
        });
        let counts = |entry: &TrustEntry| {
            [
                entry.roots_named(&name, true).count(),
                entry.sd_jwt_roots_named(&name, true).count(),
                entry.roots_hashed(true, &sha256, true).count(),
                entry.roots_hashed(false, &sha256, true).count(),
                entry.signers_with(true, &own.signer, true).count(),
                entry.signers_with(false, &own.signer, true).count(),
                entry.status_roots_of(by.as_ref(), true).count(),
            ]
        };
        assert_eq!(counts(placed), [usize::from(is_known); 7]);
        assert_eq!(counts(&copy), [PROVIDERS; 7], "a copy may change, so it is searched in full");
    }
}

#[test]
fn material_from_the_operator_counts_in_addition_to_a_list() {
    let (_, mut entry) = long();
    let own_root = own(PROVIDERS).status;
    let named = TrustAnchor::from_der(
        &PROVIDER,
        &own_root.der,
        crate::trust::anchors::RootOrigin::RootFile,
    );
    entry.status_roots.push(named.unwrap());
    let snapshot = TrustSnapshot::new(1, [entry]);
    let placed = snapshot.entry(&IssuerId::new("eu")).unwrap();
    let found: Vec<_> = placed.status_roots_of(None, true).map(TrustAnchor::sha256).collect();
    assert_eq!(found, [PROVIDER.sha256(&own_root.der)]);
}
