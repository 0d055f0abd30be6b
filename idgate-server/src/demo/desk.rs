//! A gateway in one of the two profiles, with its tenant, and what the sample wallet does there.

use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::wallet::{Body, Transcript, Wallet};
use serde_json::Value;

use super::client::Client;
use crate::config::RequestMode;
use crate::serve::RunningGateway;

/// A running gateway and who talks to it.
pub(super) struct Desk {
    pub(super) mode: RequestMode,
    pub(super) gateway: RunningGateway,
    pub(super) client: Client,
}

/// An answer that is ready to be posted.
pub(super) struct Posting {
    response_uri: String,
    body: Body,
    /// How the wallet came to trust the request, when it is signed.
    pub(super) signed_by: Option<String>,
}

impl Desk {
    /// What the profile is, in a few words.
    pub(super) const fn profile(&self) -> &'static str {
        match self.mode {
            RequestMode::Inline => "inline profile: the link is the request",
            RequestMode::Jar => "jar profile: signed request, encrypted answer",
        }
    }

    pub(super) async fn create_session(&self, request: &Value) -> Result<Value, String> {
        let created = self.client.tenant("POST", "/v1/sessions", Some(request)).await?;
        if created.status.is_success() { Ok(created.json()) } else { Err(created.text()) }
    }

    pub(super) async fn read(&self, session_id: &str) -> Result<Value, String> {
        let path = format!("/v1/sessions/{session_id}");
        Ok(self.client.tenant("GET", &path, None).await?.json())
    }

    /// What `wallet` answers to the request behind `link`.
    pub(super) async fn answer(
        &self,
        wallet: &Wallet,
        link: &str,
        now_ms: u64,
    ) -> Result<Posting, String> {
        if self.mode == RequestMode::Inline {
            let answer = wallet.answer_uri(link, now_ms).map_err(explain)?;
            let body = answer.form_body();
            return Ok(Posting { response_uri: answer.response_uri, body, signed_by: None });
        }
        let jar = self.fetch_request(link, now_ms).await?;
        let answer =
            wallet.answer_jar(&jar, Transcript::OpenId4Vp, false, now_ms).map_err(explain)?;
        let kid = jar.header.get("kid").and_then(Value::as_str).unwrap_or_default();
        let body = answer.form_body();
        Ok(Posting { response_uri: answer.response_uri, body, signed_by: Some(kid.into()) })
    }

    /// Status and body of the gateway's reply.
    pub(super) async fn post(&self, posting: &Posting) -> Result<String, String> {
        let path = self.path_of(&posting.response_uri)?;
        let Body { content_type, bytes } = posting.body.clone();
        let reply = self.client.wallet(path, &content_type, bytes).await?;
        Ok(format!("{} {}", reply.status.as_u16(), reply.text()))
    }

    /// The Request Object behind `link`, verified with the gateway's DID document.
    async fn fetch_request(&self, link: &str, now_ms: u64) -> Result<JarRequest, String> {
        let link = JarLink::parse(link).map_err(explain)?;
        let jwt = self.client.public(self.path_of(&link.request_uri)?).await?.text();
        let document = self.client.public(idgate_core::discovery::DID_DOCUMENT_PATH).await?.json();
        JarRequest::verify(&link, &jwt, &document, now_ms).map_err(explain)
    }

    fn path_of<'u>(&self, uri: &'u str) -> Result<&'u str, String> {
        let path = uri.strip_prefix(self.gateway.base_url());
        path.ok_or_else(|| "the request points elsewhere".into())
    }
}

fn explain(error: impl std::fmt::Display) -> String {
    error.to_string()
}
