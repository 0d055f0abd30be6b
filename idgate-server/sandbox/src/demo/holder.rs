//! How the sample wallet reads and answers requests of each profile.

use idgate_core::{DID_DOCUMENT_PATH, Profile};
use idgate_testkit::openid4vp::{
    Expected, Fetched, Format, Keys, Link, Prefix, Request, WALLET_NONCE,
};
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::wallet::{Body, Transcript, Wallet};
use serde_json::{Map, Value};

use super::desk::Desk;
use idgate_server::config::{ClientId, RequestMode, ResponseMode};

/// A request as the wallet read it, and the answer ready to be posted.
pub(super) struct Answered {
    /// The verifier's client identifier, as the wallet established it.
    pub(super) client_id: String,
    /// The query, and the name of its parameter.
    pub(super) query: (&'static str, Value),
    /// The response parameters before encryption.
    pub(super) parameters: Map<String, Value>,
    pub(super) response_uri: String,
    pub(super) body: Body,
}

impl Desk {
    /// The answer of `wallet` to the request behind `link`.
    pub(super) async fn answer(
        &self,
        wallet: &Wallet,
        link: &str,
        profile: Profile,
        format: Format,
        now_ms: u64,
    ) -> Result<Answered, String> {
        match profile {
            Profile::Draft if self.is_signed(profile) => {
                self.answer_signed_draft(wallet, link, now_ms).await
            }
            Profile::Draft => answer_draft(wallet, link, now_ms),
            _ => self.answer_1_0(wallet, link, profile, format, now_ms).await,
        }
    }

    /// Whether requests of this profile are signed and fetched.
    pub(super) fn is_signed(&self, profile: Profile) -> bool {
        profile == Profile::Haip || self.config.request_mode == RequestMode::Jar
    }

    /// Whether answers in this profile are encrypted.
    pub(super) fn is_encrypted(&self, profile: Profile) -> bool {
        match (profile, self.config.profiles.response_mode) {
            (Profile::V1_0, ResponseMode::DirectPost) => false,
            (Profile::V1_0, ResponseMode::DirectPostJwt) => true,
            _ => self.is_signed(profile),
        }
    }

    /// Whether links allow POST for the request.
    pub(super) fn announces_post(&self, profile: Profile) -> bool {
        self.config.profiles.announces_post && profile != Profile::Draft
    }

    async fn answer_1_0(
        &self,
        wallet: &Wallet,
        link: &str,
        profile: Profile,
        format: Format,
        now_ms: u64,
    ) -> Result<Answered, String> {
        let fetched = match Link::read(link).0 {
            Link::ByValue(_) => None,
            Link::ByReference { request_uri, post, .. } => {
                Some(self.fetch(&request_uri, post).await?)
            }
        };
        let prefix = self.prefix(profile);
        let by_did = prefix == Prefix::DecentralizedIdentifier;
        let expected = Expected {
            prefix,
            encrypted: self.is_encrypted(profile),
            formats: vec![format],
            haip: profile == Profile::Haip,
            transaction_data: false,
            anchor: self.authority.clone(),
            did_document: if by_did { Some(self.did_document().await?) } else { None },
            now_ms,
        };
        let (request, findings) =
            Request::read(link, fetched.as_ref(), &expected, &mut Keys::default());
        let is_plain = self.gateway.base_url().starts_with("http://");
        findings.refusal(is_plain).map_or(Ok(()), Err)?;
        let answer = wallet.answer_1_0(&request, now_ms).map_err(explain)?;
        Ok(Answered {
            query: ("dcql_query", request.query.json.clone()),
            client_id: request.client_id,
            body: answer.body(),
            parameters: answer.parameters,
            response_uri: answer.response_uri,
        })
    }

    async fn answer_signed_draft(
        &self,
        wallet: &Wallet,
        link: &str,
        now_ms: u64,
    ) -> Result<Answered, String> {
        let link = JarLink::parse(link).map_err(explain)?;
        let jwt = self.fetch(&link.request_uri, false).await?.jwt;
        let document = self.did_document().await?;
        let jar = JarRequest::verify(&link, &jwt, &document, now_ms).map_err(explain)?;
        let answer =
            wallet.answer_jar(&jar, Transcript::OpenId4Vp, false, now_ms).map_err(explain)?;
        let query = jar.claims.get(DEFINITION).cloned().unwrap_or_default();
        Ok(Answered {
            client_id: link.client_id,
            query: (DEFINITION, query),
            body: answer.form_body(),
            parameters: answer.payload,
            response_uri: answer.response_uri,
        })
    }

    /// Fetches the Request Object behind a link, by POST if the link allows it.
    async fn fetch(&self, request_uri: &str, post: bool) -> Result<Fetched, String> {
        let form = post.then(|| Link::fetch_form(WALLET_NONCE));
        let reply = self.wallet(request_uri, form.as_ref()).await?;
        Ok(Fetched::new(reply.text(), reply.content_type, post))
    }

    async fn did_document(&self) -> Result<Value, String> {
        let uri = format!("{}{DID_DOCUMENT_PATH}", self.gateway.base_url());
        Ok(self.wallet(&uri, None).await?.json())
    }

    fn prefix(&self, profile: Profile) -> Prefix {
        match (profile, self.config.profiles.client_id) {
            (Profile::Haip, _) => Prefix::X509Hash,
            _ if !self.is_signed(profile) => Prefix::RedirectUri,
            (_, ClientId::Did) => Prefix::DecentralizedIdentifier,
            (_, ClientId::X509SanDns) => Prefix::X509SanDns,
            (_, ClientId::X509Hash) => Prefix::X509Hash,
        }
    }
}

const DEFINITION: &str = "presentation_definition";

fn answer_draft(wallet: &Wallet, link: &str, now_ms: u64) -> Result<Answered, String> {
    let answer = wallet.answer_uri(link, now_ms).map_err(explain)?;
    let given = match Link::read(link).0 {
        Link::ByValue(given) => given,
        Link::ByReference { .. } => Map::new(),
    };
    let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
    Ok(Answered {
        client_id: text("client_id").to_owned(),
        query: (DEFINITION, serde_json::from_str(text(DEFINITION)).unwrap_or_default()),
        body: answer.form_body(),
        parameters: answer.parameters(),
        response_uri: answer.response_uri,
    })
}

fn explain(error: impl std::fmt::Display) -> String {
    error.to_string()
}
