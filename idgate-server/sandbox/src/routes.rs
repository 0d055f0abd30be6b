//! The second listener, on loopback only: the console, what the issuers publish, and the webhook
//! receiver.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, LOCATION, ORIGIN,
    REFERRER_POLICY,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use idgate_testkit::keys::pem;

use super::console::{self, Done, Form};
use super::offers;
use super::serving::{Sent, answer, body_of, sentence};
use super::state::{LISTS, State, lock};

const HTML: &str = "text/html; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const JWT: &str = "application/jwt";
const PEM: &str = "application/x-pem-file";
/// Loads nothing from elsewhere, and allows no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Answers a request to the second listener, whose address is `own`.
pub(super) async fn handle(
    state: Arc<State>,
    own: SocketAddr,
    request: Request<Incoming>,
) -> Response<Sent> {
    // DNS rebinding: a foreign host name that resolves to this address could let another page read
    // this one.
    if !is_own_host(request.headers().get(HOST), own) {
        let text = format!("this is http://{own}/; it answers only under that name");
        return sentence(StatusCode::MISDIRECTED_REQUEST, &text);
    }
    if is_forwarded(request.headers()) {
        let text = "the request was forwarded by a proxy or a tunnel; this listener serves this machine only";
        return sentence(StatusCode::FORBIDDEN, text);
    }
    if request.method() == Method::POST && !is_of_own_page(request.headers(), own) {
        let text = "only the page itself and programs on this machine may do that";
        return sentence(StatusCode::FORBIDDEN, text);
    }
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    match (method, &*path) {
        (Method::GET | Method::HEAD, path) => get(&state, path).await,
        (Method::POST, "/webhooks") => webhook(&state, request).await,
        (Method::POST, path) if path.starts_with(offers::PATH) => {
            let path = path.to_owned();
            match body_of(request).await {
                Some(body) => offers::post(&state, &path, &body),
                None => sentence(StatusCode::PAYLOAD_TOO_LARGE, "the request did not arrive"),
            }
        }
        (Method::POST, path) => {
            let path = path.to_owned();
            let Some(body) = body_of(request).await else {
                return sentence(StatusCode::PAYLOAD_TOO_LARGE, "the form did not arrive");
            };
            let form = Form(form_urlencoded::parse(&body).into_owned().collect());
            post(&state, &path, &form).await
        }
        _ => {
            let mut refused = sentence(StatusCode::METHOD_NOT_ALLOWED, "GET and POST only");
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
            refused
        }
    }
}

/// The public files of the issuers, also served by the sandbox's https; `None` if there is no file
/// at this path.
pub(super) fn published(state: &State, path: &str) -> Option<Response<Sent>> {
    let ok = |media_type, body: Vec<u8>| Some(answer(StatusCode::OK, media_type, body));
    let certificate = |der: &[u8]| ok(PEM, pem("CERTIFICATE", der).into_bytes());
    let [first, _] = &state.providers;
    match path {
        // The media type with which phones offer to install it.
        "/files/ca.pem" => {
            let pem = pem("CERTIFICATE", &state.authority.der);
            return ok("application/x-x509-ca-cert", pem.into_bytes());
        }
        "/files/phone-ca.pem" => {
            let pem = pem("CERTIFICATE", &state.phone_authority.as_ref()?.der);
            return ok("application/x-x509-ca-cert", pem.into_bytes());
        }
        "/files/list-signer.pem" => return certificate(&state.list_signer.der),
        "/files/iaca.pem" => return certificate(&first.root.der),
        "/files/issuer.jwk.json" => {
            return ok("application/json", first.key.public_jwk().to_string().into_bytes());
        }
        _ => {}
    }
    let at = LISTS.iter().position(|(_, list)| *list == path);
    if let Some(token) = at.and_then(|at| lock(&state.lists).tokens.get(at).cloned()) {
        return ok(JWT, token.into_bytes());
    }
    if let Some(what) = path.strip_prefix("/vci/")
        && let Some((media_type, bytes)) = state.phones.published(what)
    {
        return ok(media_type, bytes);
    }
    let (provider, what) = path.strip_prefix("/issuers/")?.split_once('/')?;
    let provider = state.providers.iter().find(|one| one.is.key == provider)?;
    let now_ms = state.now_ms();
    match what {
        "crl" => ok("application/pkix-crl", provider.crl(now_ms)),
        "status.jwt" => ok("application/statuslist+jwt", provider.status_jwt(now_ms).into_bytes()),
        "status.cwt" => ok("application/statuslist+cwt", provider.status_cwt(now_ms)),
        _ => None,
    }
}

async fn get(state: &Arc<State>, path: &str) -> Response<Sent> {
    match path {
        offers::PATH => return offers::list(state),
        "/console.css" => return answer(StatusCode::OK, "text/css; charset=utf-8", console::STYLE),
        "/console.js" => return answer(StatusCode::OK, JAVASCRIPT, console::SCRIPT),
        "/icon.svg" => return answer(StatusCode::OK, "image/svg+xml", console::ICON),
        // The `redirect_uri` of sessions that were created on the console leads here.
        "/done" => return see("/"),
        _ => {}
    }
    match console::page(state, path).await {
        Ok(Some(page)) => whole(page.status, page.html),
        Ok(None) => published(state, path).unwrap_or_else(no_such_place),
        Err(why) => sentence(StatusCode::INTERNAL_SERVER_ERROR, &why),
    }
}

fn no_such_place() -> Response<Sent> {
    sentence(StatusCode::NOT_FOUND, "there is nothing here")
}

fn whole(status: StatusCode, html: String) -> Response<Sent> {
    let mut response = answer(status, HTML, html);
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // For the console's own requests, so that they carry their origin.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

async fn webhook(state: &State, request: Request<Incoming>) -> Response<Sent> {
    let headers = request.headers().clone();
    let Some(body) = body_of(request).await else {
        return sentence(StatusCode::PAYLOAD_TOO_LARGE, "the notification did not arrive");
    };
    let now = state.clock.now();
    let good = lock(&state.deliveries).take(&headers, &body, &state.secret, now);
    match good {
        true => sentence(StatusCode::OK, "taken"),
        false => {
            sentence(StatusCode::BAD_REQUEST, "the signature was not made with the signing secret")
        }
    }
}

async fn post(state: &Arc<State>, path: &str, form: &Form) -> Response<Sent> {
    match console::post(state, path, form).await {
        Some(Done::See(path)) => see(&path),
        Some(Done::Secrets(html)) => whole(StatusCode::OK, html),
        None => no_such_place(),
    }
}

/// Leads to a path of the console.
fn see(path: &str) -> Response<Sent> {
    let mut response = sentence(StatusCode::SEE_OTHER, "see the console");
    let path = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, path);
    response
}

fn is_own_host(host: Option<&HeaderValue>, own: SocketAddr) -> bool {
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    own_hosts(own).iter().any(|own| own == host)
}

fn own_hosts(own: SocketAddr) -> [String; 2] {
    [own.to_string(), format!("localhost:{}", own.port())]
}

/// Whether a proxy or a tunnel forwarded the request. A tunnel that leads here by mistake would
/// open the console to the world, under a name that its operator chooses.
fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().map(HeaderName::as_str).any(|name| {
        matches!(name, "forwarded" | "via" | "x-real-ip" | "true-client-ip")
            || name.starts_with("x-forwarded-")
            || name.starts_with("cf-")
    })
}

/// Whether the console's own page or a program sent the request. Browsers name the origin of a
/// form; programs send none.
fn is_of_own_page(headers: &HeaderMap, own: SocketAddr) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let origin = text(ORIGIN.as_str());
    let is_ours =
        |origin: &str| own_hosts(own).iter().any(|host| origin == format!("http://{host}"));
    let site = text("sec-fetch-site");
    origin.is_none_or(is_ours) && site.is_none_or(|site| site == "same-origin" || site == "none")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn own() -> SocketAddr {
        "127.0.0.1:8081".parse().unwrap()
    }

    #[test]
    fn it_answers_only_to_its_own_names() {
        let is_own = |host: &'static str| is_own_host(Some(&HeaderValue::from_static(host)), own());
        assert!(is_own("127.0.0.1:8081") && is_own("localhost:8081"));
        for other in [
            "",
            "127.0.0.1",
            "127.0.0.1:8080",
            "evil.example:8081",
            "localhost:8081.",
            "0.0.0.0:8081",
        ] {
            assert!(!is_own(other), "{other}");
        }
        assert!(!is_own_host(None, own()));
    }

    #[test]
    fn headers_show_that_a_tunnel_or_a_proxy_forwarded_a_request() {
        let forwarded = |name: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static("127.0.0.1:8081"));
            headers.insert(name, HeaderValue::from_static("192.0.2.1"));
            is_forwarded(&headers)
        };
        for name in ["x-forwarded-for", "cf-connecting-ip", "cf-ray", "forwarded", "via"] {
            assert!(forwarded(name), "{name}");
        }
        for name in ["user-agent", "accept", "x-request-id", "webhook-id"] {
            assert!(!forwarded(name), "{name}");
        }
    }

    #[test]
    fn a_form_of_another_page_does_nothing() {
        let allowed = |headers: &[(&'static str, &'static str)]| {
            let headers = headers
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
            is_of_own_page(&headers.collect(), own())
        };
        assert!(allowed(&[]));
        assert!(allowed(&[("origin", "http://localhost:8081"), ("sec-fetch-site", "same-origin")]));
        for other in [
            &[("origin", "https://evil.example")][..],
            &[("origin", "null")],
            &[("origin", "http://localhost:3000")],
            &[("origin", "http://localhost:8081"), ("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "cross-site")],
        ] {
            assert!(!allowed(other), "{other:?}");
        }
    }
}
