//! The program of docs/rust.md, word for word: asks for two claims, prints the link, waits for a
//! wallet's answer at port 3000, and prints what was verified.

#![allow(clippy::disallowed_methods)] // a program's own clock

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::time::{SystemTime, UNIX_EPOCH};

use idgate_core::crypto::rustcrypto::PROVIDER;
use idgate_core::{
    Answer, Credential, HttpReply, Issuer, NewSession, OsEntropy, Profile, Reader, Request,
    Session, Step, Trust, UnixMillis, Verifier,
};

// Whom to trust: here the sample issuer of idgate.
const ISSUER_JWK: &[u8] = br#"{"kty": "EC", "crv": "P-256",
    "x": "CqY3edJy1erFd-DrpuKrRzTNfoFpvBXQ02upG7_NKSI",
    "y": "ttQ2Crvp2ii5VaWrcdfwrFSlPN1PBhTpWyPiziTWMnA"}"#;

#[derive(Debug, serde::Deserialize)]
struct Pid {
    given_name: String,
    birthdate: String,
}

fn now() -> Result<UnixMillis, Box<dyn Error>> {
    Ok(UnixMillis(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().try_into()?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let issuer = Issuer::new("https://issuer.example").vct("urn:eudi:pid:1").jwk(ISSUER_JWK);
    let trust = Trust::new(PROVIDER, [issuer])?;
    let verifier = Verifier::builder(trust)
        .profiles([Profile::V1_0])
        .unsigned("http://127.0.0.1:3000")
        .build()?;

    // Commit the session to your database, listen, then show its link as a QR code.
    let card = Credential::sd_jwt_vc("pid", "https://issuer.example");
    let asked = Request::of([card.claims(["given_name", "birthdate"])]);
    let created = verifier.create_session(&asked, NewSession::test(), &mut OsEntropy, now()?)?;
    let info = created.session.info(now()?);
    let listener = TcpListener::bind("127.0.0.1:3000")?;
    println!("{}", info.qr_code_url.unwrap_or_default());

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

    let posted = Answer { to: &info.id, content_type: content_type.as_deref(), body: &body };
    let reply = answer(&verifier, &created.session, posted)?;
    let stream = reader.get_mut();
    write!(stream, "HTTP/1.1 {} \r\nConnection: close\r\n", reply.status)?;
    for (name, value) in reply.headers() {
        write!(stream, "{name}: {value}\r\n")?;
    }
    write!(stream, "\r\n{}", reply.body)?;
    Ok(())
}

/// Decides about an answer, and makes the reply to the wallet.
fn answer(
    verifier: &Verifier,
    session: &Session,
    posted: Answer<'_>,
) -> Result<HttpReply, Box<dyn Error>> {
    let mut verification = match verifier.begin(session, posted, &mut OsEntropy, now()?) {
        Ok(verification) => verification,
        // Nothing has changed, and the wallet may come again.
        Err(not_an_answer) => return Ok(not_an_answer.reply()),
    };
    let Step::Done(decision) = verification.step()? else {
        return Err("a status list is to be fetched: the crate idgate does it".into());
    };

    // Commit `decision.transition`, if another answer was not faster; then reply.
    let settled = &decision.transition.session;
    match settled.result(Reader::Backend, now()?) {
        Ok(result) => {
            let pid: Pid = result.credential("pid")?;
            println!("{} was born on {}", pid.given_name, pid.birthdate);
        }
        Err(_) => println!("{:?}", settled.info(now()?).reason),
    }
    Ok(decision.reply())
}
