//! A good mdoc answer to a session, open to any change before it is signed and posted.

use idgate_testkit::codec::{HashAlg, base64url};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{
    Cbor, DeviceProof, Document, IssuerSigned, device_response, openid4vp, rfc3339,
};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::wallet::{Answer, Body};
use idgate_testkit::x509::{CertificateBuilder, Identity};
use serde_json::{Value, json};

use super::VERIFIED;
use crate::server::{Client, Installation};
use crate::tenant::{Created, Gateway, Tenant, now_ms};

/// The trust entry of the sample root.
pub(super) const ISSUER_ID: &str = "https://iaca.example";

/// A root and a document signer.
#[derive(Clone, Debug)]
pub(super) struct Authority {
    pub(super) root: Identity,
    pub(super) signer: Identity,
}

/// A server that trusts an authority, and a tenant.
pub(super) struct Desk {
    // Dropped before the directory that it works in.
    pub(super) gateway: Gateway,
    pub(super) tenant: Tenant,
    pub(super) authority: Authority,
}

/// An answer in the making.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) authority: Authority,
    pub(super) document: Document,
    pub(super) request: AuthorizationRequest,
    pub(super) transcript: Vec<u8>,
    pub(super) proof: DeviceProof,
    /// The last change before the response is encoded.
    pub(super) response: fn(&mut Cbor),
    /// The last change of its bytes.
    pub(super) bytes: fn(&mut Vec<u8>),
    /// The last change of its text.
    pub(super) encoding: fn(&mut String),
    pub(super) now_ms: u64,
}

impl Authority {
    pub(super) fn new(now_ms: u64) -> Self {
        let root = Identity::iaca(Curve::P256, now_ms);
        let signer = root.document_signer(Curve::P256, now_ms);
        Self { root, signer }
    }

    /// The same signer's key with a certificate that was changed before it was signed.
    pub(super) fn certify(
        &mut self,
        change: impl FnOnce(CertificateBuilder) -> CertificateBuilder,
    ) {
        let builder = change(self.signer.builder.clone());
        self.signer = builder.issue(&self.root, &self.signer.key);
    }

    pub(super) fn root_sha256(&self) -> String {
        HashAlg::Sha256.hash(&self.root.der).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Desk {
    /// A client of this mode, and the sample root with these options of `trust add`.
    pub(super) fn start(installation: Installation, test: bool, options: &[&str]) -> Self {
        let client = installation.create_client("shop", test);
        let authority = Authority::new(now_ms());
        add_root(&installation, &authority, options);
        Self::serve(installation, client, authority)
    }

    pub(super) fn serve(installation: Installation, client: Client, authority: Authority) -> Self {
        let server = installation.serve();
        let gateway = Gateway { server, client, installation };
        let tenant = gateway.tenant();
        Self { gateway, tenant, authority }
    }

    /// A good answer to a session.
    pub(super) fn scenario(&self, created: &Created) -> Scenario {
        Scenario::new(&self.authority, created)
    }

    /// VERIFIED, or the reason for which a changed answer to a new session is refused.
    pub(super) fn outcome_of(&mut self, change: impl FnOnce(&mut Scenario)) -> String {
        let created = self.tenant.create(&mdl_request());
        let mut scenario = self.scenario(&created);
        change(&mut scenario);
        self.settle(&created, &scenario.body())
    }

    /// Posts an answer; the HTTP answer, the status and the reason must agree.
    pub(super) fn settle(&mut self, created: &Created, body: &Body) -> String {
        let reply = self.tenant.post_answer(&created.id, body);
        let session = self.tenant.read(&created.id);
        let text = |member: &str| session[member].as_str().unwrap_or_default().to_owned();
        match (reply.status, text("status").as_str()) {
            (200, VERIFIED) => VERIFIED.into(),
            (400, "FAILED") if reply.error() == "invalid_presentation" => {
                assert!(session.get("claims").is_none(), "{session}");
                text("reason")
            }
            (status, _) => format!("HTTP {status} and {session}"),
        }
    }
}

/// Trusts the root of `authority`.
#[track_caller]
pub(super) fn add_root(installation: &Installation, authority: &Authority, options: &[&str]) {
    let root = installation.file("iaca.der", &authority.root.der);
    let add = ["trust", "add", ISSUER_ID, "--root", root.to_str().unwrap()];
    let output = installation.run(&[&add, options].concat());
    assert_eq!(output.code, 0, "{output:?}");
}

impl Scenario {
    pub(super) fn new(authority: &Authority, created: &Created) -> Self {
        Self::answering(authority, AuthorizationRequest::parse(&created.uri).unwrap())
    }

    pub(super) fn answering(authority: &Authority, request: AuthorizationRequest) -> Self {
        let now_ms = now_ms();
        let device = SigningKey::from_seed(Curve::P256, "device");
        let chain = [authority.signer.der.clone()];
        let key = &authority.signer.key;
        let issued = IssuerSigned::mdl(&elements(), key, &chain, &device, now_ms);
        let transcript = openid4vp(&request.client_id, &request.nonce, None, &request.response_uri);
        Self {
            authority: authority.clone(),
            document: Document::new(issued, &device),
            request,
            transcript,
            proof: DeviceProof::Signature,
            response: |_| {},
            bytes: |_| {},
            encoding: |_| {},
            now_ms,
        }
    }

    pub(super) fn issued(&mut self) -> &mut IssuerSigned {
        &mut self.document.issuer_signed
    }

    /// Makes the digests anew, after items were changed.
    pub(super) fn digest(&mut self) {
        self.issued().digest(HashAlg::Sha256);
    }

    /// Signed under a certificate that was changed before it was signed.
    pub(super) fn certify(
        &mut self,
        change: impl FnOnce(CertificateBuilder) -> CertificateBuilder,
    ) {
        self.authority.certify(change);
        let leaf = Cbor::Bytes(self.authority.signer.der.clone());
        self.issued().unprotected.set(33, leaf);
    }

    /// Sets validityInfo to offsets from now in seconds.
    pub(super) fn dates(&mut self, signed: i64, valid_from: i64, valid_until: i64) {
        let now_ms = self.now_ms;
        let members = [("signed", signed), ("validFrom", valid_from), ("validUntil", valid_until)];
        for (name, offset) in members {
            let at = now_ms.saturating_add_signed(offset * 1000);
            self.issued().mso.at("validityInfo").set(name, Cbor::tdate(&rfc3339(at)));
        }
    }

    /// The presentation as vp_token carries it.
    pub(super) fn text(&self) -> String {
        let mut response =
            device_response(vec![self.document.prove(&self.transcript, &self.proof)]);
        (self.response)(&mut response);
        let mut bytes = response.encode();
        (self.bytes)(&mut bytes);
        let mut text = base64url(&bytes);
        (self.encoding)(&mut text);
        text
    }

    pub(super) fn answer(&self) -> Answer {
        Answer::new(&self.request, vec![self.text()])
    }

    pub(super) fn body(&self) -> Body {
        self.answer().form_body()
    }
}

fn elements() -> [(&'static str, Cbor); 5] {
    [
        ("family_name", "Mustermann".into()),
        ("birth_date", Cbor::full_date("1984-01-26")),
        ("age_over_18", true.into()),
        ("issuing_country", "UT".into()),
        ("portrait", Cbor::Bytes(vec![7; 64])),
    ]
}

/// Two elements of an mDL.
pub(super) fn mdl_request() -> Value {
    json!({ "credentials": [mdl(&["family_name", "age_over_18"])] })
}

pub(super) fn mdl(claims: &[&str]) -> Value {
    json!({ "id": "mdl", "format": "mso_mdoc", "issuer_id": ISSUER_ID, "claims": claims })
}
