//! The buttons of the console. Each leads back to a page that shows the outcome.

use std::sync::Arc;

use idgate_core::Profile;
use serde_json::Value;

use super::frame::Section;
use super::session::Tab;
use super::{keys, new};
use crate::asks::ASKS;
use crate::memory::Answer;
use crate::offers;
use crate::state::{State, is_session_id};
use crate::wallet::{Answered, Deed, Holder};

/// The response to a button.
pub(crate) enum Done {
    /// Redirects to the page at this path.
    See(String),
    /// Sends this page. It shows secrets and has no address of its own.
    Secrets(String),
}

/// The fields of a form; a missing one reads as empty.
pub(crate) struct Form(pub(crate) Vec<(String, String)>);

impl Form {
    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

/// Carries out a button; `None` if there is no such button.
pub(crate) async fn post(state: &Arc<State>, path: &str, form: &Form) -> Option<Done> {
    let (section, done) = match path {
        "/keys" => return Some(Done::Secrets(keys::page(state, true))),
        "/sessions" => return Some(Done::See(ask(state, form).await)),
        "/answer" => return Some(Done::See(answer(state, form).await)),
        "/webhooks/retry" => return Some(Done::See(send_again(state, form).await)),
        "/webhooks/test" => (Section::Webhooks, send_test(state).await),
        "/hosts" => (Section::Webhooks, state.approve_host(form.get("host")).await),
        "/providers" => {
            let listed = form.get("listed") == "true";
            (Section::Issuers, state.set_listed(form.get("provider"), listed).await)
        }
        "/offers" => {
            let made = offers::make(state, form.get("type"), form.get("tx_code") == "true");
            (Section::Receive, made)
        }
        "/withdraw" => (Section::Receive, withdraw(state, form.get("offer"))),
        _ => return None,
    };
    state.note(section.path(), done);
    Some(Done::See(section.path().to_owned()))
}

fn withdraw(state: &State, offer: &str) -> Result<String, String> {
    let count = state.phones.withdraw(offer)?.ok_or("there is no such offer")?;
    Ok(format!("withdrawn: {count} of the samples that a phone received with this offer"))
}

/// Creates a session from a sample; returns the path of its page.
async fn ask(state: &State, form: &Form) -> String {
    match create(state, form).await {
        Ok(id) => format!("/sessions/{id}"),
        Err(why) => {
            state.note(new::PATH, Err(why));
            new::PATH.to_owned()
        }
    }
}

async fn create(state: &State, form: &Form) -> Result<String, String> {
    let asked = ASKS.iter().find(|one| one.key == form.get("ask"));
    let asked = asked.ok_or("there is no such sample")?;
    let claims = form.get("claims").split([',', ' ']).filter(|name| !name.is_empty());
    let claims: Vec<&str> = claims.collect();
    let mut request = match claims.is_empty() {
        true => asked.request(),
        false => asked.asking(&claims),
    };
    let profile = form.get("profile");
    if let Value::Object(members) = &mut request
        && state.profiles != [Profile::Draft.name()]
    {
        if !(claims.is_empty() && asked.implies_1_0() && profile == Profile::V1_0.name()) {
            members.insert("profile".into(), profile.into());
        }
        let same_device = form.get("same_device") == "true";
        if same_device {
            members.insert("same_device".into(), true.into());
        }
        if same_device || profile == Profile::Haip.name() {
            members.insert("redirect_uri".into(), format!("{}/done", state.page).into());
        }
    }
    state.create_session(&request).await
}

/// Answers a session of the gateway, or a link of any gateway on this machine. Returns the path of
/// the page with the outcome.
async fn answer(state: &State, form: &Form) -> String {
    let named = form.get("session");
    let uri = form.get("uri").trim();
    let id = match named {
        "" => state.memory.behind(uri),
        id => Some(id.to_owned()).filter(|id| is_session_id(id)),
    };
    let link = match (named, &id) {
        ("", _) => Ok(uri.to_owned()),
        (_, Some(id)) => state.link_of(id).await,
        (_, None) => Err("there is no such session".to_owned()),
    };
    let section = if named.is_empty() { new::PATH } else { Section::Sessions.path() };
    let answered = match link {
        Ok(link) => act(state, form, &link).await,
        Err(why) => Err(why),
    };
    match (answered, id) {
        (Ok((answered, answer)), Some(id)) => settled(state, &id, &answered, answer).await,
        (Ok((_, answer)), None) => {
            state
                .note(section, Ok(format!("{}: the gateway replied {}", answer.deed, answer.said)));
            section.to_owned()
        }
        (Err(why), id) => {
            let of_session = id.filter(|_| !named.is_empty()).map(|id| format!("/sessions/{id}"));
            let path = of_session.unwrap_or_else(|| section.to_owned());
            state.note(&path, Err(why));
            path
        }
    }
}

/// Makes the wallet answer.
async fn act(state: &State, form: &Form, link: &str) -> Result<(Answered, Answer), String> {
    let deed = Deed::from_name(form.get("do")).ok_or("there is no such action")?;
    let from = form.get("from");
    let [first, _] = &state.providers;
    let provider = state.providers.iter().find(|one| one.is.key == from).unwrap_or(first);
    let holder = Holder { provider, way: &state.way, now_ms: state.now_ms() };
    let answered = holder.answer(link, deed).await?;
    let (status, reply) = (answered.reply.status.as_u16(), answered.reply.text());
    let answer = Answer {
        at: state.clock.now(),
        deed: deed.name(),
        from: provider.is.name,
        said: format!("{status} {reply}"),
        sent: Some(Value::Object(answered.sent.clone()).to_string()),
    };
    Ok((answered, answer))
}

/// Remembers the wallet's answer and the result that the tenant can then read. Returns the tab that
/// shows the most about it.
async fn settled(state: &State, id: &str, answered: &Answered, answer: Answer) -> String {
    let code = response_code(&answered.reply.json());
    state.memory.answered(id, answer);
    let session = state.read_session(id, code.as_deref()).await;
    let is_checked = session.get("status").is_some_and(|status| status == "FAILED")
        && session.get("reason").is_some_and(|reason| reason != "wallet_error");
    let tab = if is_checked { Tab::Checks } else { Tab::Answer };
    format!("/sessions/{id}/{}", tab.path())
}

/// The `response_code` with which the wallet's reply sends the browser back.
fn response_code(reply: &Value) -> Option<String> {
    let url = url::Url::parse(reply.get("redirect_uri")?.as_str()?).ok()?;
    let code = url.query_pairs().find(|(name, _)| name == "response_code")?.1.into_owned();
    Some(code)
}

async fn send_test(state: &State) -> Result<String, String> {
    let told = state.tenant("POST", "/v1/webhook-endpoint/test", None).await?;
    let text = |member: &str| told.get(member).and_then(Value::as_str).unwrap_or_default();
    match told.get("delivered").and_then(Value::as_bool) {
        Some(true) => Ok(format!("the endpoint accepted the test event {}", text("id"))),
        Some(false) => Err(format!("the endpoint did not accept it: {}", text("error_message"))),
        None => Err(text("message").to_owned()),
    }
}

/// Sends a notification again after delivery was given up; returns the page with its button.
async fn send_again(state: &State, form: &Form) -> String {
    let section = Section::Webhooks.path();
    state.note(section, retry(state, form.get("failure")).await);
    section.to_owned()
}

async fn retry(state: &State, failure: &str) -> Result<String, String> {
    let is_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if failure.is_empty() || !failure.bytes().all(is_id) {
        return Err("there is no such notification".into());
    }
    let path = format!("/v1/webhooks/failures/{failure}/retry");
    let told = state.tenant("POST", &path, None).await?;
    match told.get("id").and_then(Value::as_str) {
        Some(id) => Ok(format!("{id} will be sent again")),
        None => Err("there is no such notification".into()),
    }
}
