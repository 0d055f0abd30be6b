//! A complete verification inside an application, without a gateway: it creates a session, shows its
//! link, takes the wallet's answer, and reads the claims.

use std::error::Error;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::{
    Answer, Credential, Issuer, NewSession, Profile, Reader, Request, Step, Trust, Verifier,
};
use idgate_examples::{OsEntropy, now, wallet};
use idgate_testkit::openid4vp::Format;
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;

/// The requested claims, by the issuer's names.
#[derive(Debug, serde::Deserialize)]
struct Person {
    given_name: String,
    age_equal_or_over: Ages,
}

#[derive(Debug, serde::Deserialize)]
struct Ages {
    #[serde(rename = "18")]
    adult: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let sample = samples::issue_sample(now().0);

    // Once: the trusted issuers, and our address for wallets.
    let issuer = Issuer::new(samples::ISSUER).vct(samples::VCT);
    let issuer = issuer.jwk(sample.issuer_key.public_jwk().to_string());
    let trust = Trust::new(PROVIDER, [issuer])?;
    let verifier = Verifier::builder(trust)
        .profiles([Profile::V1_0])
        .unsigned("https://shop.example")
        .build()?;

    // Per person: a session. Commit `created.session` before you show its link.
    let card = Credential::sd_jwt_vc("pid", samples::ISSUER);
    let asked = Request::of([card.claims(["given_name", "age_equal_or_over"])]);
    let created = verifier.create_session(&asked, NewSession::live(), &mut OsEntropy, now())?;
    let info = created.session.info(now());
    let link = info.qr_code_url.ok_or("the session is over")?;

    // The wallet answers to {base URL}/v1/oid4vp/response/{session id}.
    let wallet = Wallet::new(sample.holder_key).with(sample.credential);
    let answer = wallet::answer(&wallet, &link, Format::SdJwtVc, None)?;

    // Decide, commit `decision.transition` if the stored revision is still the old one, then send `decision.reply()`.
    let posted =
        Answer { to: &info.id, content_type: Some(&answer.content_type), body: &answer.bytes };
    let mut verification = verifier.begin(&created.session, posted, &mut OsEntropy, now())?;
    let Step::Done(decision) = verification.step()? else {
        return Err("a status list is to be fetched: `embed_mdoc` has what fetches it".into());
    };
    println!("to the wallet: {}", decision.reply().status);
    match decision.transition.session.result(Reader::Backend, now()) {
        Ok(result) => {
            let person: Person = result.credential("pid")?;
            println!("verified: {}, adult: {}", person.given_name, person.age_equal_or_over.adult);
        }
        Err(_) => println!("refused: {:?}", decision.report.error()),
    }
    Ok(())
}
