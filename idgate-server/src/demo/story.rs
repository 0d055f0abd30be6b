//! The walk of the demo, step by step.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use idgate_core::crypto::Jwk;
use idgate_testkit::samples::{self, Sample};
use idgate_testkit::wallet::{Answer as WalletAnswer, Wallet};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::{Value, json};

use super::client::Client;
use super::say;
use crate::clock::Clock;
use crate::config::{Config, Settings};
use crate::serve::{self, RunningGateway};
use crate::store::{OperatorStore, SqliteStore, TrustChange};

/// What the sample tenant asks for.
const CLAIMS: [&str; 3] = ["given_name", "family_name", "age_equal_or_over"];

/// Gateway, issuer, tenant and wallet, ready to play.
pub(super) struct Stage {
    gateway: RunningGateway,
    client: Client,
    sample: Sample,
    clock: Arc<dyn Clock>,
}

impl Stage {
    /// A fresh gateway in `folder` that trusts the sample issuer and has one test-mode tenant.
    pub(super) async fn set(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let now = clock.now();
        let sample = samples::issue_sample(now.0);
        let mut operator = OperatorStore::open(folder, None).map_err(explain)?;
        let tenant = operator.create_client("demo", false, None, now).map_err(explain)?;
        let jwk = sample.issuer_key.public_jwk().to_string();
        let jwk = Jwk::parse(jwk.as_bytes()).map_err(explain)?;
        let change = TrustChange {
            vct: Some(vec![samples::VCT.into()]),
            keys: vec![(jwk.key, jwk.kid)],
            test_only: true,
            ..TrustChange::default()
        };
        operator.add_trust(samples::ISSUER, &change, now).map_err(explain)?;
        drop(operator);
        let store = SqliteStore::open(folder, None, now).map_err(explain)?;
        let gateway = serve::start(&config(folder)?, clock.clone(), Arc::new(store)).await?;
        let client =
            Client { address: gateway.local_addr(), api_key: tenant.api_key.expose().to_owned() };
        Ok(Self { gateway, client, sample, clock })
    }

    /// Plays one verification and one forgery; tells it as it happens unless `quiet`.
    pub(super) async fn play(&self, quiet: bool) -> Result<Value, String> {
        let tell = |line: String| {
            if !quiet {
                say(&line);
            }
        };
        tell(format!("1. Gateway   {}, inline profile", self.gateway.base_url()));
        tell(format!("2. Issuer    {} is trusted by its ES256 key", samples::ISSUER));
        let created = self.create_session().await?;
        let link = text(&created, "qr_code_url");
        tell(format!("3. Tenant    POST /v1/sessions -> {}", text(&created, "session_id")));
        tell(format!("   asks for {}", CLAIMS.join(", ")));
        tell(format!(
            "4. Person    scans this code, which is the link\n\n{}\n{link}\n",
            qr(&link)?
        ));
        let answer = self.answer(&link)?;
        tell(
            "5. Wallet    reads the request, discloses three claims, signs nonce and audience"
                .into(),
        );
        let reply = self.post(&answer).await?;
        tell(format!("   POST /v1/oid4vp/response/... -> {reply}"));
        let status = self.read(&created).await?;
        tell(format!("6. Tenant    GET /v1/sessions/... -> {}", text(&status, "status")));
        tell(format!("   claims {}", pretty(status.get("claims"))));
        tell(format!("   verification_details {}", pretty(status.get("verification_details"))));
        let again = self.post(&answer).await?;
        tell(format!("7. Thief     posts the same answer again -> {again}"));
        let forged = self.forge().await?;
        tell(format!("8. Forger    changes a disclosed name -> {}", text(&forged, "status")));
        tell(format!(
            "   the wallet is told only that; the tenant reads: {}",
            text(&forged, "reason")
        ));
        Ok(json!({
            "base_url": self.gateway.base_url(),
            "qr_code_url": link,
            "verified": status,
            "refused": forged,
        }))
    }

    /// Says how to go on by hand.
    pub(super) fn invite(&self) {
        say(&format!(
            "\nStill serving. Make a session of your own (Ctrl-C ends the demo):\n\n  curl -s {}/v1/sessions \\\n    -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \\\n    -d '{}'\n",
            self.gateway.base_url(),
            self.client.api_key,
            session_request(),
        ));
    }

    /// Ends it.
    pub(super) async fn strike(self) {
        self.gateway.shutdown().await;
    }

    async fn create_session(&self) -> Result<Value, String> {
        let created = self.client.tenant("POST", "/v1/sessions", Some(&session_request())).await?;
        if created.status.is_success() { Ok(created.body) } else { Err(created.body.to_string()) }
    }

    fn answer(&self, link: &str) -> Result<WalletAnswer, String> {
        let wallet =
            Wallet::new(self.sample.holder_key.clone()).with(self.sample.credential.clone());
        wallet.answer_uri(link, self.clock.now().0).map_err(|error| error.to_string())
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

    /// A second session, answered with a disclosure that the issuer did not sign.
    async fn forge(&self) -> Result<Value, String> {
        let created = self.create_session().await?;
        let mut sample = self.sample.clone();
        for disclosure in &mut sample.credential.disclosures {
            if disclosure.root_claim() == Some("given_name") {
                let forged = json!(["salt", "given_name", "Mallory"]).to_string();
                disclosure.text = idgate_testkit::codec::base64url(forged.as_bytes());
            }
        }
        let wallet = Wallet::new(sample.holder_key).with(sample.credential);
        let link = text(&created, "qr_code_url");
        let answer =
            wallet.answer_uri(&link, self.clock.now().0).map_err(|error| error.to_string())?;
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

fn session_request() -> Value {
    json!({ "credentials": [{
        "format": "vc+sd-jwt", "issuer_id": samples::ISSUER, "claims": CLAIMS,
    }] })
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
