//! Refused presentations, and impossible expectations.

use std::ptr;

use idgate_ffi::*;
use idgate_testkit::samples::ISSUER;

use super::shared::{expected, ok};
use super::trust::trusting;
use super::{NONE, NOW, Told, bytes};

pub(super) fn presentations(told: &mut Told) {
    let trust = trusting();
    let mut out = bytes();
    let claims = ["given_name".into()];
    let client_id = "redirect_uri:https://shop.example";
    let good = expected(ISSUER, client_id, "the nonce", &claims);
    let mdoc = idgate_expected {
        format: 2,
        doc_type: "org.iso.18013.5.1.mDL".into(),
        name_space: "org.iso.18013.5.1".into(),
        response_uri: "https://shop.example".into(),
        ..good
    };
    let byte: &[u8] = &[0xff];
    let wrong = [
        good,
        mdoc,
        idgate_expected { size: 12, ..good },
        idgate_expected { format: 0, ..good },
        idgate_expected { mode: 9, ..good },
        idgate_expected { alg: "none".into(), ..good },
        idgate_expected { issuer_id: "https://nowhere.example".into(), ..good },
        idgate_expected { issuer_id: "nothing".into(), ..good },
        idgate_expected { nonce: byte.into(), ..good },
        idgate_expected { claims: ptr::null(), ..good },
        idgate_expected { claims_len: 1 << 20, ..good },
        idgate_expected { claims: ptr::without_provenance(3), ..good },
        idgate_expected { claim_paths: "[]".into(), ..good },
        idgate_expected { claim_paths: "{\"a\":[]}".into(), ..good },
        idgate_expected { claim_paths: "{".into(), ..good },
        idgate_expected { profile: 9, ..mdoc },
        idgate_expected { doc_type: NONE, ..mdoc },
        idgate_expected { name_space: NONE, ..mdoc },
        idgate_expected { response_uri: NONE, ..mdoc },
        idgate_expected { origin: "https://shop.example".into(), ..mdoc },
        idgate_expected { enc_key: "{}".into(), ..mdoc },
        idgate_expected { apu: "?".into(), ..mdoc },
    ];
    for expected in wrong {
        for presentation in ["", "x", "e30.e30.e30~", "e30.e30.e30~x~", "oWd2ZXJzaW9u"] {
            // SAFETY: live texts, and a place of its own; what is refused is not read.
            told.of(|e| unsafe {
                idgate_presentation_verify(trust, presentation.into(), &expected, NOW, &mut out, e)
            });
        }
    }
    ok(idgate_trust_free(trust));
}
