//! The core inside a web service of your own, here with axum: sessions in memory, both profiles.
//!
//! usage: `own_shell [inline|jar] [ADDRESS]`
//!
//! - `POST /checks` and `GET /checks/{id}` are for your own pages: put your login in front of them.
//! - The rest is for wallets, and open to everybody.
//!
//! It fetches no status lists and no CRLs; a credential that names one is refused. `embed_mdoc` has
//! what fetches them.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use idgate_core::Profile;
use idgate_core::Trust;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{Es256Key, Jwk};
use idgate_core::discovery::{DID_DOCUMENT_PATH, PublishedKey, did_document_json, did_web, key_id};
use idgate_core::error::{NotAnAnswer, NotFetched};
use idgate_core::limits::{CLAIMS_RETENTION_MS, MAX_RESPONSE_BYTES};
use idgate_core::request::{RequestObjectJwt, RequestSigner as _, SoftwareSigner};
use idgate_core::{
    Answer, Asked, Credential, Decision, Effect, ErrorCode, IssuerId, NewSession, Reader, Request,
    Session, Step, Supplied, Transition, TrustEntry, TrustSnapshot, TrustedKey, Verifier,
    WalletReply,
};
use idgate_examples::{OsEntropy, Store, now};
use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let jar = match arguments.next().as_deref() {
        None | Some("inline") => false,
        Some("jar") => true,
        Some(_) => return Err("usage: own_shell [inline|jar] [ADDRESS]".into()),
    };
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".into());
    let listener = TcpListener::bind(address).await?;
    let base_url = format!("http://{}", listener.local_addr()?); // TLS in front, when not at home
    let shell = Arc::new(Shell::new(&base_url, jar)?);
    println!("listening on {base_url}");
    let router = axum::Router::new()
        .route("/checks", post(create))
        .route("/checks/{id}", get(read))
        .route("/v1/oid4vp/request/{id}", get(request_object))
        .route("/v1/oid4vp/response/{id}", post(answer))
        .route(DID_DOCUMENT_PATH, get(did_document))
        .layer(DefaultBodyLimit::max(MAX_RESPONSE_BYTES))
        .with_state(shell);
    axum::serve(listener, router).await?;
    Ok(())
}

/// Everything that lives as long as the service.
struct Shell {
    verifier: Verifier,
    did_document: String,
    store: Store,
}

impl Shell {
    /// Trusts the sample issuer. The signing key is new on each start; keep yours.
    fn new(base_url: &str, jar: bool) -> Result<Self, Box<dyn Error>> {
        let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
        let mut issuer = TrustEntry::new(IssuerId::new(samples::ISSUER));
        issuer.keys.push(TrustedKey::new(Jwk::parse(jwk.as_bytes())?.key));
        issuer.vct.push(samples::VCT.into());
        let trust = Arc::new(TrustSnapshot::new(1, [issuer]));

        let did = did_web(base_url)?;
        let key = Es256Key::generate(&mut OsEntropy)?;
        let id = key_id(&PROVIDER, &did, key.public_key());
        let signer = SoftwareSigner::new(key, id);
        let published = PublishedKey::new(signer.key_id(), *signer.public_key());
        let did_document = did_document_json(&did, &[published]);

        let trust = Trust::of_snapshot(PROVIDER, trust);
        let builder = Verifier::builder(trust).profiles([Profile::Draft]);
        let builder = match jar {
            true => builder.signed(base_url, signer),
            false => builder.unsigned(base_url),
        };
        let verifier = builder.build()?;
        Ok(Self { verifier, did_document, store: Store::default() })
    }

    /// A new check, and the link that a wallet follows.
    fn create(self: &Arc<Self>) -> Result<Value, Box<dyn Error>> {
        let card = Credential::sd_jwt_vc("pid", samples::ISSUER);
        let asked = Request::of([card.claims(["given_name", "birthdate"])]);
        let (new, now) = (NewSession::live(), now());
        let created = self.verifier.create_session(&asked, new, &mut OsEntropy, now)?;
        let invitation = created.session.invitation();
        self.commit(created)?;
        Ok(json!({ "id": invitation.session_id.as_str(), "link": invitation.qr_code_url }))
    }

    /// The signed request, for a wallet that fetches it.
    fn request_object(self: &Arc<Self>, id: &str) -> Result<RequestObjectJwt, ErrorCode> {
        let session = self.store.load(id).ok_or(ErrorCode::NotFound)?;
        let made = self.verifier.request_object(&session, &Asked::get(id), now());
        let made = made.map_err(|error: NotFetched| error.code())?;
        let jwt = made.jwt;
        match made.transition.map(|transition| self.commit(transition)) {
            // Another fetch was faster, and what it stored decides.
            Some(Err(_)) => self.request_object(id),
            Some(Ok(())) | None => Ok(jwt),
        }
    }

    /// Decides about an answer and stores what was decided.
    fn decide(self: &Arc<Self>, answer: Answer<'_>) -> Result<WalletReply, NotAnAnswer> {
        let Some(session) = self.store.load(answer.to) else {
            answer.check_syntax()?;
            return Err(NotAnAnswer::SessionClosed);
        };
        let mut verification = self.verifier.begin(&session, answer, &mut OsEntropy, now())?;
        loop {
            match verification.step()? {
                Step::Done(decision) => {
                    let Decision { transition, reply, .. } = *decision;
                    self.commit(transition)?;
                    return Ok(reply);
                }
                Step::Need { hold, needs } => {
                    self.commit(*hold)?;
                    for need in needs {
                        verification.supply(&need, Supplied::Unavailable, now());
                    }
                }
            }
        }
    }

    /// Stores a transition, then carries out what follows from it.
    fn commit(self: &Arc<Self>, transition: Transition) -> Result<(), NotAnAnswer> {
        let (id, effects) = (transition.session.id().to_string(), transition.effects.clone());
        if !self.store.commit(transition) {
            return Err(NotAnAnswer::SessionClosed);
        }
        for effect in effects {
            match effect {
                Effect::RedactClaimsAt(at) => self.at(at.0, &id, Store::redact),
                Effect::ExpireAt(at) => {
                    self.at(at.plus(CLAIMS_RETENTION_MS).0, &id, Store::forget);
                }
                _ => {} // nobody listens to changes of status here
            }
        }
        Ok(())
    }

    fn at(self: &Arc<Self>, unix_ms: u64, id: &str, act: fn(&Store, &str)) {
        let (shell, id) = (Arc::clone(self), id.to_owned());
        let wait = Duration::from_millis(unix_ms.saturating_sub(now().0));
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            act(&shell.store, &id);
        });
    }
}

async fn create(State(shell): State<Arc<Shell>>) -> Response {
    match shell.create() {
        Ok(check) => json_answer(StatusCode::CREATED, &check),
        Err(error) => {
            eprintln!("no check was made: {error}");
            refusal(ErrorCode::InternalError)
        }
    }
}

async fn read(State(shell): State<Arc<Shell>>, Path(id): Path<String>) -> Response {
    match shell.store.load(&id) {
        Some(session) => json_answer(StatusCode::OK, &check_json(&session)),
        None => refusal(ErrorCode::NotFound),
    }
}

fn check_json(session: &Session) -> Value {
    let now = now();
    let claims = session.result(Reader::Backend, now).ok().map(|result| result.claims_json());
    json!({
        "status": session.status_at(now).as_str(),
        "reason": session.reason_at(now).map(|reason| reason.as_str()),
        "claims": claims.and_then(|claims| serde_json::from_str::<Value>(claims).ok()),
    })
}

async fn request_object(State(shell): State<Arc<Shell>>, Path(id): Path<String>) -> Response {
    match shell.request_object(&id) {
        Ok(jwt) => answer_of(StatusCode::OK, RequestObjectJwt::MEDIA_TYPE, jwt.into_string()),
        Err(code) => refusal(code),
    }
}

/// An answer of the largest size takes a while, so that it gets a thread of its own.
async fn answer(
    State(shell): State<Arc<Shell>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let decided = tokio::task::spawn_blocking(move || {
        let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        shell.decide(Answer { to: &id, content_type, body: &body })
    });
    match decided.await {
        Ok(Ok(reply)) => match reply.body() {
            Some(body) => answer_of(StatusCode::OK, "application/json", body),
            None => refusal(ErrorCode::InvalidPresentation),
        },
        Ok(Err(error)) => refusal(error.code()),
        Err(_) => refusal(ErrorCode::InternalError),
    }
}

async fn did_document(State(shell): State<Arc<Shell>>) -> Response {
    answer_of(StatusCode::OK, "application/did+json", shell.did_document.clone())
}

/// The code and nothing else: a wallet learns that it was refused, not why.
fn refusal(code: ErrorCode) -> Response {
    let status = match code {
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::SessionNotPending => StatusCode::CONFLICT,
        ErrorCode::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    };
    json_answer(status, &json!({ "error": code.as_str() }))
}

fn json_answer(status: StatusCode, body: &Value) -> Response {
    answer_of(status, "application/json", body.to_string())
}

fn answer_of(status: StatusCode, media_type: &'static str, body: String) -> Response {
    (status, [(CONTENT_TYPE, media_type), (CACHE_CONTROL, "no-store")], body).into_response()
}
