//! One whole verification inside an application, without a server: make a session, show its link,
//! take the wallet's answer, read the claims.

use std::error::Error;
use std::sync::Arc;

use idgate_core::Answer;
use idgate_core::crypto::Jwk;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::ids::IssuerId;
use idgate_core::verify::Step;
use idgate_core::{Credential, NewSession, Request};
use idgate_core::{TrustEntry, TrustSnapshot, TrustedKey, Verifier};
use idgate_examples::{OsEntropy, now};
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;

fn main() -> Result<(), Box<dyn Error>> {
    let sample = samples::issue_sample(now().0);

    // Once: whom to trust, and where wallets reach us.
    let jwk = Jwk::parse(sample.issuer_key.public_jwk().to_string().as_bytes())?;
    let mut issuer = TrustEntry::new(IssuerId::new(samples::ISSUER));
    issuer.keys.push(TrustedKey::new(jwk.key));
    let trust = Arc::new(TrustSnapshot::new(1, [issuer]));
    let verifier =
        Verifier::builder(PROVIDER).inline("https://shop.example").trust(trust).build()?;

    // Per person: a session. Commit `created.session` before you show its link.
    let card = Credential::sd_jwt_vc("pid", samples::ISSUER);
    let asked = Request::of([card.claims(["given_name", "age_equal_or_over"])]);
    let created = verifier.create_session(&asked, NewSession::live(), &mut OsEntropy, now())?;
    let link = created.session.invitation().qr_code_url;

    // The wallet answers to {base URL}/v1/oid4vp/response/{session id}.
    let wallet = Wallet::new(sample.holder_key).with(sample.credential);
    let answer = wallet.answer_uri(&link, now().0)?.form_body();

    // Decide; commit `decision.transition` where the revision still is the old one; then reply.
    let (to, content_type) = (created.session.id().as_str(), Some(&*answer.content_type));
    let posted = Answer { to, content_type, body: &answer.bytes };
    let mut verification = verifier.begin(&created.session, posted, &mut OsEntropy, now())?;
    let Step::Done(decision) = verification.step()? else {
        return Err("nothing to ask for".into());
    };
    match decision.transition.session.result_at(now()) {
        Some(result) => println!("verified: {}", result.claims()),
        None => println!("refused: {:?}", decision.report.error()),
    }
    Ok(())
}
