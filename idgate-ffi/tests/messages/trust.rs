//! Wrong issuers and wrong trust material.

use std::ptr;

use idgate_ffi::*;
use idgate_testkit::keys::{Curve, pem};
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::x509::Identity;
use serde_json::json;

use super::shared::{self, add, add_issuer, ok};
use super::{NONE, NOW, Told, impossible};

pub(super) fn issuers(told: &mut Told) {
    let trust = shared::trust();
    let mut refused = |json: idgate_str| {
        // SAFETY: a live text, or one that is refused before it is read.
        told.of(|e| unsafe { idgate_trust_add_issuer(trust, json, e) });
    };
    impossible().into_iter().for_each(&mut refused);
    for json in [
        "",
        " ",
        "{",
        "}",
        "[]",
        "{}",
        "null",
        "7",
        "\"i\"",
        "{\"issuer_id\"}",
        "{\"issuer_id\":7}",
        "{\"issuer_id\":null}",
        "{\"issuer_id\":\"i\"} x",
        "{\"issuer_id\":\"i\",}",
        "{\"issuer_id\":\"i\",\"issuer_id\":\"i\"}",
        "{\"issuer_id\":\"\\ud800\"}",
        "{\"issuer_id\":\"i\"\n,\"vct\":}",
    ] {
        refused(json.into());
    }
    for (member, value) in [
        ("iss", json!(7)),
        ("any_iss", json!("yes")),
        ("vct", json!("a")),
        ("vct", json!([7])),
        ("vcts", json!([])),
        ("doc_types", json!({})),
        ("namespaces", json!(null)),
        ("claim_paths", json!([])),
        ("claim_paths", json!({ "a": [] })),
        ("claim_paths", json!({ "a": [0.5] })),
        ("claim_paths", json!({ "a": ["b", -1] })),
        ("claim_paths", json!({ "a": "b" })),
        ("default_claims", json!("a")),
        ("countries", json!(7)),
        ("mdoc_ekus", json!(["x"])),
        ("mdoc_ekus", json!(["1.2", "9.9"])),
        ("x5c_ekus", json!([""])),
        ("x5c_ekus", json!("1.2.3")),
        ("revocation", json!("maybe")),
        ("revocation", json!(true)),
        ("on_unknown_revocation", json!("maybe")),
        ("status_max_age_days", json!(0)),
        ("status_max_age_days", json!(3651)),
        ("status_max_age_days", json!("7")),
        ("status_max_age_days", json!(-1)),
        ("named_in_queries", json!(1)),
        ("trusted_list_urls", json!("a")),
        ("device_response_documents", json!("two")),
        ("issuing_country_unbound", json!(1)),
        ("ekus", json!([])),
        ("roots", json!([])),
    ] {
        let mut issuer = json!({ "issuer_id": ISSUER });
        issuer.as_object_mut().unwrap().insert(member.into(), value);
        refused(issuer.to_string().as_str().into());
    }
    ok(idgate_trust_free(trust));
}

pub(super) fn materials(told: &mut Told) {
    let trust = trusting();
    let der = Identity::iaca(Curve::P256, NOW).der;
    let pem = pem("CERTIFICATE", &der);
    let leaf = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let files: [&[u8]; 8] = [
        b"",
        b"x",
        b"{}",
        b"{\"keys\":[]}",
        b"{\"keys\":[{}]}",
        b"{\"kty\":\"oct\"}",
        leaf.as_bytes(),
        &[0x30],
    ];
    for kind in -1..=12 {
        for file in files {
            // SAFETY: live texts.
            told.of(|e| unsafe {
                idgate_trust_add_material(trust, ISSUER.into(), kind, file.into(), ptr::null(), e)
            });
        }
    }
    let size = size_of::<idgate_material_options>();
    let options = idgate_material_options {
        size,
        flags: 0,
        now_ms: NOW,
        signer_ca: NONE,
        report_out: ptr::null_mut(),
    };
    let wrong = [
        idgate_material_options { size: 0, ..options },
        idgate_material_options { size: size + 1, ..options },
        idgate_material_options { size: usize::MAX, ..options },
        idgate_material_options { flags: 4, ..options },
        idgate_material_options { report_out: ptr::without_provenance_mut(3), ..options },
        idgate_material_options { signer_ca: "no CA".into(), ..options },
        idgate_material_options { signer_ca: pem.as_str().into(), ..options },
        idgate_material_options { flags: 1, ..options },
        idgate_material_options { flags: 2, ..options },
    ];
    for options in wrong {
        for kind in [5, 6, 11] {
            // SAFETY: live texts, and a struct that is as long as its size says, or longer than any.
            told.of(|e| unsafe {
                idgate_trust_add_material(trust, ISSUER.into(), kind, "x".into(), &options, e)
            });
        }
    }
    // SAFETY: a live text; the struct is refused before it is read.
    told.of(|e| unsafe {
        let odd = ptr::without_provenance(3);
        idgate_trust_add_material(trust, ISSUER.into(), 1, "x".into(), odd, e)
    });
    for name in ["", "nobody"].map(idgate_str::from).into_iter().chain(impossible()) {
        // SAFETY: live texts, or ones that are refused before they are read.
        told.of(|e| unsafe {
            idgate_trust_add_material(trust, name, 3, (&*der).into(), ptr::null(), e)
        });
    }
    ok(idgate_trust_free(trust));
}

/// A trust with the issuer of the samples.
pub(super) fn trusting() -> *mut idgate_trust {
    let trust = shared::trust();
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    add_issuer(trust, &json!({ "issuer_id": ISSUER, "vct": [samples::VCT] }).to_string());
    add(trust, ISSUER, idgate_material::IDGATE_JWK, jwk.as_bytes(), &[], 0);
    add_issuer(trust, r#"{"issuer_id":"nothing"}"#);
    trust
}
