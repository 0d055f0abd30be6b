//! The rules of the issuers: each refusal has its specified error and changes nothing.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod attested;
mod credential;
mod metadata;
mod notification;
mod offer;
mod proof;
mod token;

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use hyper::{Request, Response};
use idgate_core::UnixMillis;
use idgate_server::http::AddedRoutes as _;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::openid4vci::WalletJwt;
use idgate_testkit::time::SAMPLE_NOW_MS;
use serde_json::{Value, json};

use super::offers::PRE_AUTHORIZED;
use super::*;

const BASE: &str = "https://sandbox.example";
const PLAIN: &str = "https://sandbox.example/vci";
const ATTESTED: &str = "https://sandbox.example/vci-attested";

/// A clock that moves only when a test moves it.
struct StillClock(AtomicU64);

impl Clock for StillClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.load(Ordering::SeqCst))
    }
}

/// Two issuers and a wallet.
struct Desk {
    phones: Arc<Phones>,
    routes: PhoneRoutes,
    clock: Arc<StillClock>,
    _folder: tempfile::TempDir,
}

/// A response.
#[derive(Debug)]
struct Reply {
    status: u16,
    body: Value,
    response: Response<Bytes>,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        self.response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status and error code.
    fn outcome(&self) -> (u16, &str) {
        (self.status, self.body["error"].as_str().unwrap_or_default())
    }

    fn text(&self, member: &str) -> String {
        let text = self.body[member].as_str().unwrap_or_else(|| panic!("no {member}: {self:?}"));
        text.to_owned()
    }
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(StillClock(AtomicU64::new(SAMPLE_NOW_MS)));
        let [provider, _] = Provider::all("a seed", SAMPLE_NOW_MS, "http://localhost");
        let lists = format!("{BASE}/vci");
        let phones = Phones::new(&provider, BASE, &lists, folder.path(), clock.clone()).unwrap();
        let (phones, routes) = (Arc::new(phones), PhoneRoutes::default());
        routes.open(phones.clone());
        Self { phones, routes, clock, _folder: folder }
    }

    fn now(&self) -> u64 {
        self.clock.now().0
    }

    fn pass(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let response = self.routes.answer(&head, body.map(Bytes::copy_from_slice));
        let body = serde_json::from_slice(response.body()).unwrap_or_default();
        Reply { status: response.status().as_u16(), body, response }
    }

    fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], Some(b""))
    }

    fn form(&self, path: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Reply {
        let mut form = form_urlencoded::Serializer::new(String::new());
        for (name, value) in fields {
            form.append_pair(name, value);
        }
        let own = [("content-type", "application/x-www-form-urlencoded")];
        self.send("POST", path, &[&own, headers].concat(), Some(form.finish().as_bytes()))
    }

    fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
        let own = [("content-type", "application/json")];
        self.send("POST", path, &[&own, headers].concat(), Some(body.to_string().as_bytes()))
    }

    fn offer(&self, sample: Sample) -> Made {
        self.offer_with(sample, |wish| wish)
    }

    fn offer_with(&self, sample: Sample, change: impl FnOnce(Wish) -> Wish) -> Made {
        let wish =
            Wish { sample, by_reference: false, tx_code: false, attested: false, haip: false };
        self.phones.offer(change(wish)).unwrap()
    }

    /// A bearer token for a new offer.
    fn token(&self, sample: Sample) -> String {
        self.redeem(&self.offer(sample), &[]).text("access_token")
    }

    /// Requests a token from the plain issuer.
    fn redeem(&self, made: &Made, more: &[(&str, &str)]) -> Reply {
        let code = code_of(made);
        let fields = [("grant_type", PRE_AUTHORIZED), ("pre-authorized_code", &*code)];
        self.form("/vci/token", &[], &[&fields[..], more].concat())
    }

    fn nonce(&self) -> String {
        self.send("POST", "/vci/nonce", &[], Some(b"")).text("c_nonce")
    }

    /// A valid proof for this key.
    fn proof(&self, key: &SigningKey) -> WalletJwt {
        WalletJwt::proof(key, PLAIN, &self.nonce(), self.now())
    }

    /// Requests a credential from the plain issuer.
    fn credential(&self, token: &str, body: &Value) -> Reply {
        let bearer = format!("Bearer {token}");
        self.post("/vci/credential", &[("authorization", &bearer)], body)
    }

    fn state_of(&self, made: &Made) -> (Progress, Option<&'static str>) {
        let line = self.phones.offers().into_iter().find(|line| line.id == made.id).unwrap();
        (line.progress, line.rule)
    }

    /// The number of samples of the offer.
    fn issued(&self, made: &Made) -> usize {
        self.phones.offers().iter().find(|line| line.id == made.id).unwrap().issued
    }
}

fn key(seed: &str) -> SigningKey {
    SigningKey::from_seed(Curve::P256, seed)
}

fn code_of(made: &Made) -> String {
    let grant = &made.credential_offer["grants"][PRE_AUTHORIZED];
    grant["pre-authorized_code"].as_str().unwrap().to_owned()
}

/// A request by configuration with these proofs of type `jwt`.
fn request(sample: Sample, proofs: &[String]) -> Value {
    json!({ "credential_configuration_id": sample.id(), "proofs": { "jwt": proofs } })
}
