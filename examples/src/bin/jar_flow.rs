//! Signed requests inside an application: a Request Object that the wallet fetches and verifies with our DID
//! document, and an answer that is encrypted to a key of this session.

use std::error::Error;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{Es256Key, SoftwareSigner};
use idgate_core::{
    Answer, Asked, Credential, Issuer, NewSession, Profile, Reader, Request, Step, Trust, Verifier,
};
use idgate_examples::{OsEntropy, now, wallet};
use idgate_testkit::openid4vp::Format;
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;
use serde_json::Value;

const BASE_URL: &str = "https://shop.example";

fn main() -> Result<(), Box<dyn Error>> {
    let sample = samples::issue_sample(now().0);

    // Once: a signing key under the DID of our host. `SoftwareSigner::from_pem` reads one from a file, and
    // `RequestSigner` is the trait for an HSM.
    let key = Es256Key::generate(&mut OsEntropy)?;
    let signer = SoftwareSigner::new(key, "").under_did(BASE_URL)?;
    let jwk = sample.issuer_key.public_jwk().to_string();
    let trust = Trust::new(PROVIDER, [Issuer::new(samples::ISSUER).vct(samples::VCT).jwk(jwk)])?;
    let verifier =
        Verifier::builder(trust).profiles([Profile::V1_0]).signed(BASE_URL, signer).build()?;
    // Serve it at `/.well-known/did.json`.
    let did_document = verifier.did_document_json().ok_or("no key signs under the DID")?;

    // Per person: a session. Its bytes contain the private key for the answer: encrypt them.
    let card = Credential::sd_jwt_vc("pid", samples::ISSUER);
    let asked = Request::of([card.claims(["given_name", "age_equal_or_over"])]);
    let created = verifier.create_session(&asked, NewSession::live(), &mut OsEntropy, now())?;
    let mut session = created.session;
    let info = session.info(now());
    let link = info.qr_code_url.ok_or("the session is over")?;
    println!("the link: {link}");

    // The wallet fetches {base URL}/v1/oid4vp/request/{session id}. Commit the transition of the
    // first fetch before you send `fetched.reply()`.
    let fetched = verifier.request_object(&session, &Asked::get(&info.id), now())?;
    if let Some(transition) = fetched.transition {
        session = transition.session;
    }

    // The wallet's side: verify the request with the DID document, answer, encrypt.
    let did_document: Value = serde_json::from_str(&did_document)?;
    let wallet = Wallet::new(sample.holder_key).with(sample.credential);
    let fetched = Some((fetched.jwt.as_str(), did_document));
    let answer = wallet::answer(&wallet, &link, Format::SdJwtVc, fetched)?;

    // From here on the same as for an unsigned request: the session has the key for its answer.
    let posted =
        Answer { to: &info.id, content_type: Some(&answer.content_type), body: &answer.bytes };
    let mut verification = verifier.begin(&session, posted, &mut OsEntropy, now())?;
    let Step::Done(decision) = verification.step()? else {
        return Err("a status list is to be fetched: `own_shell` has what fetches it".into());
    };
    match decision.transition.session.result(Reader::Backend, now()) {
        Ok(result) => println!("verified: {}", result.claims_json()),
        Err(_) => println!("refused: {:?}", decision.report.error()),
    }
    Ok(())
}
