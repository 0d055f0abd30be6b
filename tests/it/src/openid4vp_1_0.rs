//! OpenID4VP 1.0 and HAIP 1.0 over HTTP, following the modules of the OpenID Foundation's suite for
//! verifiers: every client identifier, both response modes, both formats. The suite must have no
//! findings about a request, and every wrong answer is rejected for its own reason.

mod agreement;
mod browsers;
mod errors;
mod iso_mdoc;
mod modules;
mod profiles;
mod refusals;
mod same_device;
mod switched_off;
mod tamper;

use idgate_testkit::codec::base64url;
use idgate_testkit::jws;
use idgate_testkit::openid4vp::{
    Answer, Expected, Fetched, Findings, Format, Keys, Link, Prefix, Request as Asked,
    WALLET_NONCE, check_reply,
};
use idgate_testkit::samples;
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::{Value, json};

use crate::certificates::{Ca, certify};
use crate::http::{Request, Response};
use crate::server::Installation;
use crate::tenant::{Created, Gateway, Tenant, now_ms, sample_trust, sample_wallet};

const HOST: &str = "https://gateway.example";
const REDIRECT_URI: &str = "https://shop.example/done";

/// One of the request forms of a verifier.
#[derive(Clone, Copy, Debug)]
struct Variant {
    profile: &'static str,
    prefix: Prefix,
    encrypted: bool,
}

const fn v1(prefix: Prefix, encrypted: bool) -> Variant {
    Variant { profile: "1.0", prefix, encrypted }
}

const HAIP: Variant = Variant { profile: "haip", prefix: Prefix::X509Hash, encrypted: true };

const VARIANTS: [Variant; 9] = [
    v1(Prefix::RedirectUri, false),
    v1(Prefix::RedirectUri, true),
    v1(Prefix::DecentralizedIdentifier, false),
    v1(Prefix::DecentralizedIdentifier, true),
    v1(Prefix::X509SanDns, false),
    v1(Prefix::X509SanDns, true),
    v1(Prefix::X509Hash, false),
    v1(Prefix::X509Hash, true),
    HAIP,
];

/// A gateway with one request form, and a wallet with an SD-JWT VC and an mdoc.
struct Desk {
    // Dropped before its directory.
    gateway: Gateway,
    tenant: Tenant,
    wallet: Wallet,
    variant: Variant,
    anchor: Vec<u8>,
    /// The keys that the wallet was asked to encrypt to.
    keys: Keys,
}

impl Variant {
    fn installation(self) -> Installation {
        let signed = self.prefix != Prefix::RedirectUri;
        let client_id = match self.prefix {
            Prefix::X509SanDns => "x509_san_dns",
            Prefix::X509Hash => "x509_hash",
            Prefix::RedirectUri | Prefix::DecentralizedIdentifier => "did",
        };
        let mode = if self.encrypted { "direct_post.jwt" } else { "direct_post" };
        Installation::new()
            .with("IDGATE_BASE_URL", HOST)
            .with("IDGATE_PROFILES", self.profile)
            .with("OID4VP_REQUEST_MODE", if signed { "jar" } else { "inline" })
            .with("IDGATE_CLIENT_ID", client_id)
            .with("IDGATE_RESPONSE_MODE", mode)
    }
}

impl Desk {
    fn start(variant: Variant) -> Self {
        Self::start_on(variant.installation(), variant)
    }

    fn start_on(installation: Installation, variant: Variant) -> Self {
        let licence = samples::issue_mdl(now_ms());
        let root = installation.file("iaca.der", &licence.root.der);
        let root = root.to_str().unwrap();
        let trusted = installation.run(&["trust", "add", samples::MDL_ISSUER, "--root", root]);
        assert_eq!(trusted.code, 0, "{trusted:?}");
        let ca = Ca::new();
        if variant.prefix.is_x509() {
            certify(&installation, &ca, 90, &[]);
        }
        let gateway = Gateway::trusting(installation, &sample_trust());
        let tenant = gateway.tenant();
        let wallet = sample_wallet().with_mdoc(licence.document);
        Self { gateway, tenant, wallet, variant, anchor: ca.root(), keys: Keys::default() }
    }

    /// A session that asks for one credential of each of these formats.
    fn create(&mut self, formats: &[Format]) -> Created {
        self.tenant.create(&self.body(formats))
    }

    fn body(&self, formats: &[Format]) -> Value {
        let credentials: Vec<Value> = formats.iter().copied().map(credential).collect();
        let mut body = json!({ "credentials": credentials });
        if self.variant.profile == "haip" {
            body["redirect_uri"] = REDIRECT_URI.into();
        }
        body
    }

    /// The request behind a session's link, without findings.
    #[track_caller]
    fn request(&mut self, created: &Created, formats: &[Format]) -> Asked {
        let (asked, findings) = self.read(&created.uri, formats, None);
        assert!(findings.is_empty(), "{:?}:\n{findings}", self.variant);
        assert_eq!(asked.query.refused_features(), Vec::<&str>::new());
        asked
    }

    fn read(
        &mut self,
        uri: &str,
        formats: &[Format],
        wallet_nonce: Option<&str>,
    ) -> (Asked, Findings) {
        let fetched = match Link::read(uri).0 {
            Link::ByValue(_) => None,
            Link::ByReference { request_uri, .. } => Some(self.fetch(&request_uri, wallet_nonce)),
        };
        let expected = Expected {
            prefix: self.variant.prefix,
            encrypted: self.variant.encrypted,
            formats: formats.to_vec(),
            haip: self.variant.profile == "haip",
            transaction_data: false,
            anchor: Some(self.anchor.clone()),
            did_document: Some(self.did_document()),
            now_ms: now_ms(),
        };
        Asked::read(uri, fetched.as_ref(), &expected, &mut self.keys)
    }

    /// By GET, or by POST if there is a nonce to send.
    fn fetch(&mut self, request_uri: &str, wallet_nonce: Option<&str>) -> Fetched {
        let request = match wallet_nonce {
            None => Request::get(path(request_uri)),
            Some(nonce) => Request::post(path(request_uri)).answer(&Link::fetch_form(nonce)),
        };
        let reply = self.tenant.http.send(&request).expect_status(200);
        Fetched {
            content_type: reply.header("content-type").unwrap_or_default().into(),
            jwt: String::from_utf8(reply.body).unwrap(),
            wallet_nonce: wallet_nonce.map(String::from),
        }
    }

    fn did_document(&mut self) -> Value {
        let reply = self.tenant.http.send(&Request::get("/.well-known/did.json"));
        if reply.status == 200 { reply.json() } else { Value::Null }
    }

    fn answer(&self, asked: &Asked) -> Answer {
        self.wallet.answer_1_0(asked, now_ms()).unwrap()
    }

    fn post(&mut self, response_uri: &str, body: &Body) -> Response {
        self.tenant.http.send(&Request::post(path(response_uri)).answer(body))
    }

    /// Posts an answer that is accepted, without findings about the reply. Returns where the
    /// browser goes next.
    #[track_caller]
    fn settle(&mut self, answer: &Answer) -> Option<String> {
        let reply = self.post(&answer.response_uri, &answer.body());
        let content_type = reply.header("content-type").unwrap_or_default();
        let same_device = self.variant.profile == "haip";
        let findings = check_reply(reply.status, content_type, &reply.body, same_device);
        let body = String::from_utf8_lossy(&reply.body);
        assert!(findings.is_empty(), "{:?}:\n{findings}{body}", self.variant);
        reply.json()["redirect_uri"].as_str().map(String::from)
    }

    /// The session as its tenant reads it, with the response code that the browser brought.
    fn result(&mut self, created: &Created, redirect_uri: Option<&str>) -> Value {
        let code = redirect_uri.and_then(|uri| uri.split_once("response_code="));
        let query = code.map_or(String::new(), |(_, code)| format!("?response_code={code}"));
        self.tenant.read(&format!("{}{query}", created.id))
    }

    /// One session from its creation to its result.
    #[track_caller]
    fn verified(&mut self, formats: &[Format]) -> Value {
        let created = self.create(formats);
        let asked = self.request(&created, formats);
        let redirect_uri = self.settle(&self.answer(&asked));
        let session = self.result(&created, redirect_uri.as_deref());
        assert_eq!(session["status"], "VERIFIED", "{:?}: {session}", self.variant);
        assert_eq!(session["claims"], claims(formats), "{:?}", self.variant);
        session
    }
}

const SD_JWT_VC: &[Format] = &[Format::SdJwtVc];
const MDOC: &[Format] = &[Format::Mdoc];
const BOTH: &[Format] = &[Format::SdJwtVc, Format::Mdoc];

fn credential(format: Format) -> Value {
    match format {
        Format::SdJwtVc => json!({ "id": "pid", "format": "vc+sd-jwt",
            "issuer_id": samples::ISSUER, "claims": ["given_name", "family_name"] }),
        Format::Mdoc => json!({ "id": "licence", "format": "mso_mdoc",
            "issuer_id": samples::MDL_ISSUER, "doc_type": idgate_testkit::mdoc::MDL,
            "namespace": idgate_testkit::mdoc::MDL_NAME_SPACE, "claims": ["family_name"] }),
    }
}

fn claims(formats: &[Format]) -> Value {
    let of = |format: &Format| match format {
        Format::SdJwtVc => {
            ("pid".into(), json!({ "given_name": "Erika", "family_name": "Mustermann" }))
        }
        Format::Mdoc => ("licence".into(), json!({ "family_name": "Mustermann" })),
    };
    Value::Object(formats.iter().map(of).collect())
}

/// The path of a URI below the gateway's base.
fn path(uri: &str) -> String {
    uri.strip_prefix(HOST).unwrap_or_else(|| panic!("{uri} is not below {HOST}")).into()
}
