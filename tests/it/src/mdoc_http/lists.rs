//! Roots from a Master List that is imported while the server runs (decisions 3).

use idgate_testkit::codec::HashAlg;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::master_list::{MasterList, master_list_signer};
use idgate_testkit::time::DAY_MS;
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};

use serde_json::json;

use super::desk::Desk;
use crate::mdoc_tamper::{Authority, ISSUER_ID, VERIFIED, mdl_request};
use crate::server::{Installation, Output};
use crate::tenant::now_ms;

/// A publisher of lists, and the CA that the operator got from elsewhere.
struct Publisher {
    ca: Identity,
    signer: Identity,
}

impl Publisher {
    fn new() -> Self {
        let key = SigningKey::from_seed(Curve::P256, "list CA");
        let name = Name::new("UN", "Sample list CA");
        let ca = CertificateBuilder::iaca_root(name, &key, now_ms()).self_sign(&key);
        let signer = master_list_signer(&ca, now_ms());
        Self { ca, signer }
    }

    /// A list that was signed this many hours ago.
    fn list(&self, roots: &[&Identity], hours: u64) -> Vec<u8> {
        let roots: Vec<&[u8]> = roots.iter().map(|root| &*root.der).collect();
        MasterList::new(&roots, now_ms() - hours * DAY_MS / 24).sign(&self.signer)
    }

    fn import(&self, installation: &Installation, list: &[u8]) -> Output {
        let list = installation.file("list.ml", list);
        let ca = installation.file("list-ca.der", &self.ca.der);
        let (list, ca) = (list.to_str().unwrap(), ca.to_str().unwrap());
        let add = ["trust", "add", ISSUER_ID, "--master-list", list, "--master-list-signer-ca", ca];
        installation.run(&[&add[..], &["--revocation", "off", "--json"]].concat())
    }
}

fn stranger() -> Identity {
    let key = SigningKey::from_seed(Curve::P256, "a root that signs nothing here");
    CertificateBuilder::iaca_root(Name::new("UT", "Another IACA"), &key, now_ms()).self_sign(&key)
}

fn production() -> Installation {
    Installation::new().with("IDGATE_ENVIRONMENT", "production")
}

#[test]
fn a_live_session_in_production_trusts_a_root_of_an_imported_master_list() {
    let (publisher, installation) = (Publisher::new(), production());
    let client = installation.create_client("shop", false);
    let authority = Authority::new(now_ms());
    let import = publisher.import(&installation, &publisher.list(&[&authority.root], 1));
    assert_eq!(import.code, 0, "{import:?}");
    let mut desk = Desk::serve(installation, client, authority);
    let created = desk.tenant.create(&mdl_request());
    let body = desk.scenario(&created).body();
    assert_eq!(desk.settle(&created, &body), VERIFIED);
    let credential = &desk.tenant.read(&created.id)["verification_details"]["credentials"][0];
    assert_eq!(credential["trust"], "x5chain");
    assert_eq!(credential["trust_anchor_sha256"], desk.authority.root_sha256());
}

#[test]
fn a_master_list_or_vical_needs_the_right_signer_and_is_tamper_proof() {
    let (publisher, installation) = (Publisher::new(), production());
    let authority = Authority::new(now_ms());
    let good = publisher.list(&[&authority.root], 1);
    let by_others = {
        let mut other = Publisher::new();
        other.signer.key = SigningKey::from_seed(Curve::P256, "not the signer");
        other.list(&[&authority.root], 1)
    };
    // The CA is in the list, which proves nothing.
    let own_ca = {
        let key = SigningKey::from_seed(Curve::P256, "own CA");
        let ca =
            CertificateBuilder::iaca_root(publisher.ca.builder.subject.clone(), &key, now_ms());
        let ca = ca.self_sign(&key);
        MasterList::new(&[&authority.root.der, &ca.der], now_ms())
            .sign(&master_list_signer(&ca, now_ms()))
    };
    let ahead = MasterList::new(&[&authority.root.der], now_ms() + DAY_MS).sign(&publisher.signer);
    let flipped = |at: usize| {
        let mut changed = good.clone();
        changed[at] ^= 1;
        changed
    };
    let changes = (0..good.len()).step_by(good.len() / 8).map(flipped);
    for bad in changes.chain([by_others, own_ca, ahead]) {
        let import = publisher.import(&installation, &bad);
        assert_eq!(import.code, 1, "{import:?}");
    }
    assert_eq!(publisher.import(&installation, &good).code, 0);
}

#[test]
fn a_newer_list_replaces_the_old_one_and_an_older_one_is_rejected() {
    let (publisher, installation) = (Publisher::new(), production());
    let client = installation.create_client("shop", false);
    let (authority, other) = (Authority::new(now_ms()), stranger());
    let import = publisher.import(&installation, &publisher.list(&[&authority.root], 10));
    assert_eq!(import.code, 0, "{import:?}");
    let mut desk = Desk::serve(installation, client, authority);
    let root = desk.authority.root.clone();
    assert_eq!(desk.outcome_of(|_| {}), VERIFIED);
    for (roots, hours, expected, difference) in [
        (&[&other][..], 11, VERIFIED, None),
        (&[&other], 9, "chain_invalid", Some((1, 1))),
        (&[&other, &root], 8, VERIFIED, Some((1, 0))),
        (&[&other, &root], 8, VERIFIED, Some((0, 0))),
    ] {
        let list = publisher.list(roots, hours);
        let import = publisher.import(&desk.gateway.installation, &list);
        assert_eq!(import.code, i32::from(difference.is_none()), "{import:?}");
        if let Some((added, removed)) = difference {
            let report = &import.json()["imports"][0];
            assert_eq!((&report["added"], &report["removed"]), (&added.into(), &removed.into()));
        }
        assert_eq!(desk.outcome_of(|_| {}), expected, "{hours} hours old");
    }
}

#[test]
fn a_list_is_removed_by_the_hash_of_its_file_with_its_roots() {
    let (publisher, installation) = (Publisher::new(), production());
    let (authority, other) = (Authority::new(now_ms()), stranger());
    let list = publisher.list(&[&authority.root, &other], 1);
    assert_eq!(publisher.import(&installation, &list).code, 0);
    let show = || installation.run(&["trust", "show", ISSUER_ID, "--json"]).json();
    let hash: String = HashAlg::Sha256.hash(&list).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(show()["lists"][0]["sha256"], hash.as_str());
    let remove = ["trust", "remove", ISSUER_ID, "--sha256", &hash, "--json"];
    let removed = installation.run(&remove).json();
    let material = json!([{ "kind": "master_list", "sha256": hash, "roots": 2 }]);
    assert_eq!(removed["materials"], material);
    let shown = show();
    assert_eq!((&shown["lists"], &shown["roots"]), (&json!([]), &json!([])));
    // Now an older one can be imported.
    let older = publisher.list(&[&authority.root], 20);
    assert_eq!(publisher.import(&installation, &older).code, 0);
}
