//! A gateway, its tenant and a browser.

use std::sync::Arc;

use idgate_testkit::wallet::Body;
use serde_json::Value;

use super::holder::Answered;
use crate::way::{Reply, Way};
use idgate_base::clock::Clock;
use idgate_server::config::Config;
use idgate_server::serve::{self, RunningGateway};
use idgate_store::Store;

/// A running gateway and its callers.
pub(super) struct Desk {
    pub(super) config: Config,
    pub(super) gateway: RunningGateway,
    way: Way,
    pub(super) api_key: String,
    /// The CA certificate by which wallets trust verifiers.
    pub(super) authority: Option<Vec<u8>>,
}

impl Desk {
    /// Starts the gateway.
    pub(super) async fn open(
        config: Config,
        clock: Arc<dyn Clock>,
        store: Arc<Store>,
        api_key: &str,
        authority: Option<Vec<u8>>,
    ) -> Result<Self, String> {
        let gateway = serve::start(&config, clock, store).await?;
        let way = Way::default().over(gateway.base_url(), gateway.local_addr());
        Ok(Self { config, gateway, way, api_key: api_key.to_owned(), authority })
    }

    pub(super) async fn create_session(&self, request: &Value) -> Result<Value, String> {
        let created = self.tenant("POST", "/v1/sessions", Some(request)).await?;
        if created.status.is_success() { Ok(created.json()) } else { Err(created.text()) }
    }

    /// Reads the session; `code` is the `response_code` from the browser, if any.
    pub(super) async fn read(&self, session_id: &str, code: Option<&str>) -> Result<Value, String> {
        let query = code.map_or(String::new(), |code| format!("?response_code={code}"));
        let path = format!("/v1/sessions/{session_id}{query}");
        Ok(self.tenant("GET", &path, None).await?.json())
    }

    /// Posts a wallet's answer; returns the gateway's reply.
    pub(super) async fn post(&self, answered: &Answered) -> Result<Reply, String> {
        self.wallet(&answered.response_uri, Some(&answered.body)).await
    }

    /// Fetches a URI of the gateway as a wallet does, or posts to it.
    pub(super) async fn wallet(&self, uri: &str, body: Option<&Body>) -> Result<Reply, String> {
        if !uri.starts_with(self.gateway.base_url()) {
            return Err("the request points to another host".into());
        }
        let reply = match body {
            Some(body) => self.way.post(uri, body).await,
            None => self.way.get(uri).await,
        };
        reply.map_err(out_of_reach)
    }

    async fn tenant(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, String> {
        let url = format!("{}{path}", self.gateway.base_url());
        self.way.tenant(method, &url, &self.api_key, body).await.map_err(out_of_reach)
    }
}

fn out_of_reach(why: String) -> String {
    format!("the demo cannot reach its own gateway: {why}")
}
