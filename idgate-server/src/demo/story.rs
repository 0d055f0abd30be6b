//! The walk of the demo, step by step.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::{Value, json};

use super::act::Act;
use super::client::Client;
use super::desk::Desk;
use super::say;
use crate::clock::Clock;
use crate::config::{Config, Environment, Quotas, RequestMode, Settings};
use crate::serve;
use crate::store::{OperatorStore, SqliteStore, Store, StoreOptions};

/// A gateway for each profile, a tenant and the two acts, ready to play.
pub(super) struct Stage {
    inline: Desk,
    jar: Desk,
    acts: [Act; 2],
    clock: Arc<dyn Clock>,
}

impl Stage {
    /// A fresh data directory in `folder` with the sample issuers and one test-mode tenant, and two
    /// gateways on it.
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
        let options = StoreOptions {
            instance_key: None,
            environment: Environment::Development,
            quotas: Quotas::default(),
        };
        let store = Arc::new(SqliteStore::open(folder, options, now).map_err(explain)?);
        let api_key = tenant.api_key.expose();
        let desk = |mode| open_desk(mode, folder, clock.clone(), store.clone(), api_key);
        let (inline, jar) = (desk(RequestMode::Inline).await?, desk(RequestMode::Jar).await?);
        Ok(Self { inline, jar, acts, clock })
    }

    /// Plays one verification and one forgery per profile and format; tells it as it happens unless
    /// `quiet`.
    pub(super) async fn play(&self, quiet: bool) -> Result<Value, String> {
        let tell = |line: &str| {
            if !quiet {
                say(line);
            }
        };
        let mut walks = Vec::new();
        for desk in [&self.inline, &self.jar] {
            tell(&format!("Gateway      {}, {}", desk.gateway.base_url(), desk.profile()));
            for act in &self.acts {
                tell(&format!("\n{}, {}\n", act.title, desk.mode.name()));
                walks.push(self.walk(desk, act, &tell).await?);
            }
            tell("");
        }
        Ok(json!({ "base_url": self.inline.gateway.base_url(), "walks": walks }))
    }

    async fn walk(&self, desk: &Desk, act: &Act, tell: &dyn Fn(&str)) -> Result<Value, String> {
        tell(&format!("1. Issuer    {} is trusted by {}", act.issuer_id, act.trusted_by));
        let created = desk.create_session(&act.session_request()).await?;
        let (id, link) = (text(&created, "session_id"), text(&created, "qr_code_url"));
        tell(&format!("2. Tenant    POST /v1/sessions -> {id}"));
        tell(&format!("   asks for {}", act.claims.join(", ")));
        tell("3. Person    scans this code, which is the link\n");
        tell(&format!("{}\n{link}\n", qr(&link)?));
        let answer = desk.answer(&act.wallet, &link, self.clock.now().0).await?;
        if let Some(kid) = &answer.signed_by {
            tell("4. Wallet    GET /v1/oid4vp/request/..., which is signed by");
            tell(&format!("   {kid} of /.well-known/did.json,"));
            tell(&format!("   {}, encrypts its answer", act.proves));
        } else {
            tell(&format!("4. Wallet    reads the request, {}", act.proves));
        }
        let reply = desk.post(&answer).await?;
        tell(&format!("   POST /v1/oid4vp/response/... -> {reply}"));
        let status = desk.read(&id).await?;
        tell(&format!("5. Tenant    GET /v1/sessions/... -> {}", text(&status, "status")));
        tell(&format!("   claims {}", pretty(status.get("claims"))));
        tell(&format!("   verification_details {}", pretty(status.get("verification_details"))));
        let again = desk.post(&answer).await?;
        tell(&format!("6. Thief     posts the same answer again -> {again}"));
        let forged = self.forge(desk, act).await?;
        tell(&format!("7. Forger    {} -> {}", act.forgery, text(&forged, "status")));
        let reason = text(&forged, "reason");
        tell(&format!("   the wallet is told only that; the tenant reads: {reason}"));
        Ok(json!({
            "profile": desk.mode.name(),
            "format": act.format,
            "qr_code_url": link,
            "verified": status,
            "refused": forged,
        }))
    }

    /// A second session, answered with what the issuer did not sign.
    async fn forge(&self, desk: &Desk, act: &Act) -> Result<Value, String> {
        let created = desk.create_session(&act.session_request()).await?;
        let link = text(&created, "qr_code_url");
        let answer = desk.answer(&act.forger, &link, self.clock.now().0).await?;
        desk.post(&answer).await?;
        desk.read(&text(&created, "session_id")).await
    }

    /// Says how to go on by hand.
    pub(super) fn invite(&self) {
        let [act, ..] = &self.acts;
        say(&format!(
            "Still serving both. Make a session of your own (Ctrl-C ends the demo):\n\n  curl -s {}/v1/sessions \\\n    -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \\\n    -d '{}'\n",
            self.inline.gateway.base_url(),
            self.inline.client.api_key,
            act.session_request(),
        ));
    }

    /// Ends it.
    pub(super) async fn strike(self) {
        tokio::join!(self.inline.gateway.shutdown(), self.jar.gateway.shutdown());
    }
}

/// Loopback on a free port; nothing of the environment or of a file is looked at.
async fn open_desk(
    mode: RequestMode,
    folder: &Path,
    clock: Arc<dyn Clock>,
    store: Arc<dyn Store>,
    api_key: &str,
) -> Result<Desk, String> {
    let flags = BTreeMap::from([
        ("data_dir".into(), folder.to_string_lossy().into_owned()),
        ("listen".into(), "127.0.0.1:0".into()),
        ("oid4vp_request_mode".into(), mode.name().into()),
    ]);
    let config = Config::new(&Settings::collect(&flags, [], None)?)?;
    let gateway = serve::start(&config, clock, store).await?;
    let client = Client { address: gateway.local_addr(), api_key: api_key.to_owned() };
    Ok(Desk { mode, gateway, client })
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
