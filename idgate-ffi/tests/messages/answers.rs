//! Bodies that are not answers, and fetches of requests that do not exist.

use std::mem::MaybeUninit;
use std::ptr;

use idgate_ffi::*;
use serde_json::Value;

use super::sessions::{freed, good_request, new_session};
use super::shared::{ok, taken};
use super::verifiers::verifier;
use super::{NONE, NOW, Told, bytes};

pub(super) fn answers(told: &mut Told) {
    let verifier = verifier(&[2, 1]);
    let (mut made, mut info) = (MaybeUninit::uninit(), bytes());
    let request = good_request().to_string();
    // SAFETY: live texts, and places of their own; what is read was written with OK.
    let made: idgate_transition = unsafe {
        let (request, new, out) = (request.as_str().into(), new_session(2), made.as_mut_ptr());
        ok(idgate_session_create(verifier, request, &new, NOW, out, ptr::null_mut()));
        made.assume_init()
    };
    // SAFETY: a live handle, and a place of its own.
    ok(unsafe { idgate_session_info(made.session, NOW, &mut info, ptr::null_mut()) });
    let info: Value = serde_json::from_slice(&taken(info)).unwrap();
    let handle = info.get("session_id").and_then(Value::as_str).unwrap();
    let (mut begun, mut step) = (ptr::null_mut(), ptr::null_mut());
    let form = idgate_str::from("application/x-www-form-urlencoded");
    let json = idgate_str::from("application/json");
    let size = size_of::<idgate_answer>();
    let posted = |content_type: idgate_str, body: &str| idgate_answer {
        size,
        to: handle.into(),
        content_type,
        body: body.into(),
        from_page: 0,
    };
    let large = "a".repeat(2 << 20);
    let mut wrong: Vec<idgate_answer> = [
        "",
        "x",
        "state=",
        "state=x",
        "state=x&state=y",
        "%zz",
        "vp_token=x",
        "state=x&vp_token=%7B%7D",
        "response=x",
        "response=a.b.c.d.e",
        "error=x",
        "error=access_denied",
        "state=x&error=a&vp_token=b",
        "a=b\r\n",
        large.as_str(),
    ]
    .into_iter()
    .map(|body| posted(form, body))
    .collect();
    wrong.extend([posted(NONE, "state=x"), posted(json, "{}"), posted("".into(), "x")]);
    wrong.extend([
        idgate_answer { to: NONE, ..posted(form, "x") },
        idgate_answer { to: "off_1".into(), ..posted(form, "state=x") },
        idgate_answer { from_page: 1, ..posted(form, "{}") },
        idgate_answer { from_page: 2, ..posted(form, "{}") },
        idgate_answer { size: size + 4, ..posted(form, "{}") },
    ]);
    for body in
        ["", "{}", "[]", "{\"protocol\":7}", "{\"protocol\":\"openid4vp-v1-unsigned\",\"data\":{}}"]
    {
        wrong.push(idgate_answer {
            to: NONE,
            content_type: NONE,
            from_page: 1,
            ..posted(NONE, body)
        });
    }
    for answer in wrong {
        // SAFETY: live texts, and places of their own; a size that is refused is not believed.
        told.of(|e| unsafe {
            idgate_verification_begin(verifier, made.session, &answer, NOW, &mut begun, e)
        });
    }
    let asked = idgate_asked {
        size: size_of::<idgate_asked>(),
        to: handle.into(),
        content_type: NONE,
        body: NONE,
        wallet_nonce: NONE,
    };
    let wrong = [
        asked,
        idgate_asked { to: NONE, ..asked },
        idgate_asked { to: "off_1".into(), ..asked },
        idgate_asked { content_type: json, ..asked },
        idgate_asked { content_type: form, body: "wallet_nonce=a&wallet_nonce=b".into(), ..asked },
        idgate_asked { content_type: form, body: "wallet_nonce=%zz".into(), ..asked },
        idgate_asked { body: "wallet_nonce=a".into(), ..asked },
        idgate_asked { body: "a".into(), wallet_nonce: "a".into(), ..asked },
        idgate_asked { size: 0, ..asked },
    ];
    for asked in wrong {
        // SAFETY: live texts, and places of their own.
        told.of(|e| unsafe {
            idgate_request_object(verifier, made.session, &asked, NOW, &mut step, e)
        });
    }
    let mut out = bytes();
    // SAFETY: live handles, and a place of its own.
    told.of(|e| unsafe { idgate_dc_api_requests(verifier, made.session, NOW, &mut out, e) });
    freed(made);
    ok(idgate_verifier_free(verifier));
}
