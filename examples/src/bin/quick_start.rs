//! The program of docs/rust.md, word for word: asks for two claims, prints the link, waits for a
//! wallet's answer at port 3000, and prints what was verified.

#![allow(clippy::disallowed_methods)] // a program's own clock

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use idgate_core::crypto::{Jwk, rustcrypto::PROVIDER};
use idgate_core::entropy::OsEntropy;
use idgate_core::error::ResponseError;
use idgate_core::request::Profile;
use idgate_core::verifier::ProfileOptions;
use idgate_core::{Answer, Credential, IssuerId, NewSession, Request, Session, Step};
use idgate_core::{TrustEntry, TrustSnapshot, TrustedKey, UnixMillis, Verifier};

// Whom to trust: here the sample issuer of idgate.
const ISSUER_JWK: &[u8] = br#"{"kty": "EC", "crv": "P-256",
    "x": "CqY3edJy1erFd-DrpuKrRzTNfoFpvBXQ02upG7_NKSI",
    "y": "ttQ2Crvp2ii5VaWrcdfwrFSlPN1PBhTpWyPiziTWMnA"}"#;

fn now() -> Result<UnixMillis, Box<dyn Error>> {
    Ok(UnixMillis(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().try_into()?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut issuer = TrustEntry::new(IssuerId::new("https://issuer.example"));
    issuer.keys.push(TrustedKey::new(Jwk::parse(ISSUER_JWK)?.key));
    issuer.vct.push("urn:eudi:pid:1".into());
    let trust = Arc::new(TrustSnapshot::new(1, [issuer]));
    let verifier = Verifier::builder(PROVIDER)
        .inline("http://127.0.0.1:3000")
        .trust(trust)
        .profiles(ProfileOptions::new([Profile::V1_0]))
        .build()?;

    // Commit the session to your database, listen, then show its link, as a QR code.
    let card = Credential::sd_jwt_vc("pid", "https://issuer.example");
    let asked = Request::of([card.claims(["given_name", "birthdate"])]);
    let created = verifier.create_session(&asked, NewSession::test(), &mut OsEntropy, now()?)?;
    let listener = TcpListener::bind("127.0.0.1:3000")?;
    println!("{}", created.session.invitation().qr_code_url);

    // A wallet posts its answer. A real server has a library for this, and takes more than one.
    let (stream, _) = listener.accept()?;
    let mut reader = BufReader::new(stream);
    let (mut line, mut length, mut content_type) = (String::new(), 0, None);
    while reader.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':') {
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse::<u64>()?.min(1 << 20),
                "content-type" => content_type = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        line.clear();
    }
    let mut body = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut body)?;

    let (to, content_type) = (created.session.id().as_str(), content_type.as_deref());
    let posted = Answer { to, content_type, body: &body };
    let answered = answer(&verifier, &created.session, posted);
    let (status, reply) = match &answered {
        Ok((status, reply)) => (*status, reply.as_str()),
        Err(_) => ("500 Internal Server Error", r#"{"error":"internal_error"}"#),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\n");
    write!(reader.get_mut(), "{head}Connection: close\r\n\r\n{reply}")?;
    answered.map(|_| ()) // what went wrong is for you, and not for the wallet
}

/// What an answer makes of the session, and what the wallet hears of it.
fn answer(
    verifier: &Verifier,
    session: &Session,
    posted: Answer<'_>,
) -> Result<(&'static str, String), Box<dyn Error>> {
    let mut answer = match verifier.begin(session, posted, &mut OsEntropy, now()?) {
        Ok(answer) => answer,
        Err(fault @ ResponseError::Entropy(_)) => return Err(fault.into()),
        Err(refused) => {
            // Not an answer: nothing has changed, and the wallet may come again.
            eprintln!("{refused}");
            let reply = format!(r#"{{"error":"{}"}}"#, refused.code().as_str());
            return Ok(("400 Bad Request", reply));
        }
    };
    let Step::Done(decision) = answer.step()? else {
        return Err("a list is to be fetched: `BlockingFetcher` of idgate-fetch does it".into());
    };

    // Commit what it has become, if nobody was faster; then reply.
    let settled = decision.transition.session;
    match settled.result_at(now()?) {
        Some(result) => println!("{}", result.claims()), // as JSON
        None => println!("{:?}", settled.reason_at(now()?)),
    }
    Ok(match decision.reply.body() {
        Some(body) => ("200 OK", body),
        None => ("400 Bad Request", r#"{"error":"invalid_presentation"}"#.into()),
    })
}
