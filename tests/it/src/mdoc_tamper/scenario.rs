//! A good mdoc answer to a session, which can be changed before it is signed and posted.

use idgate_testkit::codec::{HashAlg, base64url};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{
    Cbor, DeviceProof, Document, IssuerSigned, device_response, openid4vp, rfc3339,
};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::wallet::{Answer, Body};
use idgate_testkit::x509::{CertificateBuilder, Identity};
use serde_json::{Value, json};

/// The trust entry of the sample root.
pub const ISSUER_ID: &str = "https://iaca.example";

/// A root and a document signer.
#[derive(Clone, Debug)]
pub struct Authority {
    /// The root to trust.
    pub root: Identity,
    /// Signs the documents.
    pub signer: Identity,
}

/// An answer in the making.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The authority that signed the document.
    pub authority: Authority,
    /// The presented document.
    pub document: Document,
    /// The request that is answered.
    pub request: AuthorizationRequest,
    /// The transcript that the device signs.
    pub transcript: Vec<u8>,
    /// The kind of device proof.
    pub proof: DeviceProof,
    /// The last change before the response is encoded.
    pub response: fn(&mut Cbor),
    /// The last change of its bytes.
    pub bytes: fn(&mut Vec<u8>),
    /// The last change of its text.
    pub encoding: fn(&mut String),
    /// When the wallet answers.
    pub now_ms: u64,
}

impl Authority {
    /// A root and a signer on P-256, valid at `now_ms`.
    pub fn new(now_ms: u64) -> Self {
        let root = Identity::iaca(Curve::P256, now_ms);
        let signer = root.document_signer(Curve::P256, now_ms);
        Self { root, signer }
    }

    /// The same signer key with a certificate that was changed before it was signed.
    pub fn certify(&mut self, change: impl FnOnce(CertificateBuilder) -> CertificateBuilder) {
        let builder = change(self.signer.builder.clone());
        self.signer = builder.issue(&self.root, &self.signer.key);
    }

    /// `trust_anchor_sha256` of the root.
    pub fn root_sha256(&self) -> String {
        HashAlg::Sha256.hash(&self.root.der).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Scenario {
    /// A good answer to `request`, signed at `now_ms`.
    pub fn answering(authority: &Authority, request: AuthorizationRequest, now_ms: u64) -> Self {
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

    /// The data that the issuer signed.
    pub fn issued(&mut self) -> &mut IssuerSigned {
        &mut self.document.issuer_signed
    }

    /// Recomputes the digests after items were changed.
    pub fn digest(&mut self) {
        self.issued().digest(HashAlg::Sha256);
    }

    /// Uses a certificate that was changed before it was signed.
    pub fn certify(&mut self, change: impl FnOnce(CertificateBuilder) -> CertificateBuilder) {
        self.authority.certify(change);
        let leaf = Cbor::Bytes(self.authority.signer.der.clone());
        self.issued().unprotected.set(33, leaf);
    }

    /// Sets validityInfo to offsets from now in seconds.
    pub fn dates(&mut self, signed: i64, valid_from: i64, valid_until: i64) {
        let now_ms = self.now_ms;
        let members = [("signed", signed), ("validFrom", valid_from), ("validUntil", valid_until)];
        for (name, offset) in members {
            let at = now_ms.saturating_add_signed(offset * 1000);
            self.issued().mso.at("validityInfo").set(name, Cbor::tdate(&rfc3339(at)));
        }
    }

    /// The presentation in the form of `vp_token`.
    pub fn text(&self) -> String {
        let mut response =
            device_response(vec![self.document.prove(&self.transcript, &self.proof)]);
        (self.response)(&mut response);
        let mut bytes = response.encode();
        (self.bytes)(&mut bytes);
        let mut text = base64url(&bytes);
        (self.encoding)(&mut text);
        text
    }

    /// The presentation and its submission.
    pub fn answer(&self) -> Answer {
        Answer::new(&self.request, vec![self.text()])
    }

    /// The answer as a form.
    pub fn body(&self) -> Body {
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
pub fn mdl_request() -> Value {
    json!({ "credentials": [mdl(&["family_name", "age_over_18"])] })
}

/// These elements of an mDL.
pub fn mdl(claims: &[&str]) -> Value {
    json!({ "id": "mdl", "format": "mso_mdoc", "issuer_id": ISSUER_ID, "claims": claims })
}
