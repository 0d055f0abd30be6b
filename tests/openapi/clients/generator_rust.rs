//! The flow with the Rust client (reqwest) of openapi-generator.

use std::error::Error;
use std::{env, io};

use openapi::apis::configuration::Configuration;
use openapi::apis::sessions_api::{ReadSessionError, create_session, delete_session, read_session};
use openapi::models::{
    CreateSessionByCredential, CreateSessionByCredentialCredentialsInner, CredentialRequest, RequestedFormat,
    SessionRequest, Status,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let gateway = Configuration {
        base_path: env::var("IDGATE_URL")?,
        bearer_access_token: Some(env::var("IDGATE_API_KEY")?),
        ..Configuration::default()
    };
    let claims = vec!["given_name".to_owned()];
    let mut asked = CredentialRequest::new(RequestedFormat::VcPlusSdJwt, env::var("ISSUER_ID")?, claims);
    asked.id = Some("pid".to_owned());
    let credential = CreateSessionByCredentialCredentialsInner::CredentialRequest(Box::new(asked));
    let form = CreateSessionByCredential::new(vec![credential]);
    let request = SessionRequest::CreateSessionByCredential(Box::new(form));
    let made = create_session(&gateway, request, None).await?;
    println!("{}", made.qr_code_url);
    io::stdin().read_line(&mut String::new())?; // the wallet has answered

    let session = read_session(&gateway, &made.session_id, None).await?;
    let details = session.verification_details.ok_or("no details")?;
    if session.status != Status::Verified || details.verified_at >= made.expires_at {
        return Err(format!("{:?}", session.status).into());
    }
    delete_session(&gateway, &made.session_id).await?;
    let gone = read_session(&gateway, &made.session_id, None).await;
    let Err(openapi::apis::Error::ResponseError(gone)) = gone else { return Err("it is still there".into()) };
    // All refusals have one type, so the client takes each for the first of them; the status is right.
    let (404, Some(ReadSessionError::Status400(gone))) = (gone.status.as_u16(), gone.entity) else {
        return Err("it is refused otherwise".into());
    };
    let claims = session.claims.ok_or("no claims")?;
    println!("{} {}", claims["pid"]["given_name"].as_str().unwrap_or_default(), gone.error);
    Ok(())
}
