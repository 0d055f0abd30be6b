//! The routes that need no key, over real connections to the real program: what its process takes of
//! the processor, as the kernel counts it.

use idgate_testkit::jwe::Enc;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::wallet::{Body, JarAnswer, Transcript};

use super::encoded::{Filling, JSON};
use super::process::Meter;
use super::{ATTEMPTS, Costs, excess, pause, show};
use crate::http::{Http, Request};
use crate::server::Installation;
use crate::tenant::{
    Gateway, Tenant, answer_request, form, now_ms, request_for, sample_trust, wallet_with,
};

/// Makes a request of about so many bytes.
pub(super) type Generator = Box<dyn FnMut(usize) -> Request>;

/// One route, or several that do work of one kind.
struct Route {
    name: &'static str,
    full: usize,
    /// How many requests are measured together: the kernel counts precisely, but a server has
    /// other things to do, too, and they weigh more the less a request costs.
    together: usize,
    valid: Generator,
    worst: Vec<(&'static str, Generator)>,
}

pub(super) fn check() {
    let inline = Gateway::start();
    let jar = Installation::new().with("OID4VP_REQUEST_MODE", "jar");
    let jar = Gateway::trusting(jar, &sample_trust());
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for (gateway, routes) in [(&inline, inline_routes(&inline)), (&jar, jar_routes(&jar))] {
        let mut meter = Meter { pid: gateway.server.pid(), http: gateway.http() };
        for mut route in routes {
            wrong.extend(route.check(&mut meter, &mut table));
        }
    }
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
}

impl Route {
    fn check(&mut self, meter: &mut Meter, table: &mut String) -> Vec<String> {
        let sizes = [self.full / 4, self.full / 2, self.full];
        let together = self.together;
        let mut costs = |generate: &mut Generator| {
            Costs(sizes.map(|size| meter.measure(together, size, generate)))
        };
        let mut baseline = costs(&mut self.valid);
        show(table, self.name, "good", &baseline, &baseline);
        let mut wrong = Vec::new();
        for (title, generate) in &mut self.worst {
            for attempt in 0..ATTEMPTS {
                let found = costs(generate);
                let excess = excess(&found, &baseline);
                if excess.is_none() || attempt + 1 == ATTEMPTS {
                    show(table, self.name, title, &found, &baseline);
                    wrong.extend(excess.map(|what| format!("{}, {title}: {what}", self.name)));
                    break;
                }
                pause(attempt + 1);
                baseline = costs(&mut self.valid);
            }
        }
        wrong
    }
}

fn inline_routes(gateway: &Gateway) -> Vec<Route> {
    let session = gateway.tenant().create(&request_for(&["given_name"])).id;
    let response = format!("/v1/oid4vp/response/{session}");
    let post = |path: &str, content_type: &'static str, make: fn(usize) -> Vec<u8>| -> Generator {
        let path = path.to_owned();
        Box::new(move |size| {
            Request::post(&*path).header("Content-Type", content_type).bytes(make(size))
        })
    };
    const FORM: &str = "application/x-www-form-urlencoded";
    let mut json: Vec<(&'static str, Generator)> = Vec::new();
    for (title, fill) in dear_json() {
        json.push((title, post(&response, "application/json", *fill)));
    }
    json.push(("ones to no session", post("/v1/oid4vp/response/x", "application/json", JSON[0].1)));
    let forms = [
        ("names alone", post(&response, FORM, |size| "a&".repeat(size / 2).into_bytes())),
        (
            "escapes",
            post(&response, FORM, |size| {
                format!("state=a&vp_token={}", "%61".repeat(size / 3)).into_bytes()
            }),
        ),
        ("tildes", good_but(gateway, |size| "~".repeat(size))),
        (
            "a header of zeros",
            good_but(gateway, |size| {
                let header = idgate_testkit::codec::base64url(&JSON[0].1(size / 4 * 3));
                format!("{header}.e30.{}~e30.e30.AA", "A".repeat(86))
            }),
        ),
        ("to no session", post("/v1/oid4vp/response/x", FORM, |size| vec![b'a'; size])),
    ];
    vec![
        Route {
            name: "response, JSON",
            full: 448 * 1024,
            together: 6,
            valid: answers(gateway, |tenant, size| answer_of(tenant, size, true)),
            worst: json,
        },
        Route {
            name: "response, form",
            full: 448 * 1024,
            together: 6,
            valid: answers(gateway, |tenant, size| answer_of(tenant, size, false)),
            worst: forms.into_iter().collect(),
        },
        heads(&session),
        pages(&session),
        bodies_without_key(),
    ]
}

/// Those texts that cost the most.
fn dear_json() -> impl Iterator<Item = &'static Filling> {
    const DEAR: [&str; 6] = [
        "an array of ones",
        "objects of 16 members",
        "escaped names",
        "numbers at the edge of a double",
        "an escaped string",
        "white space",
    ];
    JSON.iter().filter(|(title, _)| DEAR.contains(title))
}

/// A good answer to a session of its own.
fn answers(gateway: &Gateway, make: fn(&mut Tenant, usize) -> Request) -> Generator {
    let mut tenant = gateway.tenant();
    Box::new(move |size| make(&mut tenant, size))
}

fn answer_of(tenant: &mut Tenant, size: usize, json: bool) -> Request {
    let created = tenant.create(&request_for(&["picture"]));
    let portrait = "p".repeat(size.saturating_sub(3000) / 4 * 3);
    let wallet = wallet_with(&[("picture", &portrait)]);
    if !json {
        return answer_request(&created.id, &form(&wallet, &created));
    }
    let answer = wallet.answer_uri(&created.uri, now_ms()).unwrap();
    answer_request(&created.id, &answer.json_body())
}

/// An answer to a session of its own that is good but for its token.
fn good_but(gateway: &Gateway, token: fn(usize) -> String) -> Generator {
    let mut tenant = gateway.tenant();
    let wallet = wallet_with(&[]);
    Box::new(move |size| {
        let created = tenant.create(&request_for(&["given_name"]));
        let answer = wallet.answer_uri(&created.uri, now_ms()).unwrap();
        let mut parameters = answer.parameters();
        parameters.insert("vp_token".into(), token(size).into());
        answer_request(&created.id, &Body::form(&parameters))
    })
}

/// A request without a body, and a header that makes it long.
fn padded(method: &'static str, path: &str, key: Option<&'static str>) -> Generator {
    let path = path.to_owned();
    Box::new(move |size| {
        let request = Request::new(method, &*path).header("X-Padding", "p".repeat(size));
        match key {
            Some(key) => request.bearer(key),
            None => request,
        }
    })
}

/// A request with a query of ampersands.
fn queried(path: &str) -> Generator {
    queried_with(path, "a&")
}

fn queried_with(path: &str, pair: &'static str) -> Generator {
    let path = path.to_owned();
    Box::new(move |size| Request::get(format!("{path}?{}", pair.repeat(size / pair.len()))))
}

/// What is answered from its head alone, against the cheapest of all answers.
fn heads(session: &str) -> Route {
    let get = |path: &str| padded("GET", path, None);
    let of_session = |rest: &str| format!("/v1/sessions/{session}{rest}");
    Route {
        name: "heads",
        full: 8 * 1024,
        together: 20,
        valid: get("/healthz"),
        worst: vec![
            ("no such path", get("/nope")),
            ("a long path", Box::new(|size| Request::get(format!("/{}", "a/".repeat(size / 2))))),
            ("a long query", queried("/healthz")),
            ("no such method", padded("PATCH", "/v1/sessions", None)),
            (
                "many headers",
                Box::new(|size| {
                    let headers = 0..(size / 100).min(80);
                    headers.fold(Request::get("/healthz"), |request, at| {
                        request.header(&format!("x-{at:04}"), "v".repeat(90))
                    })
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
                Box::new(|size| Request::get("/v1/api-keys").bearer(&"k".repeat(size))),
            ),
        ],
    }
}

/// What is looked up or composed before it is answered, against a link that a person follows.
fn pages(session: &str) -> Route {
    let get = |path: &str| padded("GET", path, None);
    let open = format!("/v1/sessions/{session}/open");
    Route {
        name: "pages",
        full: 8 * 1024,
        together: 20,
        valid: get(&open),
        worst: vec![
            ("a long query", queried(&open)),
            ("a query of escapes", queried_with(&open, "%&")),
            ("a query of almost its parameter", queried_with(&open, "%73chem&")),
            ("open, unknown", get("/v1/sessions/ses_0/open")),
            ("request object, unknown", get("/v1/oid4vp/request/ses_0")),
            ("did.json", get("/.well-known/did.json")),
            ("jwks.json", get("/.well-known/jwks.json")),
            ("readyz", get("/readyz")),
        ],
    }
}

/// Bodies to routes that ask for a key, against one that is read and found wrong.
fn bodies_without_key() -> Route {
    let post = |path: &'static str| -> Generator {
        Box::new(move |size| {
            Request::post(path).header("Content-Type", "application/json").bytes(JSON[0].1(size))
        })
    };
    Route {
        name: "bodies, no key",
        full: 64 * 1024,
        together: 20,
        valid: Box::new(|size| {
            Request::post("/v1/oid4vp/response/x")
                .header("Content-Type", "application/x-www-form-urlencoded")
                .bytes(vec![b'a'; size])
        }),
        worst: vec![
            ("sessions", post("/v1/sessions")),
            ("api-keys", post("/v1/api-keys")),
            ("rotate", post("/v1/api-keys/key_0/rotate")),
            ("retry", post("/v1/webhooks/failures/1/retry")),
            ("healthz", post("/healthz")),
        ],
    }
}

fn jar_routes(gateway: &Gateway) -> Vec<Route> {
    let mut tenant = gateway.tenant();
    let session = tenant.create(&request_for(&["given_name"])).id;
    let request_object = format!("/v1/oid4vp/request/{session}");
    let response = format!("/v1/oid4vp/response/{session}");
    let post = |path: &str, make: fn(usize) -> String| -> Generator {
        let path = path.to_owned();
        Box::new(move |size| {
            Request::post(&*path)
                .header("Content-Type", "application/x-www-form-urlencoded")
                .bytes(make(size))
        })
    };
    let fetched = move |size: usize| {
        let metadata = "m".repeat(size.saturating_sub(60));
        format!("wallet_nonce=abc&wallet_metadata={metadata}")
    };
    vec![
        Route {
            name: "request object",
            full: 60 * 1024,
            together: 10,
            valid: post(&request_object, fetched),
            worst: vec![
                ("names alone", post(&request_object, |size| "a&".repeat(size / 2))),
                (
                    "escapes",
                    post(&request_object, |size| {
                        format!("wallet_metadata={}", "%61".repeat(size / 3))
                    }),
                ),
                ("unknown", post("/v1/oid4vp/request/ses_0", |size| "a".repeat(size))),
                (
                    "a long nonce",
                    post(&request_object, |size| format!("wallet_nonce={}", "a".repeat(size))),
                ),
            ],
        },
        Route {
            name: "response, JWE",
            full: 448 * 1024,
            together: 6,
            valid: encrypted(gateway, |answer, size| answer.sized(size)),
            worst: vec![
                (
                    "an array of ones",
                    encrypted(gateway, |answer, size| answer.of(&JSON[0].1(size))),
                ),
                (
                    "a wrong tag",
                    encrypted(gateway, |answer, size| {
                        let text = answer.of(&vec![b' '; size]);
                        format!("{}{}", &text[..text.len() - 22], "A".repeat(22))
                    }),
                ),
                ("dots", post(&response, |size| format!("response={}", ".".repeat(size)))),
                (
                    "a header of all bytes",
                    post(&response, |size| format!("response={}..AA.AA.AA", "A".repeat(size))),
                ),
            ],
        },
    ]
}

/// The answer to a jar session in the making.
struct Encrypted {
    jar: JarRequest,
}

impl Encrypted {
    /// What wallets send, of about so many bytes.
    fn sized(&self, size: usize) -> String {
        let portrait = "p".repeat(size.saturating_sub(3000) / 16 * 9);
        let wallet = wallet_with(&[("picture", &portrait)]);
        let answer = wallet.answer_jar(&self.jar, Transcript::OpenId4Vp, false, now_ms());
        format!("response={}", answer.unwrap().jwe())
    }

    /// This plaintext, encrypted to the right key.
    fn of(&self, plaintext: &[u8]) -> String {
        let encryption = JarAnswer::encryption(&self.jar, Enc::A128Gcm, "wallet");
        let length = plaintext.len() / 4 * 3;
        format!("response={}", encryption.encrypt(&plaintext[..length]).unwrap().join("."))
    }
}

/// Posts what `make` makes to a session of its own.
fn encrypted(gateway: &Gateway, make: fn(&Encrypted, usize) -> String) -> Generator {
    let mut tenant = gateway.tenant();
    Box::new(move |size| {
        let created = tenant.create(&request_for(&["picture"]));
        let get = |http: &mut Http, path: String| http.send(&Request::get(path)).expect_status(200);
        let jwt = get(&mut tenant.http, format!("/v1/oid4vp/request/{}", created.id)).body;
        let did = get(&mut tenant.http, "/.well-known/did.json".into()).json();
        let link = JarLink::parse(&created.uri).unwrap();
        let jwt = String::from_utf8(jwt).unwrap();
        let jar = JarRequest::verify(&link, &jwt, &did, now_ms()).unwrap();
        Request::post(format!("/v1/oid4vp/response/{}", created.id))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .bytes(make(&Encrypted { jar }, size))
    })
}
