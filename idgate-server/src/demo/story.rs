//! The walk of the demo, step by step.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use idgate_testkit::wallet::{Answer as WalletAnswer, Wallet};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::{Value, json};

use super::act::Act;
use super::client::Client;
use super::say;
use crate::clock::Clock;
use crate::config::{Config, Environment, Settings};
use crate::serve::{self, RunningGateway};
use crate::store::{OperatorStore, SqliteStore, StoreOptions};

/// Gateway, tenant and the two acts, ready to play.
pub(super) struct Stage {
    gateway: RunningGateway,
    client: Client,
    acts: [Act; 2],
    clock: Arc<dyn Clock>,
}

impl Stage {
    /// A fresh gateway in `folder` that trusts the sample issuers and has one test-mode tenant.
    pub(super) async fn set(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let now = clock.now();
        let mut operator = OperatorStore::open(folder, None).map_err(explain)?;
        let tenant = operator.create_client("demo", false, None, now).map_err(explain)?;
        let acts = [Act::sd_jwt_vc(now), Act::mdoc(now)];
        for act in &acts {
            let change = act.trust()?;
            operator.add_trust(act.issuer_id, &change, now).map_err(explain)?;
        }
        drop(operator);
        let options = StoreOptions { instance_key: None, environment: Environment::Development };
        let store = SqliteStore::open(folder, options, now).map_err(explain)?;
        let gateway = serve::start(&config(folder)?, clock.clone(), Arc::new(store)).await?;
        let client =
            Client { address: gateway.local_addr(), api_key: tenant.api_key.expose().to_owned() };
        Ok(Self { gateway, client, acts, clock })
    }

    /// Plays one verification and one forgery per format; tells it as it happens unless `quiet`.
    pub(super) async fn play(&self, quiet: bool) -> Result<Value, String> {
        let tell = |line: &str| {
            if !quiet {
                say(line);
            }
        };
        tell(&format!("Gateway      {}, inline profile", self.gateway.base_url()));
        let mut walks = Vec::new();
        for act in &self.acts {
            tell(&format!("\n{}\n", act.title));
            walks.push(self.walk(act, &tell).await?);
        }
        Ok(json!({ "base_url": self.gateway.base_url(), "walks": walks }))
    }

    async fn walk(&self, act: &Act, tell: &dyn Fn(&str)) -> Result<Value, String> {
        tell(&format!("1. Issuer    {} is trusted by {}", act.issuer_id, act.trusted_by));
        let created = self.create_session(act).await?;
        let link = text(&created, "qr_code_url");
        tell(&format!("2. Tenant    POST /v1/sessions -> {}", text(&created, "session_id")));
        tell(&format!("   asks for {}", act.claims.join(", ")));
        tell("3. Person    scans this code, which is the link\n");
        tell(&format!("{}\n{link}\n", qr(&link)?));
        let answer = self.answer(&act.wallet, &link)?;
        tell(&format!("4. Wallet    reads the request, {}", act.proves));
        let reply = self.post(&answer).await?;
        tell(&format!("   POST /v1/oid4vp/response/... -> {reply}"));
        let status = self.read(&created).await?;
        tell(&format!("5. Tenant    GET /v1/sessions/... -> {}", text(&status, "status")));
        tell(&format!("   claims {}", pretty(status.get("claims"))));
        tell(&format!("   verification_details {}", pretty(status.get("verification_details"))));
        let again = self.post(&answer).await?;
        tell(&format!("6. Thief     posts the same answer again -> {again}"));
        let forged = self.forge(act).await?;
        tell(&format!("7. Forger    {} -> {}", act.forgery, text(&forged, "status")));
        let reason = text(&forged, "reason");
        tell(&format!("   the wallet is told only that; the tenant reads: {reason}"));
        Ok(json!({
            "format": act.format,
            "qr_code_url": link,
            "verified": status,
            "refused": forged,
        }))
    }

    /// Says how to go on by hand.
    pub(super) fn invite(&self) {
        let [act, ..] = &self.acts;
        say(&format!(
            "\nStill serving. Make a session of your own (Ctrl-C ends the demo):\n\n  curl -s {}/v1/sessions \\\n    -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \\\n    -d '{}'\n",
            self.gateway.base_url(),
            self.client.api_key,
            act.session_request(),
        ));
    }

    /// Ends it.
    pub(super) async fn strike(self) {
        self.gateway.shutdown().await;
    }

    async fn create_session(&self, act: &Act) -> Result<Value, String> {
        let request = act.session_request();
        let created = self.client.tenant("POST", "/v1/sessions", Some(&request)).await?;
        if created.status.is_success() { Ok(created.body) } else { Err(created.body.to_string()) }
    }

    fn answer(&self, wallet: &Wallet, link: &str) -> Result<WalletAnswer, String> {
        wallet.answer_uri(link, self.clock.now().0).map_err(explain)
    }

    async fn post(&self, answer: &WalletAnswer) -> Result<String, String> {
        let path = answer.response_uri.strip_prefix(self.gateway.base_url());
        let path = path.ok_or("the request points elsewhere")?;
        let body = answer.form_body();
        let reply = self.client.wallet(path, &body.content_type, body.bytes).await?;
        Ok(format!("{} {}", reply.status.as_u16(), reply.body))
    }

    async fn read(&self, created: &Value) -> Result<Value, String> {
        let path = format!("/v1/sessions/{}", text(created, "session_id"));
        Ok(self.client.tenant("GET", &path, None).await?.body)
    }

    /// A second session, answered with what the issuer did not sign.
    async fn forge(&self, act: &Act) -> Result<Value, String> {
        let created = self.create_session(act).await?;
        let answer = self.answer(&act.forger, &text(&created, "qr_code_url"))?;
        self.post(&answer).await?;
        self.read(&created).await
    }
}

/// Loopback on a free port; nothing of the environment or of a file is looked at.
fn config(folder: &Path) -> Result<Config, String> {
    let flags = BTreeMap::from([
        ("data_dir".into(), folder.to_string_lossy().into_owned()),
        ("listen".into(), "127.0.0.1:0".into()),
    ]);
    Config::new(&Settings::collect(&flags, [], None)?)
}

fn explain(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn text(object: &Value, member: &str) -> String {
    object.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn pretty(value: Option<&Value>) -> String {
    let text = value.and_then(|value| serde_json::to_string_pretty(value).ok());
    text.unwrap_or_default().replace('\n', "\n   ")
}

fn qr(link: &str) -> Result<String, String> {
    let code = QrCode::with_error_correction_level(link, qrcode::EcLevel::L);
    let code = code.map_err(|error| format!("the link does not fit a QR code: {error}"))?;
    Ok(code.render::<Dense1x2>().quiet_zone(true).build())
}
