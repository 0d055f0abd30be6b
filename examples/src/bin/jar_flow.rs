//! The jar profile inside an application: a signed Request Object that the wallet fetches, and an
//! answer that is encrypted to a key of the session alone.

use std::error::Error;
use std::sync::Arc;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{Es256Key, Jwk};
use idgate_core::discovery::{PublishedKey, did_document_json, did_web, key_id};
use idgate_core::ids::IssuerId;
use idgate_core::request::{RequestSigner, SoftwareSigner};
use idgate_core::verify::Step;
use idgate_core::{
    Answer, Asked, Credential, NewSession, Reader, Request, Trust, TrustEntry, TrustSnapshot,
    TrustedKey, Verifier,
};
use idgate_examples::{OsEntropy, now};
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::samples;
use idgate_testkit::wallet::{Transcript, Wallet};

const BASE_URL: &str = "https://shop.example";

fn main() -> Result<(), Box<dyn Error>> {
    let sample = samples::issue_sample(now().0);

    // Once: a signing key, named after itself under the DID of our host. Keep its scalar sealed, or
    // implement `RequestSigner` over an HSM. Serve the document at `/.well-known/did.json`.
    let did = did_web(BASE_URL)?;
    let key = Es256Key::generate(&mut OsEntropy)?;
    let id = key_id(&PROVIDER, &did, key.public_key());
    let signer = Arc::new(SoftwareSigner::new(key, id));
    let published = PublishedKey::new(signer.key_id(), *signer.public_key());
    let did_document = did_document_json(&did, &[published]);

    let jwk = Jwk::parse(sample.issuer_key.public_jwk().to_string().as_bytes())?;
    let mut issuer = TrustEntry::new(IssuerId::new(samples::ISSUER));
    issuer.keys.push(TrustedKey::new(jwk.key));
    let trust = Arc::new(TrustSnapshot::new(1, [issuer]));
    let verifier = Verifier::builder(Trust::of_snapshot(PROVIDER, trust))
        .profiles([idgate_core::Profile::Draft])
        .signed(BASE_URL, signer)
        .build()?;

    // Per person: a session. Its snapshot holds the private key for the answer: seal it.
    let card = Credential::sd_jwt_vc("pid", samples::ISSUER);
    let asked = Request::of([card.claims(["given_name", "age_equal_or_over"])]);
    let created = verifier.create_session(&asked, NewSession::live(), &mut OsEntropy, now())?;
    let mut session = created.session;
    let link = session.invitation().qr_code_url;
    println!("the link: {link}");

    // The wallet fetches {base URL}/v1/oid4vp/request/{session id}. Commit the transition of the
    // first fetch before you answer it.
    let asked = Asked::get(session.id().as_str());
    let fetched = verifier.request_object(&session, &asked, now())?;
    if let Some(transition) = fetched.transition {
        session = transition.session;
    }

    // The wallet's side: verify the request with the DID document, answer, encrypt.
    let did_document = serde_json::from_str(&did_document)?;
    let jar =
        JarRequest::verify(&JarLink::parse(&link)?, fetched.jwt.as_str(), &did_document, now().0)?;
    let wallet = Wallet::new(sample.holder_key).with(sample.credential);
    let answer = wallet.answer_jar(&jar, Transcript::OpenId4Vp, false, now().0)?.form_body();

    // From here on as in the other profile: the session knows how its answer is read.
    let (to, content_type) = (session.id().as_str(), Some(&*answer.content_type));
    let posted = Answer { to, content_type, body: &answer.bytes };
    let mut verification = verifier.begin(&session, posted, &mut OsEntropy, now())?;
    let Step::Done(decision) = verification.step()? else {
        return Err("nothing to ask for".into());
    };
    match decision.transition.session.result(Reader::Backend, now()) {
        Ok(result) => println!("verified: {}", result.claims_json()),
        Err(_) => println!("refused: {:?}", decision.report.error()),
    }
    Ok(())
}
