//! The status of SD-JWT VCs through a whole verification: what is fetched and when, what is
//! committed before, and the effect of the results.

use std::sync::Arc;

use idgate_core::crypto::aws_lc_rs;
use idgate_core::revocation::VerifiedSource;
use idgate_core::shell::{
    Jwk, Phase, RootOrigin, TrustAnchor, TrustEntry, TrustSnapshot, TrustedKey,
};
use idgate_core::trust::RevocationPolicy;
use idgate_core::verify::WalletReply;
use idgate_core::{
    Answer, CredentialFormat, Decision, Entropy, EntropyUnavailable, IssuerId, Need, NewSession,
    Reader, Reason, Request, Session, Status, Step, Supplied, TenantId, Transition, Trust,
    UnixMillis, Verifier,
};
use idgate_testkit::codec::base64url;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::status::{Crl, StatusJwt, StatusList, status_claim};
use idgate_testkit::time::{SAMPLE_NOW_MS, compact_utc, numeric_date};
use idgate_testkit::wallet::{Body, Wallet};
use idgate_testkit::x509::{CRL_URI, Identity, key_identifier};
use serde_json::{Value, json};

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
/// When the fetch returns.
const LATER: UnixMillis = UnixMillis(SAMPLE_NOW_MS + 3_000);
const URI: &str = "https://status.example/1";
const VCTS: [&str; 3] = ["urn:one", "urn:two", "urn:three"];

struct Zeros;

impl Entropy for Zeros {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        out.fill(0);
        Ok(())
    }
}

fn issuer_key() -> SigningKey {
    samples::issuer_key(Curve::P256)
}

fn entry(issuer_id: &str) -> TrustEntry {
    let mut entry = TrustEntry::new(IssuerId::new(issuer_id));
    entry.iss = None;
    let jwk = Jwk::parse(issuer_key().public_jwk().to_string().as_bytes()).unwrap();
    entry.keys.push(TrustedKey::new(jwk.key));
    entry
}

fn if_published() -> Verifier {
    verifier(RevocationPolicy::IfPublished)
}

fn verifier(policy: RevocationPolicy) -> Verifier {
    let entries = [ISSUER, "https://other.example"].map(|issuer_id| {
        let mut entry = entry(issuer_id);
        entry.revocation = policy;
        entry
    });
    Verifier::builder(Trust::of_snapshot(
        aws_lc_rs::PROVIDER,
        Arc::new(TrustSnapshot::new(1, entries)),
    ))
    .profiles([idgate_core::Profile::Draft])
    .unsigned("https://gateway.example")
    .build()
    .unwrap()
}

/// A session and the wallet's answer to it.
struct Flow {
    verifier: Verifier,
    session: Session,
    body: Body,
}

impl Flow {
    /// A session that asks for one credential for each of `statuses`. `None`: no status claim.
    fn new(statuses: &[Option<Value>]) -> Self {
        Self::by(&if_published(), ISSUER, statuses)
    }

    /// A session of `verifier` that asks for credentials of `issuer`.
    fn by(verifier: &Verifier, issuer: &str, statuses: &[Option<Value>]) -> Self {
        Self::made(issuer, verifier.clone(), "given_name", statuses)
    }

    fn under(policy: RevocationPolicy, statuses: &[Option<Value>]) -> Self {
        Self::by(&verifier(policy), ISSUER, statuses)
    }

    /// The last credential is asked for `claim`.
    fn asking(claim: &str, statuses: &[Option<Value>]) -> Self {
        Self::made(ISSUER, if_published(), claim, statuses)
    }

    fn made(issuer: &str, verifier: Verifier, claim: &str, statuses: &[Option<Value>]) -> Self {
        Self::of_issuers(&vec![issuer; statuses.len()], verifier, claim, statuses)
    }

    /// Each credential is requested from its own issuer in `issuers`.
    fn of_issuers(
        issuers: &[&str],
        verifier: Verifier,
        claim: &str,
        statuses: &[Option<Value>],
    ) -> Self {
        let last = statuses.len() - 1;
        let credentials: Vec<Value> = VCTS
            .iter()
            .zip(issuers)
            .enumerate()
            .map(|(at, (vct, issuer))| {
                let claims = [if at == last { claim } else { "given_name" }];
                json!({ "format": "vc+sd-jwt", "issuer_id": issuer, "claims": claims, "id": vct })
            })
            .collect();
        let body = json!({ "credentials": credentials }).to_string();
        let request = Request::from_json(body.as_bytes()).unwrap();
        let tenant = TenantId::new("cli_0000000000000000000000");
        let created = verifier
            .create_session(&request, NewSession::live().tenant(tenant), &mut Zeros, NOW)
            .unwrap();
        let body = answer(&created, statuses);
        Self { verifier, session: created.session, body }
    }

    fn verify(&self) -> idgate_core::Verification<'_> {
        let response = Answer {
            to: self.session.id().as_str(),
            content_type: Some(&self.body.content_type),
            body: &self.body.bytes,
        };
        self.verifier.begin(&self.session, response, &mut Zeros, NOW).unwrap()
    }

    /// Steps once, supplies `what` for every need, and decides.
    fn decide(&self, what: Supplied<'_>) -> (Transition, Decision) {
        let mut verification = self.verify();
        let (hold, needs) = asked(verification.step().unwrap());
        for need in &needs {
            verification.supply(need, what, LATER);
        }
        (hold, done(verification.step().unwrap()))
    }
}

/// One presentation for each credential, each bound to the sample holder.
fn answer(created: &Transition, statuses: &[Option<Value>]) -> Body {
    let holder = samples::holder_key(Curve::P256);
    let wallet =
        VCTS.iter().zip(statuses).fold(Wallet::new(holder.clone()), |wallet, (vct, status)| {
            let credential: CredentialBuilder =
                samples::identity(&holder, NOW.0).without("iss").plain("vct", *vct);
            let credential = match status {
                Some(status) => credential.plain("status", status.clone()),
                None => credential,
            };
            wallet.with(credential.issue(&issuer_key()))
        });
    let uri = created.session.invitation().qr_code_url;
    let request = idgate_testkit::request::AuthorizationRequest::parse(&uri).unwrap();
    // The entry names no types, so the first credential would fit every descriptor.
    let tokens = wallet.credentials().iter().map(|credential| {
        let shown = idgate_testkit::wallet::Presentation::whole(credential);
        let proof = idgate_testkit::wallet::KbJwt::new(&holder, &shown, &request, NOW.0);
        idgate_testkit::wallet::present(&shown, Some(&proof.sign()))
    });
    let answer = idgate_testkit::wallet::Answer::new(&request, tokens.collect());
    Body::form(&answer.parameters())
}

fn list_at(uri: &str) -> Need {
    Need::StatusList { uri: uri.into(), format: CredentialFormat::SdJwtVc }
}

fn asked(step: Step) -> (Transition, Vec<Need>) {
    match step {
        Step::Need { hold, needs } => (*hold, needs),
        step => panic!("expected a need: {step:?}"),
    }
}

fn done(step: Step) -> Decision {
    match step {
        Step::Done(decision) => *decision,
        step => panic!("expected a verdict: {step:?}"),
    }
}

fn reason(decision: &Decision) -> Option<Reason> {
    decision.transition.session.reason_at(LATER)
}

fn published(idx: u64) -> Option<Value> {
    Some(status_claim(idx, URI))
}

/// Revoked at 1, suspended at 2, something else at 3.
fn token() -> String {
    let list = StatusList::new(2, 8).with(1, 1).with(2, 2).with(3, 3);
    StatusJwt::new(&list, URI, numeric_date(NOW.0)).sign(&issuer_key())
}

fn revocation(decision: &Decision) -> Vec<String> {
    let result = decision.transition.session.result(Reader::Backend, LATER).unwrap();
    let details: Value = serde_json::from_str(result.details_json()).unwrap();
    let credentials = details["credentials"].as_array().unwrap().iter();
    credentials.map(|credential| credential["revocation"].as_str().unwrap().into()).collect()
}

#[test]
fn a_published_status_holds_the_session_while_it_is_fetched() {
    let flow = Flow::new(&[published(0)]);
    let mut verification = flow.verify();
    let (hold, needs) = asked(verification.step().unwrap());
    assert_eq!(needs, [list_at(URI)]);
    assert_eq!(hold.from, flow.session.revision());
    assert_eq!(hold.session.phase(), &Phase::Verifying { lease_until: NOW.plus(20_000) });
    assert!(hold.session.result(Reader::Backend, NOW).is_err());

    let sources = verification.supply(&needs[0], Supplied::Bytes(token().as_bytes()), LATER);
    assert_eq!(sources.len(), 1);
    let decision = done(verification.step().unwrap());
    assert_eq!(decision.transition.from, hold.session.revision());
    assert_eq!(decision.transition.session.phase(), &Phase::Verified { at: LATER });
    assert_eq!(decision.transition.session.trust_version(), Some(1));
    assert!(matches!(decision.reply, WalletReply::Accepted { .. }));
    assert_eq!(revocation(&decision), ["good"]);
    assert!(decision.report.error().is_none());
}

#[test]
fn without_a_published_status_there_is_one_commit() {
    let flow = Flow::new(&[None]);
    let decision = done(flow.verify().step().unwrap());
    assert_eq!(decision.transition.from, flow.session.revision());
    assert_eq!(revocation(&decision), ["not_published"]);
    let off = Flow::under(RevocationPolicy::Off, &[published(1)]);
    assert_eq!(revocation(&done(off.verify().step().unwrap())), ["off"]);
}

#[test]
fn the_list_decides() {
    let token = token();
    let list = Supplied::Bytes(token.as_bytes());
    for (idx, what, expected) in [
        (0, list, None),
        (1, list, Some(Reason::CredentialRevoked)),
        (2, list, Some(Reason::CredentialSuspended)),
        (3, list, Some(Reason::CredentialRevoked)),
        (16, list, Some(Reason::RevocationUnknown)),
        (0, Supplied::Unavailable, Some(Reason::RevocationUnknown)),
        (0, Supplied::Bytes(b"<html>"), Some(Reason::RevocationUnknown)),
        (0, Supplied::Bytes(b""), Some(Reason::RevocationUnknown)),
    ] {
        let (hold, decision) = Flow::new(&[published(idx)]).decide(what);
        assert_eq!(reason(&decision), expected, "{idx}, {what:?}");
        assert_eq!(decision.transition.from, hold.session.revision());
        let refused = matches!(decision.reply, WalletReply::Refused);
        assert_eq!(refused, expected.is_some());
        let status = if refused { Status::Failed } else { Status::Verified };
        assert_eq!(decision.transition.session.status_at(LATER), status);
        assert_eq!(decision.report.error().map(|error| error.reason), expected);
    }
}

#[test]
fn no_status_is_fetched_for_an_answer_that_fails_another_check() {
    // The second credential has a status with an unknown mechanism.
    let unknown = Flow::new(&[published(0), Some(json!({ "mechanism": {} }))]);
    let decision = done(unknown.verify().step().unwrap());
    assert_eq!(reason(&decision), Some(Reason::RevocationUnknown));
    assert_eq!(decision.transition.from, unknown.session.revision());
    // The second credential lacks a claim.
    let lacking = Flow::asking("pseudonym", &[published(0), published(0)]);
    let decision = done(lacking.verify().step().unwrap());
    assert_eq!(reason(&decision), Some(Reason::ClaimMissing));
    assert_eq!(decision.transition.from, lacking.session.revision());
    // One credential requires a status and has none.
    let missing = Flow::under(RevocationPolicy::Required, &[published(0), None]);
    let decision = done(missing.verify().step().unwrap());
    assert_eq!(reason(&decision), Some(Reason::RevocationUnknown));
}

#[test]
fn equal_status_sources_are_fetched_once_for_all_credentials() {
    let flow = Flow::new(&[published(0), None, published(4)]);
    let (_, decision) = flow.decide(Supplied::Bytes(token().as_bytes()));
    assert_eq!(revocation(&decision), ["good", "not_published", "good"]);
    let flow = Flow::new(&[published(0), published(1)]);
    let (_, needs) = asked(flow.verify().step().unwrap());
    assert_eq!(needs.len(), 1);
    let (_, decision) = flow.decide(Supplied::Bytes(token().as_bytes()));
    assert_eq!(reason(&decision), Some(Reason::CredentialRevoked));
    let failed: Vec<_> = decision.report.credentials.iter().map(|c| c.failed.is_some()).collect();
    assert_eq!(failed, [false, true]);
}

/// Padded Base64, as in `x5c` (RFC 7515 4.1.6).
fn base64(der: &[u8]) -> String {
    let text = base64url(der).replace('-', "+").replace('_', "/");
    let padded = text.len().next_multiple_of(4);
    format!("{text:=<padded$}")
}

/// The signer of a list is known once the list is there, and then its CRL is fetched. An embedder
/// that commits each hold gets the same as one that commits only the first.
#[test]
fn the_crl_of_a_lists_signer_is_a_second_round_with_a_hold_that_changes_nothing() {
    let root = Identity::iaca(Curve::P256, NOW.0);
    let signer = root.document_signer(Curve::P256, NOW.0);
    let mut entry = entry(ISSUER);
    entry.status_roots.push(
        TrustAnchor::from_der(&aws_lc_rs::PROVIDER, &root.der, RootOrigin::RootFile).unwrap(),
    );
    let trust = Arc::new(TrustSnapshot::new(1, [entry]));
    let verifier = Verifier::builder(Trust::of_snapshot(aws_lc_rs::PROVIDER, trust))
        .profiles([idgate_core::Profile::Draft])
        .unsigned("https://gateway.example");
    let verifier = verifier.build().unwrap();
    let flow = Flow::made(ISSUER, verifier, "given_name", &[published(0)]);
    let list = StatusJwt::new(&StatusList::new(1, 8), URI, numeric_date(NOW.0));
    let x5c = json!([base64(&signer.der)]);
    let list = list.with_header("x5c", x5c).sign(&signer.key);
    let crl = Crl::new(
        &root.builder.subject.der(),
        &key_identifier(&root.key),
        &compact_utc(NOW.0 - 1000),
        &compact_utc(NOW.0 + 3_600_000),
    );
    let crl = crl.sign(&root.key);
    for (what, expected) in
        [(Supplied::Bytes(&crl), None), (Supplied::Unavailable, Some(Reason::RevocationUnknown))]
    {
        let mut verification = flow.verify();
        let (hold, needs) = asked(verification.step().unwrap());
        assert_eq!(needs, [list_at(URI)]);
        verification.supply(&needs[0], Supplied::Bytes(list.as_bytes()), LATER);
        let (again, needs) = asked(verification.step().unwrap());
        assert_eq!(needs, [Need::Crl { uri: CRL_URI.into() }]);
        assert_eq!((again.from, again.session.revision()), (hold.session.revision(), again.from));
        assert!(again.effects.is_empty());
        verification.supply(&needs[0], what, LATER);
        let decision = done(verification.step().unwrap());
        assert_eq!(decision.transition.from, hold.session.revision());
        assert_eq!(reason(&decision), expected);
    }
}

#[test]
fn a_status_source_belongs_to_the_issuers_that_named_it() {
    let (other, own) = ("https://other.example", "https://status.example/2");
    let issuers = [ISSUER, other, other];
    let statuses = [published(0), published(1), Some(status_claim(0, own))];
    let verifier = if_published();
    let flow = Flow::of_issuers(&issuers, verifier, "given_name", &statuses);
    let mut verification = flow.verify();
    let (_, needs) = asked(verification.step().unwrap());
    let issuers_of = |uri: &str| {
        let need = list_at(uri);
        assert!(needs.contains(&need), "{uri}");
        let issuers = verification.issuers_of(&need).into_iter();
        issuers.map(|issuer| issuer.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(issuers_of(URI), [ISSUER, other]);
    assert_eq!(issuers_of(own), [other]);
}

#[test]
fn status_sources_remain_needed_until_supplied() {
    let other = "https://status.example/2";
    let flow = Flow::new(&[published(0), Some(status_claim(0, other))]);
    let mut verification = flow.verify();
    let (hold, needs) = asked(verification.step().unwrap());
    assert_eq!(needs.len(), 2);
    verification.supply(&needs[0], Supplied::Bytes(token().as_bytes()), LATER);
    let (again, rest) = asked(verification.step().unwrap());
    assert_eq!((again.from, again.session.phase()), (hold.from, hold.session.phase()));
    assert_eq!(rest, [list_at(other)]);
    verification.supply(&rest[0], Supplied::Unavailable, LATER);
    let decision = done(verification.step().unwrap());
    assert_eq!(reason(&decision), Some(Reason::RevocationUnknown));
}

#[test]
fn an_answer_that_arrived_in_time_may_finish_after_expiry() {
    let flow = Flow::new(&[published(0)]);
    let mut verification = flow.verify();
    let (_, needs) = asked(verification.step().unwrap());
    let late = flow.session.expires_at().plus(1);
    let fresh = StatusJwt::new(&StatusList::new(1, 8), URI, numeric_date(late.0));
    let fresh = fresh.sign(&issuer_key());
    verification.supply(&needs[0], Supplied::Bytes(fresh.as_bytes()), late);
    let decision = done(verification.step().unwrap());
    assert_eq!(decision.transition.session.phase(), &Phase::Verified { at: late });
}

/// A list that a verification by `verifier` authenticated.
fn source(verifier: &Verifier) -> VerifiedSource {
    let flow = Flow::by(verifier, ISSUER, &[published(0)]);
    let mut verification = flow.verify();
    let (_, needs) = asked(verification.step().unwrap());
    let token = token();
    let mut sources = verification.supply(&needs[0], Supplied::Bytes(token.as_bytes()), NOW);
    sources.pop().unwrap()
}

#[test]
fn a_cached_status_source_needs_no_hold() {
    let verifier = if_published();
    let source = source(&verifier);
    assert_eq!(source.need(), list_at(URI));
    assert_eq!(source.fresh_until(), NOW.plus(3_600_000));
    for (idx, expected) in [(4, None), (1, Some(Reason::CredentialRevoked))] {
        let flow = Flow::by(&verifier, ISSUER, &[published(idx)]);
        let mut verification = flow.verify();
        let _uncommitted = asked(verification.step().unwrap());
        assert!(verification.reuse(&source));
        let decision = done(verification.step().unwrap());
        assert_eq!(decision.transition.from, flow.session.revision());
        assert_eq!(reason(&decision), expected);
    }
}

#[test]
fn a_cached_status_source_is_bound_to_issuer_and_trust() {
    let verifier = if_published();
    let source = source(&verifier);
    let statuses = [published(0)];
    for flow in [
        Flow::by(&verifier, "https://other.example", &statuses),
        // Rebuilt trust is different, even with the same number.
        Flow::by(&if_published(), ISSUER, &statuses),
    ] {
        let mut verification = flow.verify();
        let (_, needs) = asked(verification.step().unwrap());
        assert!(!verification.reuse(&source));
        assert_eq!(asked(verification.step().unwrap()).1, needs);
    }
    let early = Flow::by(&verifier, ISSUER, &statuses);
    assert!(!early.verify().reuse(&source), "nothing was asked yet");
}
