//! A verifier of every profile, and a wallet that reads its requests.

use std::sync::Arc;

use idgate_core::crypto::{
    Alg, Es256Key, RequestSigner, SignerUnavailable, SoftwareSigner, aws_lc_rs,
};
use idgate_core::error::{CreateError, NotAnAnswer, NotFetched};
use idgate_core::shell::discovery::{PublishedKey, did_document_json, did_web};
use idgate_core::shell::{
    ClientIdForm, Jwk, Offer, OfferId, PresentationRequest, ProfileOptions, RequestObjectJwt,
    SpokenProfiles, TrustEntry, TrustSnapshot, TrustedKey, roots_from_file,
};
use idgate_core::trust::DeviceResponseDocuments;
use idgate_core::verify::WalletReply;
use idgate_core::{
    Answer, Asked, DcApi, DcApiRequests, IssuerId, Mode, NewSession, Profile, Reader, ResponseMode,
    Scheme, Session, Step, TenantId, Trust, UnixMillis, Verification, Verifier,
};
use idgate_testkit::iso_mdoc::{IsoMdocRequest, PROTOCOL};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::openid4vp::{
    Certificate, Expected, Fetched, Findings, Format, Keys, Prefix, Request,
};
use idgate_testkit::samples;
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::wallet::{Body, Wallet};
use idgate_testkit::x509::{CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, dns_names};
use serde_json::{Value, json};

use crate::tamper::Counted;

pub(super) const BASE_URL: &str = "https://gateway.example:8443";
pub(super) const CREATED: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
pub(super) const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS + 5_000);

/// How a test's verifier creates its requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// `1.0` by value, plain or encrypted.
    Inline { encrypted: bool },
    /// `1.0` by reference with that client identifier, plain or encrypted.
    Jar { form: ClientIdForm, encrypted: bool },
    /// `haip`
    Haip,
}

pub(super) const WAYS: [Way; 7] = [
    Way::Inline { encrypted: false },
    Way::Inline { encrypted: true },
    Way::Jar { form: ClientIdForm::DecentralizedIdentifier, encrypted: true },
    Way::Jar { form: ClientIdForm::DecentralizedIdentifier, encrypted: false },
    Way::Jar { form: ClientIdForm::X509SanDns, encrypted: true },
    Way::Jar { form: ClientIdForm::X509Hash, encrypted: true },
    Way::Haip,
];

pub(super) struct Gateway {
    verifier: Verifier,
    entropy: Counted,
    anchor: Vec<u8>,
    keys: Keys,
}

/// A key with a certificate below a root that requests do not include.
#[derive(Debug)]
struct Certified {
    key: SigningKey,
    chain: Vec<Vec<u8>>,
}

impl RequestSigner for Certified {
    fn alg(&self) -> Alg {
        Alg::Es256
    }

    fn key_id(&self) -> &'static str {
        "certificate"
    }

    fn certificate_chain(&self) -> &[Vec<u8>] {
        &self.chain
    }

    fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignerUnavailable> {
        Ok(self.key.sign(signing_input))
    }
}

impl Way {
    fn options(self) -> ProfileOptions {
        let mut options = match self {
            Self::Inline { .. } | Self::Jar { .. } => {
                ProfileOptions::new([Profile::V1_0, Profile::Haip, Profile::Draft])
            }
            Self::Haip => ProfileOptions::new([Profile::Haip, Profile::V1_0, Profile::Draft]),
        };
        options.response_mode = match self.is_encrypted() {
            true => ResponseMode::Encrypted,
            false => ResponseMode::Plain,
        };
        if let Self::Jar { form, .. } = self {
            options.client_id_form = form;
        }
        options
    }

    pub(super) fn is_encrypted(self) -> bool {
        match self {
            Self::Inline { encrypted } | Self::Jar { encrypted, .. } => encrypted,
            Self::Haip => true,
        }
    }

    fn prefix(self) -> Prefix {
        match self {
            Self::Inline { .. } => Prefix::RedirectUri,
            Self::Jar { form: ClientIdForm::X509SanDns, .. } => Prefix::X509SanDns,
            Self::Jar { form: ClientIdForm::X509Hash, .. } | Self::Haip => Prefix::X509Hash,
            Self::Jar { .. } => Prefix::DecentralizedIdentifier,
        }
    }
}

impl Gateway {
    pub(super) fn of(way: Way) -> Self {
        Self::taking(way, DeviceResponseDocuments::default())
    }

    /// A verifier that accepts this many documents in a DeviceResponse.
    pub(super) fn taking(way: Way, documents: DeviceResponseDocuments) -> Self {
        Self::made(way, documents, DcApi::Off)
    }

    /// A verifier whose requests also go to browsers.
    pub(super) fn for_browsers(way: Way, dc_api: DcApi) -> Self {
        Self::made(way, DeviceResponseDocuments::default(), dc_api)
    }

    fn made(way: Way, documents: DeviceResponseDocuments, dc_api: DcApi) -> Self {
        let (certified, anchor) = certified();
        let did = Arc::new(SoftwareSigner::new(did_key(), key_id()));
        let trust = Trust::of_snapshot(idgate_core::crypto::counting::PROVIDER, trust(documents));
        let builder = Verifier::builder(trust).profiles([Profile::Draft]);
        let builder = match way {
            Way::Inline { .. } => builder.unsigned(BASE_URL),
            Way::Jar { .. } | Way::Haip => builder.signed(BASE_URL, did),
        };
        let mut options = way.options();
        options.dc_api = dc_api;
        let builder = builder.profile_options(options);
        let verifier = builder.signer(Arc::new(certified)).build().unwrap();
        Self { verifier, entropy: Counted::default(), anchor, keys: Keys::default() }
    }

    /// The first `bytes` bytes of the last chunk of entropy.
    pub(super) fn latest_entropy(&self, bytes: usize) -> Vec<u8> {
        self.entropy.latest()[..bytes].to_vec()
    }

    /// A test-mode session: the sample signer publishes no CRL.
    pub(super) fn create(&mut self, asked: &Value, profiles: &[Profile]) -> Session {
        self.create_for(asked, profiles, &[])
    }

    /// The same with pages on these origins, which pass the request to their browser.
    pub(super) fn create_for(
        &mut self,
        asked: &Value,
        profiles: &[Profile],
        origins: &[&str],
    ) -> Session {
        self.try_create(asked, profiles, origins, |request| request).unwrap()
    }

    /// The same with a changed request, if it can be created.
    pub(super) fn try_create(
        &mut self,
        asked: &Value,
        profiles: &[Profile],
        origins: &[&str],
        change: impl FnOnce(PresentationRequest) -> PresentationRequest,
    ) -> Result<Session, CreateError> {
        let body = asked.to_string();
        let request =
            self.verifier.resolve(body.as_bytes(), Mode::Test, &SpokenProfiles::default()).unwrap();
        let request = change(request.forced_into(profiles, origins));
        let (tenant, entropy) = (TenantId::new("cli_1"), &mut self.entropy);
        let made = self.verifier.create_resolved_session(
            request,
            NewSession::test().tenant(tenant),
            entropy,
            CREATED,
        );
        made.map(|made| made.session)
    }

    /// A session with everything that requests of 1.0 and HAIP may contain.
    pub(super) fn create_newer(&mut self, asked: &Value) -> Session {
        let spoken = SpokenProfiles::new([Profile::V1_0, Profile::Haip]);
        let body = asked.to_string();
        let request = self.verifier.resolve(body.as_bytes(), Mode::Test, &spoken);
        let (tenant, entropy) = (TenantId::new("cli_1"), &mut self.entropy);
        let made = self.verifier.create_resolved_session(
            request.unwrap(),
            NewSession::test().tenant(tenant),
            entropy,
            CREATED,
        );
        made.unwrap().session
    }

    /// A session under HAIP for a shop's page, with a member that drafts do not have.
    pub(super) fn create_with(&mut self, asked: &Value, member: &str, value: &Value) -> Session {
        let mut asked = asked.clone();
        asked[member] = value.clone();
        asked["dc_api"] = json!({ "origins": ["https://shop.example"] });
        let spoken = SpokenProfiles::new([Profile::Haip]).with_dc_api();
        let body = asked.to_string();
        let request = self.verifier.resolve(body.as_bytes(), Mode::Test, &spoken);
        let (tenant, entropy) = (TenantId::new("cli_1"), &mut self.entropy);
        let made = self.verifier.create_resolved_session(
            request.unwrap(),
            NewSession::test().tenant(tenant),
            entropy,
            CREATED,
        );
        made.unwrap().session
    }

    /// The request of the session's own offer, without findings.
    pub(super) fn read(&mut self, way: Way, session: &Session) -> Request {
        let (request, findings) = self.inspect(way, session);
        assert!(findings.is_empty(), "{way:?}: {findings}");
        request
    }

    /// The same with the findings of a strict wallet.
    pub(super) fn inspect(&mut self, way: Way, session: &Session) -> (Request, Findings) {
        let own = session.offer(None).unwrap();
        let fetched = own.request_uri().map(|_| {
            let asked = Asked::get(session.id().as_str());
            let jwt = self.verifier.request_object(session, &asked, CREATED).unwrap().jwt;
            Fetched {
                content_type: RequestObjectJwt::MEDIA_TYPE.into(),
                jwt: jwt.into_string(),
                wallet_nonce: None,
            }
        });
        let asked = session.request().credentials().iter();
        let expected = Expected {
            prefix: way.prefix(),
            encrypted: way.is_encrypted(),
            formats: asked
                .map(|asked| match asked.format().name() {
                    "mso_mdoc" => Format::Mdoc,
                    _ => Format::SdJwtVc,
                })
                .collect(),
            haip: matches!(way, Way::Haip),
            transaction_data: false,
            anchor: Some(self.anchor.clone()),
            did_document: Some(did_document()),
            now_ms: CREATED.0,
        };
        let link = session.invitation().qr_code_url;
        Request::read(&link, fetched.as_ref(), &expected, &mut self.keys)
    }

    /// Posts `body` to an offer. Returns the wallet's reply, and the session afterwards.
    pub(super) fn post_to(
        &mut self,
        session: &mut Session,
        offer: Option<&idgate_core::shell::OfferId>,
        body: &Body,
    ) -> Result<WalletReply, NotAnAnswer> {
        let response = Answer {
            to: offer.map_or(session.id().as_str(), OfferId::as_str),
            content_type: Some(&body.content_type),
            body: &body.bytes,
        };
        let begun = self.verifier.begin(session, response, &mut self.entropy, NOW);
        let (settled, reply) = finished(begun?)?;
        *session = settled;
        Ok(reply)
    }

    /// Relays the answer that a page got from its browser.
    pub(super) fn relay(
        &self,
        session: &mut Session,
        answer: &str,
    ) -> Result<WalletReply, NotAnAnswer> {
        let begun = self.verifier.begin(
            session,
            Answer::dc_api(answer.as_bytes()),
            &mut Counted::default(),
            NOW,
        );
        let (settled, reply) = finished(begun?)?;
        *session = settled;
        Ok(reply)
    }

    /// The requests to pass on, if any.
    pub(super) fn passed_on_or_not(&self, session: &Session) -> Result<DcApiRequests, NotFetched> {
        self.verifier.dc_api_requests(session, NOW)
    }

    /// The requests that a page on `origin` passes to its browser, each with its protocol.
    pub(super) fn passed_on(&self, session: &Session, origin: &str) -> Vec<(String, Request)> {
        let requests = self.verifier.dc_api_requests(session, CREATED).unwrap();
        let read = |(protocol, data): (&str, &str)| {
            let data = serde_json::from_str(data).unwrap();
            let request = Request::of_browser(protocol, &data, origin).unwrap();
            (protocol.to_owned(), request)
        };
        requests.iter().filter(|(protocol, _)| *protocol != PROTOCOL).map(read).collect()
    }

    /// The request for ISO/IEC TS 18013-7 Annex C, if there is one.
    pub(super) fn iso_mdoc(&self, session: &Session, origin: &str) -> Option<IsoMdocRequest> {
        let requests = self.verifier.dc_api_requests(session, CREATED).unwrap();
        let (_, data) = requests.iter().find(|(protocol, _)| *protocol == PROTOCOL)?;
        Some(IsoMdocRequest::read(&serde_json::from_str(data).unwrap(), origin).unwrap())
    }

    /// The root of its requests' certificate.
    pub(super) fn anchor(&self) -> Certificate {
        Certificate::read(&self.anchor).unwrap()
    }

    /// Posts to the session's own offer.
    pub(super) fn post(
        &mut self,
        session: &mut Session,
        body: &Body,
    ) -> Result<WalletReply, NotAnAnswer> {
        self.post_to(session, None, body)
    }

    /// Posts an answer that the wallet's suite has no findings about.
    pub(super) fn settle(
        &mut self,
        session: &mut Session,
        offer: Option<&idgate_core::shell::OfferId>,
        body: &Body,
    ) {
        let reply = self.post_to(session, offer, body);
        assert!(reply.as_ref().is_ok_and(|reply| reply.body().is_some()), "{reply:?}");
    }

    /// The signed request of a draft offer behind its link, as a draft wallet verifies it.
    pub(super) fn request_object(&self, session: &Session, offer: &Offer) -> String {
        let asked = Asked::get(session.handle_of(offer));
        self.verifier.request_object(session, &asked, CREATED).unwrap().jwt.into_string()
    }
}

fn finished(mut begun: Verification<'_>) -> Result<(Session, WalletReply), NotAnAnswer> {
    match begun.step()? {
        Step::Done(decision) => Ok((decision.transition.session, decision.reply)),
        step => panic!("nothing publishes a status here: {step:?}"),
    }
}

/// Claims and verification details of a VERIFIED session.
pub(super) fn result(session: &Session) -> (Value, Value) {
    let result = session.result(Reader::Backend, NOW).unwrap_or_else(|_| {
        panic!("not verified: {:?}", session.reason_at(NOW));
    });
    let json = |text: &str| serde_json::from_str(text).unwrap();
    (json(result.claims_json()), json(result.details_json()))
}

/// Holds Erika's identity and her driving licence.
pub(super) fn wallet() -> Wallet {
    let (sample, mdl) = (samples::issue_sample(CREATED.0), samples::issue_mdl(CREATED.0));
    Wallet::new(sample.holder_key).with(sample.credential).with_mdoc(mdl.document)
}

/// A query for `pid`, `mdl`, or both.
pub(super) fn asking(ids: &[&str]) -> Value {
    let credential = |id: &&str| match *id {
        "pid" => json!({"id": "pid", "format": "vc+sd-jwt", "issuer_id": samples::ISSUER,
            "claims": ["given_name"]}),
        _ => json!({"id": "mdl", "format": "mso_mdoc", "issuer_id": samples::MDL_ISSUER,
            "claims": ["family_name"]}),
    };
    json!({"credentials": ids.iter().map(credential).collect::<Vec<_>>(),
        "redirect_uri": "https://shop.example/done"})
}

pub(super) fn did_document() -> Value {
    let key = PublishedKey::new(key_id(), *did_key().public_key());
    serde_json::from_str(&did_document_json(&did_web(BASE_URL).unwrap(), &[key])).unwrap()
}

pub(super) fn scheme(profile: Profile) -> Scheme {
    if profile == Profile::Draft { Scheme::OpenId4Vp } else { Scheme::Haip }
}

fn did_key() -> Es256Key {
    Es256Key::from_scalar(&[9; 32]).unwrap()
}

fn key_id() -> String {
    format!("{}#key", did_web(BASE_URL).unwrap())
}

/// Returns the root as well.
fn certified() -> (Certified, Vec<u8>) {
    let root = Identity::iaca(Curve::P384, CREATED.0);
    let key = SigningKey::from_seed(Curve::P256, "verifier");
    let name = Name::new("UT", "Verifier");
    let leaf = CertificateBuilder::document_signer(&root, name, &key, CREATED.0)
        .set(SUBJECT_ALT_NAME, false, dns_names(&["gateway.example"]))
        .issue(&root, &key);
    (Certified { key, chain: vec![leaf.der] }, root.der)
}

/// Another entry of the issuer of [`samples::ISSUER`].
pub(super) const RENAMED: &str = "did:web:renamed.example";

fn trust(documents: DeviceResponseDocuments) -> Arc<TrustSnapshot> {
    let mut pid = TrustEntry::new(IssuerId::new(samples::ISSUER));
    let jwk = samples::issue_sample(CREATED.0).issuer_key.public_jwk().to_string();
    pid.keys.push(TrustedKey::new(Jwk::parse(jwk.as_bytes()).unwrap().key));
    pid.vct.push(samples::VCT.into());
    let mut mdl = TrustEntry::new(IssuerId::new(samples::MDL_ISSUER));
    mdl.roots =
        roots_from_file(&aws_lc_rs::PROVIDER, &samples::issue_mdl(CREATED.0).root.der).unwrap();
    mdl.device_response_documents = documents;
    let mut renamed = pid.clone();
    renamed.issuer_id = IssuerId::new(RENAMED);
    Arc::new(TrustSnapshot::new(1, [pid, mdl, renamed]))
}
