//! The library inside your own web service, here with axum: profiles 1.0 and HAIP, signed requests, fetched status
//! lists, and sessions in memory.
//!
//! usage: `own_shell KEY.pem CHAIN.pem [ADDRESS [RANGE]]`, where status lists may be in RANGE, for example 10.0.0.0/8
//!
//! `POST /checks` and `GET /checks/{id}` are for your own pages: put your login in front of them. The other paths are for
//! wallets, without a login.

use std::{env, error::Error, fs, sync::Arc};

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use idgate::{Cidr, FetchOptions, Fetcher, Store as _, Wallets};
use idgate_core::Profile::{Haip, V1_0};
use idgate_core::crypto::SoftwareSigner;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::{Credential, Issuer, NewSession, Reader, Request, Scheme, Trust, Verifier};
use idgate_examples::{Memory, OsEntropy, now, sample_jwk};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const PID: &str = "https://issuer.example";

type Desk = Arc<Wallets<Memory>>;

#[derive(Deserialize)]
struct Pid {
    given_name: String,
}

#[derive(Deserialize)]
struct Back {
    response_code: Option<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (key, chain) =
        arguments.next().zip(arguments.next()).ok_or("name KEY.pem and CHAIN.pem")?;
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".into());
    let mut options = FetchOptions::default();
    if let Some(range) = arguments.next() {
        options = options.allow(Cidr::parse(&range)?);
    }
    let listener = TcpListener::bind(address).await?;
    let base_url = format!("http://{}", listener.local_addr()?); // for a public address, put TLS in front

    let trust = Trust::new(PROVIDER, [Issuer::new(PID).vct("urn:eudi:pid:1").jwk(sample_jwk())])?;
    let signer = SoftwareSigner::from_pem(&fs::read(key)?)?.certified(&fs::read(chain)?)?;
    let verifier =
        Verifier::builder(trust).profiles([V1_0, Haip]).signed(&*base_url, signer).build()?;
    let wallets = Arc::new(Wallets::new(verifier, Fetcher::new(options)?, Memory::default()));
    let app = Router::new()
        .route("/checks", post(create))
        .route("/checks/{id}", get(read))
        .fallback_service(wallets.into_service())
        .with_state(wallets);
    println!("listening on {base_url}");
    Ok(axum::serve(listener, app).await?)
}

async fn create(State(desk): State<Desk>) -> Result<Json<Value>, Failure> {
    let asked = Request::of([Credential::sd_jwt_vc("pid", PID).claims(["given_name"])])
        .profiles([V1_0, Haip])
        .redirect_uri("https://shop.example/back");
    let made = desk.verifier().create_session(&asked, NewSession::live(), &mut OsEntropy, now())?;
    desk.store().commit(&made).await?;
    let info = made.session.info(now());
    let scheme = |profile| if profile == Haip { Scheme::Haip } else { Scheme::OpenId4Vp };
    let links: Vec<_> =
        info.offers.iter().map(|offer| offer.deep_link(scheme(offer.profile))).collect();
    Ok(Json(json!({ "id": info.id, "links": links })))
}

async fn read(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    Query(back): Query<Back>,
) -> Result<Json<Value>, Failure> {
    let session = desk.store().load(&id).await?.ok_or(Failure(StatusCode::NOT_FOUND))?;
    let reader = Reader::Browser { response_code: back.response_code.as_deref() };
    let pid = session.result(reader, now()).ok().and_then(|it| it.credential::<Pid>("pid").ok());
    let info = session.info(now());
    let name = pid.map(|pid| pid.given_name);
    Ok(Json(json!({ "status": info.status, "reason": info.reason, "given_name": name })))
}

struct Failure(StatusCode);

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        eprintln!("{error}");
        Self(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl axum::response::IntoResponse for Failure {
    fn into_response(self) -> axum::response::Response {
        self.0.into_response()
    }
}
