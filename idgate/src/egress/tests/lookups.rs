//! Name look-ups that do not end. They cannot be cancelled, so they keep their caller's permit.

use idgate_core::{CredentialFormat, IssuerId, Need};
use idgate_testkit::patience::patience;
use tokio::time::error::Elapsed;

use super::*;
use crate::delivery::Delivery;
use crate::fetch::Fetcher;
use crate::flights::{Allowance, Asked};
use crate::limits::{FETCHES_PER_HOST, FETCHES_PER_ISSUER, MAX_REQUESTS};
use crate::silence::Silence;
use idgate_testkit::patience::until;

const SHORT: Duration = Duration::from_millis(50);
fn asked(issuer: &str, uri: String) -> Asked {
    let need = Need::StatusList { uri, format: CredentialFormat::SdJwtVc };
    Asked { need, issuers: vec![IssuerId::new(issuer)] }
}

/// The outcome of `asked` with this time for permits, and the time of a few steps for sources.
async fn came(fetcher: &Arc<Fetcher>, asked: Vec<Asked>, turns: Duration) -> Vec<Delivery> {
    let mut allowed = Allowance::of(turns, SHORT);
    fetcher.fetch(asked, &mut allowed).await.0.into_iter().map(|(_, came)| came).collect()
}

/// The answer of a receiver with an unresolved name within the time of a few steps.
async fn post(egress: &Egress) -> Result<Result<Answer, EgressError>, Elapsed> {
    let message = Post { url: "https://shop.example/", headers: &[], body: "{}" };
    tokio::time::timeout(SHORT, egress.post(message)).await
}

fn is_nothing(came: &Delivery) -> bool {
    matches!(came, Delivery::Nothing(_))
}

async fn until_used(fetcher: &Fetcher, used: usize) {
    until("so many turns are taken", async || fetcher.used().0 == used).await;
}

#[tokio::test]
async fn a_lookup_keeps_its_permit_and_a_source_without_a_permit_is_not_asked() {
    let silence = Silence::default();
    let fetcher = Arc::new(Fetcher::over(silence.egress()));
    let at = |number| asked("one", format!("https://silent.example/{number}"));
    let late = came(&fetcher, (0..FETCHES_PER_HOST).map(at).collect(), patience()).await;
    assert!(late.iter().all(is_nothing), "the source had its time");
    assert_eq!(fetcher.used().0, FETCHES_PER_HOST, "its name is still being looked up");
    let more = came(&fetcher, vec![at(FETCHES_PER_HOST)], SHORT).await;
    assert!(matches!(more[..], [Delivery::NotAsked]), "no lookup of the source began");
    silence.end();
    until_used(&fetcher, 0).await;
    assert!(came(&fetcher, vec![at(FETCHES_PER_HOST)], patience()).await.iter().all(is_nothing));
}

#[tokio::test]
async fn an_issuer_with_many_silent_names_leaves_permits_for_others() {
    let silence = Silence::default();
    let fetcher = Arc::new(Fetcher::over(silence.egress()));
    let of = |issuer, number| asked(issuer, format!("https://{number}.example/list"));
    // One answer asks for fewer sources than an issuer has permits.
    let all: Vec<_> = (0..FETCHES_PER_ISSUER).map(|number| of("one", number)).collect();
    for part in all.chunks(MAX_REQUESTS) {
        came(&fetcher, part.to_vec(), patience()).await;
    }
    let mine = came(&fetcher, vec![of("one", FETCHES_PER_ISSUER)], SHORT).await;
    assert!(matches!(mine[..], [Delivery::NotAsked]));
    // It is asked, although its name is not resolved either.
    assert!(came(&fetcher, vec![of("other", 0)], patience()).await.iter().all(is_nothing));
}

#[tokio::test]
async fn a_lookup_keeps_its_permit_after_its_caller_gave_up() {
    let silence = Silence::default();
    let (egress, turn) = (silence.egress(), Arc::new(()));
    assert!(post(&egress.keeping(turn.clone())).await.is_err());
    assert_eq!(Arc::strong_count(&turn), 2);
    silence.end();
    until("the look-up ends", async || Arc::strong_count(&turn) == 1).await;
}

#[tokio::test]
async fn lookups_without_a_permit_are_limited() {
    let silence = Silence::default();
    let egress = silence.egress();
    let mut given_up = JoinSet::new();
    for _ in 0..LOOKUPS {
        let egress = egress.clone();
        given_up.spawn(async move { post(&egress).await.is_err() });
    }
    assert!(given_up.join_all().await.into_iter().all(|late| late));
    assert_eq!(post(&egress).await.unwrap(), Err(EgressError::OwnFault));
    let sibling = egress.sibling(Vec::new());
    assert!(post(&sibling).await.is_err(), "another way out has its own");
    assert!(post(&egress.keeping(Arc::new(()))).await.is_err(), "who has a turn may");
    silence.end();
    let is_asked = async || matches!(post(&egress).await, Ok(Err(EgressError::DnsFailed)));
    until("names are looked up again", is_asked).await;
}
