//! One mdoc verified inside an application, without a server, its revocation included: make a
//! session, take the wallet's answer, have fetched what the verdict needs, read the claims.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::ids::IssuerId;
use idgate_core::trust::roots_from_file;
use idgate_core::{
    Answer, Credential, NewSession, Reader, Request, Transition, Trust, TrustEntry, TrustSnapshot,
    Verifier,
};
use idgate_examples::{OsEntropy, now};
use idgate::{BlockingFetcher, Egress, Scope};
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;

fn main() -> Result<(), Box<dyn Error>> {
    let sample = samples::issue_mdl(now().0);

    // Once: whom to trust, and where wallets reach us. A file may hold many roots, PEM or DER.
    let mut issuer = TrustEntry::new(IssuerId::new(samples::MDL_ISSUER));
    issuer.roots = roots_from_file(&PROVIDER, &sample.root.der)?;
    let trust = Arc::new(TrustSnapshot::new(1, [issuer]));
    let verifier = Verifier::builder(Trust::of_snapshot(PROVIDER, trust.clone()))
        .profiles([idgate_core::Profile::Draft])
        .unsigned("https://shop.example")
        .build()?;
    // Reaches public addresses only, and remembers what it got: for many threads and verifications.
    let fetcher = BlockingFetcher::new(Egress::new(Vec::new(), None)?);

    // Per person: a session. Commit `created.session` before you show its link. This one is in
    // test mode, which tolerates a document signer that publishes no CRL.
    let licence = Credential::mdoc("mdl", samples::MDL_ISSUER, "org.iso.18013.5.1.mDL");
    let asked = Request::of([licence.claims(["family_name", "age_over_18"])]);
    let created = verifier.create_session(&asked, NewSession::test(), &mut OsEntropy, now())?;
    let link = created.session.invitation().qr_code_url;

    // The wallet answers to {base URL}/v1/oid4vp/response/{session id}.
    let wallet = Wallet::new(sample.document.device_key.clone()).with_mdoc(sample.document);
    let answer = wallet.answer_uri(&link, now().0)?.form_body();

    // Decide. Status lists and CRLs are asked for last of all, when everything else is good.
    let (to, content_type) = (created.session.id().as_str(), Some(&*answer.content_type));
    let posted = Answer { to, content_type, body: &answer.bytes };
    let mut verification = verifier.begin(&created.session, posted, &mut OsEntropy, now())?;
    // `commit` stores the hold before the first fetch; the fetcher asks for all of them at once.
    let scope = Scope::of(&created.session, trust.version());
    let commit = |_hold: Transition| Ok::<_, Infallible>(());
    let decision = fetcher.decide(&mut verification, &scope, now, commit)?;

    // Commit `decision.transition` where the revision still is the old one; then reply.
    match decision.transition.session.result(Reader::Backend, now()) {
        Ok(result) => println!("verified: {}", result.claims_json()),
        Err(_) => println!("refused: {:?}", decision.report.error()),
    }
    Ok(())
}
