//! The walk of the demo, step by step.

use std::io::{self, IsTerminal as _};

use idgate_core::Profile;
use idgate_testkit::wallet::Wallet;
use serde_json::{Map, Value, json};

use super::act::Act;
use super::desk::Desk;
use super::holder::Answered;
use super::say;
use super::stage::Stage;
use super::words::{INTRODUCTION, abbreviated, qr, short, text, title, verified_by};
use crate::way::Reply;

/// One verification and one forgery.
struct Scene<'a> {
    stage: &'a Stage,
    desk: &'a Desk,
    profile: Profile,
    act: &'a Act,
    /// Whether to print nothing.
    quiet: bool,
}

/// A session that was created.
struct Asked {
    session_id: String,
    link: String,
}

impl Stage {
    /// Plays one verification and one forgery for each profile and format, and prints the steps
    /// unless `quiet`.
    ///
    /// # Errors
    /// A step did not end as expected.
    pub(super) async fn play(&self, quiet: bool) -> Result<Value, String> {
        let mut walks = Vec::new();
        for &profile in &self.main.config.profiles.enabled {
            for (at, act) in self.acts.iter().enumerate() {
                let scene = Scene { stage: self, desk: self.desk(profile), profile, act, quiet };
                if walks.is_empty() {
                    scene.tell(INTRODUCTION);
                }
                if at == 0 {
                    scene.tell(&format!("{}\n{}\n", title(profile), scene.manner()));
                }
                walks.push(scene.play(walks.is_empty()).await?);
            }
        }
        Ok(json!({ "base_url": self.main.gateway.base_url(), "walks": walks }))
    }

    /// Prints how to continue by hand.
    pub(super) fn invite(&self) {
        let [act, ..] = &self.acts;
        let desk = &self.main;
        let first = desk.config.profiles.enabled.first().copied().unwrap_or(Profile::Draft);
        say(&format!(
            "Still serving. Create a session of your own (Ctrl-C ends the demo):\n\n  curl -s {}/v1/sessions \\\n    -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \\\n    -d '{}'\n\nand answer its qr_code_url with the sample wallet:\n\n  idgate sandbox wallet 'openid4vp://…'\n",
            desk.gateway.base_url(),
            desk.api_key,
            desk.session_request(act, first),
        ));
    }
}

impl Scene<'_> {
    async fn play(&self, with_qr_code: bool) -> Result<Value, String> {
        self.tell(&format!("  {}, trusted by {}", self.act.title, self.act.trusted_by));
        let asked = self.ask().await?;
        self.tell("  Business  POST /v1/sessions");
        self.tell(&format!("            asks for {}", self.act.claims.join(", ")));
        let link = &asked.link;
        let code = match with_qr_code && !self.quiet {
            true => qr(link, io::stdout().is_terminal())?,
            false => None,
        };
        match code {
            Some(code) => self.tell(&format!("  Person    scans this code\n\n{code}\n{link}\n")),
            None if with_qr_code => self.tell(&format!("  Person    opens\n\n{link}\n")),
            None => self.tell(&format!("  Person    opens {}", short(link))),
        }
        let answered = self.answer(&self.act.wallet, &asked).await?;
        self.tell_answer(&answered);
        let verified = self.settle(&asked, &answered).await?;
        let again = refusal(&self.desk.post(&answered).await?);
        self.tell(&format!("  Thief     posts the same answer again -> {again}"));
        let refused = self.forge().await?;
        Ok(json!({
            "profile": self.profile.name(),
            "request_mode": if self.desk.is_signed(self.profile) { "jar" } else { "inline" },
            "format": self.act.format,
            "qr_code_url": asked.link,
            "request": { answered.query.0: answered.query.1 },
            "answer": answered.parameters,
            "verified": verified,
            "refused": refused,
        }))
    }

    async fn ask(&self) -> Result<Asked, String> {
        let request = self.desk.session_request(self.act, self.profile);
        let created = self.desk.create_session(&request).await?;
        Ok(Asked { session_id: text(&created, "session_id"), link: text(&created, "qr_code_url") })
    }

    async fn answer(&self, wallet: &Wallet, asked: &Asked) -> Result<Answered, String> {
        let now_ms = self.stage.clock.now().0;
        let format = self.act.wallet_format;
        self.desk.answer(wallet, &asked.link, self.profile, format, now_ms).await
    }

    /// Posts the answer, and reads the session as the business does.
    async fn settle(&self, asked: &Asked, answered: &Answered) -> Result<Value, String> {
        let reply = self.desk.post(answered).await?;
        let said = format!("{} {}", reply.status.as_u16(), reply.text());
        self.tell(&format!("            POST /v1/oid4vp/response/... -> {said}"));
        let code = response_code(&reply.json());
        let session = self.desk.read(&asked.session_id, code.as_deref()).await?;
        let query = code.map_or("", |_| "?response_code=...");
        let status = text(&session, "status");
        self.tell(&format!("  Business  GET /v1/sessions/...{query} -> {status}"));
        let claims = session.pointer("/claims/credential_1").unwrap_or(&Value::Null);
        self.tell(&format!("            {claims}"));
        self.tell(&format!("            verified by {}", verified_by(&session)));
        expect(session, "VERIFIED")
    }

    /// A second session, answered with a forged credential.
    async fn forge(&self) -> Result<Value, String> {
        let asked = self.ask().await?;
        let answered = self.answer(&self.act.forger, &asked).await?;
        let told = refusal(&self.desk.post(&answered).await?);
        self.tell(&format!("  Forger    {} -> {told}", self.act.forgery));
        let session = self.desk.read(&asked.session_id, None).await?;
        let (status, reason) = (text(&session, "status"), text(&session, "reason"));
        let read = format!("learns no more; the business reads {status}, {reason}");
        self.tell(&format!("            {read}\n"));
        expect(session, "FAILED")
    }

    /// Describes how the request and the answer travel.
    fn manner(&self) -> String {
        let request = match self.desk.is_signed(self.profile) {
            true => "a signed request",
            false => "the link is the request",
        };
        let encrypted = self.desk.is_encrypted(self.profile);
        let answer = if encrypted { "an encrypted answer" } else { "a plain answer" };
        format!("{request}, {answer}; gateway {}", self.desk.gateway.base_url())
    }

    fn tell_answer(&self, answered: &Answered) {
        if self.desk.is_signed(self.profile) {
            let method = if self.desk.announces_post(self.profile) { "POST" } else { "GET" };
            let asked = format!("{method} /v1/oid4vp/request/..., a request signed by");
            self.tell(&format!("  Wallet    {asked}"));
            self.tell(&format!("            {}", answered.client_id));
        } else {
            self.tell("  Wallet    reads the link");
        }
        let (parameter, query) = &answered.query;
        self.tell(&format!("            {parameter} {query}"));
        let encrypted = self.desk.is_encrypted(self.profile);
        let encrypted = if encrypted { ", encrypts all of it" } else { "" };
        self.tell(&format!("            {}{encrypted}", self.act.proves));
        let parameters = abbreviated(&Value::Object(answered.parameters.clone()));
        self.tell(&format!("            {parameters}"));
    }

    fn tell(&self, line: &str) {
        if !self.quiet {
            say(line);
        }
    }
}

impl Desk {
    /// The body of the tenant's request.
    fn session_request(&self, act: &Act, profile: Profile) -> Value {
        let mut body = Map::from_iter([(String::from("credentials"), json!([act.credential()]))]);
        if self.config.profiles.enabled != [Profile::Draft] {
            body.insert("profile".into(), profile.name().into());
        }
        if profile == Profile::Haip {
            body.insert("redirect_uri".into(), "https://shop.example/done".into());
        }
        Value::Object(body)
    }
}

/// The `response_code` with which the wallet's reply sends the browser back.
fn response_code(reply: &Value) -> Option<String> {
    let (_, code) = reply.get("redirect_uri")?.as_str()?.split_once("response_code=")?;
    Some(code.to_owned())
}

/// The status and error code of a refused answer.
fn refusal(reply: &Reply) -> String {
    format!("{} {}", reply.status.as_u16(), text(&reply.json(), "error"))
}

/// The session, if it has the expected status.
fn expect(session: Value, status: &str) -> Result<Value, String> {
    if text(&session, "status") == status {
        return Ok(session);
    }
    Err(format!("expected a session with the status {status}, got: {session}"))
}
