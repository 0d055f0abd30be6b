//! A wallet's whole answer with both formats, as the response endpoint receives it.

use std::sync::Arc;

use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{Jwk, RootOrigin, TrustAnchor, TrustEntry, TrustSnapshot, TrustedKey};
use idgate_core::{
    Answer, Entropy, EntropyUnavailable, IssuerId, NewSession, Reader, Request, Session, Step,
    TenantId, Trust, UnixMillis, Verifier,
};
use idgate_testkit::keys::Curve;
use idgate_testkit::samples::{self, SampleMdl, issue_mdl};
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::{Value, json};

use super::{NOW_MS, Parts};

pub(super) const MDL_ISSUER: &str = "utopia";

/// Any answer that is still verified gives the tenant the same claims.
pub(super) fn whole_response_target() -> Parts {
    let sample = issue_mdl(NOW_MS);
    let verifier = verifier(&sample);
    let session = session(&verifier);
    let uri = session.invitation().qr_code_url;
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, NOW_MS);
    let credential = credential.issue(&samples::issuer_key(Curve::P256));
    let wallet = Wallet::new(holder).with(credential).with_mdoc(sample.document);
    let body = wallet.answer_uri(&uri, NOW_MS).unwrap().form_body();
    let Body { content_type, bytes: good } = body;
    let claims = move |bytes: &[u8]| verified_claims(&verifier, &session, &content_type, bytes);
    let expected = claims(&good);
    assert!(expected.is_some());
    let check = move |bytes: &[u8]| {
        let claims = claims(bytes);
        assert!(claims.is_none() || claims == expected);
    };
    (vec![good], Box::new(check))
}

fn verifier(sample: &SampleMdl) -> Verifier {
    let trust = Arc::new(trust(sample));
    Verifier::builder(Trust::of_snapshot(PROVIDER, trust))
        .profiles([idgate_core::Profile::Draft])
        .unsigned("https://gateway.example")
        .build()
        .unwrap()
}

/// The issuers of both.
pub(super) fn trust(sample: &SampleMdl) -> TrustSnapshot {
    let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
    let mut people = TrustEntry::new(IssuerId::new(samples::ISSUER));
    people.keys.push(TrustedKey::new(Jwk::parse(jwk.as_bytes()).unwrap().key));
    people.vct.push(samples::VCT.into());
    let mut road = TrustEntry::new(IssuerId::new(MDL_ISSUER));
    road.roots
        .push(TrustAnchor::from_der(&PROVIDER, &sample.root.der, RootOrigin::RootFile).unwrap());
    TrustSnapshot::new(1, [people, road])
}

/// A test-mode session, which the sample licence needs.
fn session(verifier: &Verifier) -> Session {
    let same = json!([["pid", "mdl"]]);
    session_of(verifier, &["given_name", "family_name"], &["family_name", "age_over_18"], same)
}

/// The same for other claims and holders.
#[cfg(test)]
fn asking(verifier: &Verifier, pid: &[&str], mdl: &[&str]) -> Session {
    session_of(verifier, pid, mdl, json!([]))
}

fn session_of(verifier: &Verifier, pid: &[&str], mdl: &[&str], groups: Value) -> Session {
    let request = json!({ "credentials": [
        { "id": "pid", "format": "vc+sd-jwt", "issuer_id": samples::ISSUER, "claims": pid },
        { "id": "mdl", "format": "mso_mdoc", "issuer_id": MDL_ISSUER, "claims": mdl },
    ], "same_subject_groups": groups });
    let request = request.to_string().into_bytes();
    let request = Request::from_json(&request).unwrap();
    let tenant = TenantId::new("cli_0000000000000000000000");
    let now = UnixMillis(NOW_MS);
    verifier
        .create_session(&request, NewSession::test().tenant(tenant), &mut Counted::default(), now)
        .unwrap()
        .session
}

fn verified_claims(
    verifier: &Verifier,
    session: &Session,
    content_type: &str,
    body: &[u8],
) -> Option<String> {
    let (to, now) = (session.id().as_str(), UnixMillis(NOW_MS));
    let answer = Answer { to, content_type: Some(content_type), body };
    let mut verification = verifier.begin(session, answer, &mut Counted::default(), now).ok()?;
    match verification.step().ok()? {
        Step::Done(decision) => decision
            .transition
            .session
            .result(Reader::Backend, now)
            .ok()
            .map(|result| result.claims_json().to_owned()),
        // Nothing in it publishes a status.
        step => panic!("{step:?}"),
    }
}

/// Gives the same bytes in every run.
#[derive(Default)]
pub(super) struct Counted(u8);

impl Entropy for Counted {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        let next = &mut self.0;
        out.fill_with(|| {
            *next = next.wrapping_add(89);
            *next
        });
        Ok(())
    }
}

/// A session that asks for portraits, and the wallet that has them.
#[cfg(test)]
pub(super) struct Desk {
    verifier: Verifier,
    session: Session,
}

#[cfg(test)]
impl Desk {
    pub(super) fn new() -> Self {
        let verifier = verifier(&issue_mdl(NOW_MS));
        let session = asking(&verifier, &["picture"], &["portrait"]);
        Self { verifier, session }
    }

    /// A good answer whose two presentations have about this many bytes together.
    pub(super) fn answer(&self, bytes: usize) -> idgate_testkit::wallet::Answer {
        let uri = self.session.invitation().qr_code_url;
        large_wallet(bytes).answer_uri(&uri, NOW_MS).unwrap()
    }

    /// The claims of an answer, if it is verified.
    pub(super) fn claims(&self, content_type: &str, body: &[u8]) -> Option<String> {
        verified_claims(&self.verifier, &self.session, content_type, body)
    }
}

/// A wallet whose two presentations have about this many bytes together, because of a picture.
#[cfg(test)]
pub(super) fn large_wallet(bytes: usize) -> Wallet {
    use idgate_testkit::codec::{HashAlg, base64url};
    use idgate_testkit::mdoc::{Cbor, Item, MDL_NAME_SPACE};
    let half = (bytes / 2).saturating_sub(4000);
    let holder = samples::holder_key(Curve::P256);
    let portrait = base64url(&vec![7; half / 16 * 9]);
    let identity = samples::identity(&holder, NOW_MS).sd("picture", portrait);
    let mut document = issue_mdl(NOW_MS).document;
    let portrait = Cbor::Bytes(vec![7; half / 4 * 3]);
    let issued = &mut document.issuer_signed;
    issued.items.retain(|item| *item.map.clone().at("elementIdentifier") != "portrait".into());
    issued.items.push(Item::new(MDL_NAME_SPACE, 9999, "portrait", portrait));
    issued.digest(HashAlg::Sha256);
    let issuer = samples::issuer_key(Curve::P256);
    Wallet::new(holder).with(identity.issue(&issuer)).with_mdoc(document)
}
