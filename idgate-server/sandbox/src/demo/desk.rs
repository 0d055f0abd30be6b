//! A gateway with its tenant, and what the tenant and a browser do there.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;

use super::client::{Answer, Client};
use super::holder::Answered;
use idgate_base::clock::Clock;
use idgate_server::config::Config;
use idgate_server::serve::{self, RunningGateway};
use idgate_store::Store;

/// A running gateway and who talks to it.
pub(super) struct Desk {
    pub(super) config: Config,
    pub(super) gateway: RunningGateway,
    pub(super) client: Client,
    /// The CA's certificate that wallets trust in verifiers.
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
        let address: SocketAddr = gateway.local_addr();
        let client = Client { address, api_key: api_key.to_owned() };
        Ok(Self { config, gateway, client, authority })
    }

    pub(super) async fn create_session(&self, request: &Value) -> Result<Value, String> {
        let created = self.client.tenant("POST", "/v1/sessions", Some(request)).await?;
        if created.status.is_success() { Ok(created.json()) } else { Err(created.text()) }
    }

    /// The session, with the code that the browser brought, if any.
    pub(super) async fn read(&self, session_id: &str, code: Option<&str>) -> Result<Value, String> {
        let query = code.map_or(String::new(), |code| format!("?response_code={code}"));
        let path = format!("/v1/sessions/{session_id}{query}");
        Ok(self.client.tenant("GET", &path, None).await?.json())
    }

    /// What the gateway says to an answer.
    pub(super) async fn post(&self, answered: &Answered) -> Result<Answer, String> {
        self.client.wallet(self.path_of(&answered.response_uri)?, &answered.body).await
    }

    /// The path of a URI below the base URL.
    pub(super) fn path_of<'u>(&self, uri: &'u str) -> Result<&'u str, String> {
        let path = uri.strip_prefix(self.gateway.base_url());
        path.ok_or_else(|| "the request points elsewhere".into())
    }
}
