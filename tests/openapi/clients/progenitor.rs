//! The flow with a client of progenitor.

mod client {
    progenitor::generate_api!(spec = "openapi.json", interface = Builder);
}

use std::error::Error;
use std::{env, io};

use client::types::{
    CreateSessionByCredential, CreateSessionByCredentialCredentialsItem, CredentialRequest, CredentialRequestId,
    RequestedFormat, SessionRequest, Status,
};
use reqwest::header::{AUTHORIZATION, HeaderMap};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let key = format!("Bearer {}", env::var("IDGATE_API_KEY")?);
    let headers = HeaderMap::from_iter([(AUTHORIZATION, key.parse()?)]);
    let http = reqwest::Client::builder().default_headers(headers).build()?;
    let gateway = client::Client::new_with_client(&env::var("IDGATE_URL")?, http);

    let asked = CredentialRequest::builder()
        .id("pid".parse::<CredentialRequestId>()?)
        .format(RequestedFormat::VcSdJwt)
        .issuer_id(env::var("ISSUER_ID")?)
        .claims(["given_name".parse()?]);
    let credential = CreateSessionByCredentialCredentialsItem::CredentialRequest(asked.try_into()?);
    let form: CreateSessionByCredential =
        CreateSessionByCredential::builder().credentials([credential]).try_into()?;
    let request = SessionRequest::from(form);
    let made = gateway.create_session().body(request).send().await?.into_inner();
    println!("{}", made.qr_code_url.as_str());
    io::stdin().read_line(&mut String::new())?; // the wallet has answered

    let id = made.session_id.as_str();
    let session = gateway.read_session().session_id(id).send().await?.into_inner();
    let details = session.verification_details.ok_or("no details")?;
    if session.status != Status::Verified || details.verified_at.0 >= made.expires_at.0 {
        return Err(session.status.to_string().into());
    }
    gateway.delete_session().session_id(id).send().await?;
    let gone = gateway.read_session().session_id(id).send().await;
    let Err(client::Error::ErrorResponse(gone)) = gone else { return Err("it is still there".into()) };
    println!("{} {}", session.claims["pid"]["given_name"].as_str().unwrap_or_default(), gone.error);
    Ok(())
}
