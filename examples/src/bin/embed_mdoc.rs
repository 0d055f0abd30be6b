//! Verifies one mdoc inside an application, without a gateway, including its revocation: it creates a
//! session, takes the wallet's answer, fetches what the decision needs, and reads the claims.

use std::convert::Infallible;
use std::error::Error;

use idgate::{BlockingFetcher, FetchOptions};
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::{
    Answer, Credential, Issuer, NewSession, Profile, Reader, Request, Transition, Trust, Verifier,
};
use idgate_examples::{OsEntropy, now, wallet};
use idgate_testkit::openid4vp::Format;
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;

const MDL: &str = "org.iso.18013.5.1.mDL";

fn main() -> Result<(), Box<dyn Error>> {
    let sample = samples::issue_mdl(now().0);

    // Once: the trusted issuers, and our address for wallets. A file may have many roots, in PEM or DER.
    let issuer = Issuer::new(samples::MDL_ISSUER).doc_type(MDL).iaca_roots(sample.root.der);
    let trust = Trust::new(PROVIDER, [issuer])?;
    let builder = Verifier::builder(trust).profiles([Profile::V1_0]);
    let verifier = builder.unsigned("https://shop.example").build()?;
    // Reaches only public addresses and caches what it fetched, for many threads and verifications.
    let fetcher = BlockingFetcher::new(FetchOptions::default())?;

    // Per person: a session. Commit `created.session` before you show its link. This one is in
    // test mode, which tolerates a document signer that publishes no CRL.
    let licence = Credential::mdoc("mdl", samples::MDL_ISSUER, MDL);
    let asked = Request::of([licence.claims(["family_name", "age_over_18"])]);
    let created = verifier.create_session(&asked, NewSession::test(), &mut OsEntropy, now())?;
    let info = created.session.info(now());
    let link = info.qr_code_url.ok_or("the session is over")?;

    // The wallet answers to {base URL}/v1/oid4vp/response/{session id}.
    let wallet = Wallet::new(sample.document.device_key.clone()).with_mdoc(sample.document);
    let answer = wallet::answer(&wallet, &link, Format::Mdoc, None)?;

    // Decide. Status lists and CRLs are fetched last, when everything else is good.
    let posted =
        Answer { to: &info.id, content_type: Some(&answer.content_type), body: &answer.bytes };
    let mut verification = verifier.begin(&created.session, posted, &mut OsEntropy, now())?;
    // `commit` stores the hold before the first fetch. The fetcher fetches all lists in parallel.
    let commit = |_hold: Transition| Ok::<_, Infallible>(());
    let decision = fetcher.decide(&mut verification, now, commit)?;

    // Commit `decision.transition` if the stored revision is still the old one; then send `decision.reply()`.
    match decision.transition.session.result(Reader::Backend, now()) {
        Ok(result) => println!("verified: {}", result.claims_json()),
        Err(_) => println!("refused: {:?}", decision.report.error()),
    }
    Ok(())
}
