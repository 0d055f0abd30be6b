//! Wrong choices for fetching, and notifications that are not genuine.

use std::ptr;

use idgate_ffi::*;

use super::{NONE, NOW, Told, bytes};

pub(super) fn fetchers_and_webhooks(told: &mut Told) {
    let (mut made, mut out) = (ptr::null_mut(), bytes());
    let size = size_of::<idgate_fetch_options>();
    for range in ["", "x", "10.0.0.1/8", "10.0.0.0/33", "::/129", "localhost"] {
        let allow = [idgate_str::from(range)];
        let options =
            idgate_fetch_options { size, allow: allow.as_ptr(), allow_len: 1, roots: NONE };
        // SAFETY: live texts, and a place of its own.
        told.of(|e| unsafe { idgate_fetcher_new(&options, &mut made, e) });
    }
    let allow: [idgate_str; 0] = [];
    let none = idgate_fetch_options { size, allow: allow.as_ptr(), allow_len: 0, roots: NONE };
    for options in [
        idgate_fetch_options { roots: "x".into(), ..none },
        idgate_fetch_options { roots: "".into(), ..none },
        idgate_fetch_options { allow: ptr::null(), allow_len: 1, ..none },
        idgate_fetch_options { size: 9, ..none },
    ] {
        // SAFETY: live texts, and a place of its own.
        told.of(|e| unsafe { idgate_fetcher_new(&options, &mut made, e) });
    }
    let secret = idgate_str::from("a secret of some length");
    let attempt = idgate_webhook_attempt {
        size: size_of::<idgate_webhook_attempt>(),
        id: "whf_1".into(),
        number: 1,
        body: "{}".into(),
        previous_secret: NONE,
    };
    let webhook = idgate_webhook {
        size: size_of::<idgate_webhook>(),
        scheme: 1,
        id: NONE,
        timestamp: "1".into(),
        signature: "x".into(),
        body: "{}".into(),
        tolerance_ms: 0,
    };
    // SAFETY: live texts, and places of their own.
    unsafe {
        told.of(|e| idgate_webhook_headers("short".into(), &attempt, NOW, &mut out, e));
        told.of(|e| idgate_webhook_headers(secret, ptr::null(), NOW, &mut out, e));
        for attempt in [
            idgate_webhook_attempt { previous_secret: "".into(), ..attempt },
            idgate_webhook_attempt { number: u64::MAX, ..attempt },
            idgate_webhook_attempt { size: 1, ..attempt },
        ] {
            told.of(|e| idgate_webhook_headers(secret, &attempt, NOW, &mut out, e));
        }
        told.of(|e| idgate_webhook_verify("short".into(), &webhook, NOW, e));
        for webhook in [
            webhook,
            idgate_webhook { scheme: 2, ..webhook },
            idgate_webhook { scheme: 0, ..webhook },
            idgate_webhook { scheme: 1 << 40, ..webhook },
            idgate_webhook { timestamp: "x".into(), ..webhook },
            idgate_webhook { timestamp: NONE, signature: NONE, ..webhook },
            idgate_webhook { size: 0, ..webhook },
        ] {
            told.of(|e| idgate_webhook_verify(secret, &webhook, NOW, e));
        }
    }
}
