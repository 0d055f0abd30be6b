//! Requests that are answered from their heads, and bodies that are not read.

use idgate_testkit::costs::worst;

use super::{FORM, Generator, JSON, Row, posts, request};

/// A request without a body, made long by a header.
fn padded(method: &'static str, path: &str, key: Option<&'static str>) -> Generator {
    let path = path.to_owned();
    let key = key.map_or(String::new(), |key| format!("Authorization: Bearer {key}\r\n"));
    Box::new(move |_, size| {
        request(method, &path, &format!("{key}X-Padding: {}\r\n", "p".repeat(size)), b"")
    })
}

/// A request whose query repeats this pair.
fn queried(path: &str, pair: &'static str) -> Generator {
    let path = path.to_owned();
    Box::new(move |_, size| {
        request("GET", &format!("{path}?{}", pair.repeat(size / pair.len())), "", b"")
    })
}

/// Requests answered from the head alone, compared with the cheapest response.
pub(super) fn heads(session: &str) -> Row {
    let get = |path: &str| padded("GET", path, None);
    let of_session = |rest: &str| format!("/v1/sessions/{session}{rest}");
    Row {
        name: "heads",
        full: 8 * 1024,
        valid: get("/healthz"),
        status: 200,
        worst: vec![
            ("no such path", get("/nope")),
            (
                "a long path",
                Box::new(|_, size| request("GET", &format!("/{}", "a/".repeat(size / 2)), "", b"")),
            ),
            ("a long query", queried("/healthz", "a&")),
            ("no such method", padded("PATCH", "/v1/sessions", None)),
            (
                "many headers",
                Box::new(|_, size| {
                    let value = "v".repeat(90);
                    let headers =
                        (0..(size / 100).min(80)).map(|at| format!("x-{at:04}: {value}\r\n"));
                    request("GET", "/healthz", &headers.collect::<String>(), b"")
                }),
            ),
            ("session without key", get(&of_session(""))),
            ("session, wrong key", padded("GET", &of_session(""), Some("sk_test_x"))),
            ("stream without key", get(&of_session("/ws"))),
            ("keys without key", get("/v1/api-keys")),
            ("audit without key", get("/v1/audit-log")),
            ("deletion without key", padded("DELETE", &of_session(""), None)),
            ("metrics without token", get("/v1/admin/metrics")),
            (
                "a key of all bytes",
                Box::new(|_, size| {
                    let key = format!("Authorization: Bearer {}\r\n", "k".repeat(size));
                    request("GET", "/v1/api-keys", &key, b"")
                }),
            ),
        ],
    }
}

/// Requests that need a lookup or a page, compared with following a link.
pub(super) fn pages(session: &str) -> Row {
    let get = |path: &str| padded("GET", path, None);
    let open = format!("/v1/sessions/{session}/open");
    Row {
        name: "pages",
        full: 8 * 1024,
        valid: get(&open),
        status: 302,
        worst: vec![
            ("a long query", queried(&open, "a&")),
            ("a query of escapes", queried(&open, "%&")),
            ("a query of almost its parameter", queried(&open, "%73chem&")),
            ("open, unknown", get("/v1/sessions/ses_0/open")),
            ("request object, unknown", get("/v1/oid4vp/request/ses_0")),
            ("did.json", get("/.well-known/did.json")),
            ("jwks.json", get("/.well-known/jwks.json")),
            ("readyz", get("/readyz")),
        ],
    }
}

/// Bodies to routes that need a key, compared with a body that is read and found invalid.
pub(super) fn bodies_without_key() -> Row {
    let post = |path: &str| posts(path, JSON, worst::JSON[0].1);
    Row {
        name: "bodies, no key",
        full: 64 * 1024,
        valid: posts("/v1/oid4vp/response/x", FORM, |size| vec![b'a'; size]),
        status: 409,
        worst: vec![
            ("sessions", post("/v1/sessions")),
            ("api-keys", post("/v1/api-keys")),
            ("rotate", post("/v1/api-keys/key_0/rotate")),
            ("retry", post("/v1/webhooks/failures/1/retry")),
            ("healthz", post("/healthz")),
        ],
    }
}
