//! European trusted lists.

use idgate_core::UnixMillis;
use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{ListAnchors, ListRules, import_trusted_list};
use idgate_testkit::jws::{sign_jws, x5c};
use idgate_testkit::keys::Curve;
use idgate_testkit::trusted_list::{Kind, TrustedList, list_signer, provider};
use idgate_testkit::x509::Identity;
use serde_json::{Value, json};

use crate::hostile::NOW_MS;
use crate::hostile::cost::Row;
use crate::hostile::cost::encoded::{JSON, wrapped};

const NOW: UnixMillis = UnixMillis(NOW_MS);
const FULL: usize = 512 * 1024;

pub(super) fn trusted_list() -> Row {
    let anchors = ListAnchors::from_file(&PROVIDER, &list_signer(NOW_MS).der).unwrap();
    Row {
        name: "trusted list",
        full: FULL,
        read: Box::new(move |file| {
            drop(import_trusted_list(&PROVIDER, file, &ListRules::new(&anchors), NOW));
            drop(import_trusted_list(&PROVIDER, file, &ListRules::for_tests(), NOW));
        }),
        valid: Box::new(|size| list(size).sign(&list_signer(NOW_MS)).into_bytes()),
        worst: wrapped(JSON, |size, fill| {
            let filling = fill(size * 3 / 4);
            signed(&[br#"{"LoTE":"#, &filling[..], b"}"].concat())
        }),
    }
}

/// One of at least that size: a provider takes some 1540 characters when it is signed.
fn list(size: usize) -> TrustedList {
    let root = Identity::issuer_root(Curve::P256, NOW_MS);
    let services = [Kind::Pid.issuance(&[&root.der])];
    let providers: Vec<Value> = (0..(size / 1500).max(1))
        .map(|n| provider("P", &format!("NTRLU-{n}"), "LU", &services))
        .collect();
    let mut list = TrustedList::new(Kind::Pid, NOW_MS);
    list.payload["LoTE"]["TrustedEntitiesList"] = Value::Array(providers);
    list
}

fn signed(payload: &[u8]) -> Vec<u8> {
    let signer = list_signer(NOW_MS);
    let header = json!({ "alg": "ES256", "iat": NOW_MS / 1000, "x5c": x5c(&[&signer.der]) });
    let payload = std::str::from_utf8(payload).unwrap();
    sign_jws(&signer.key, &header.to_string(), payload).into_bytes()
}
