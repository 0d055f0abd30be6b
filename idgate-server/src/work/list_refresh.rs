//! Keeps trusted lists up to date: fetches each source when it is due. Of the gateways that share a
//! store, only one fetches at a time. Neither a verification nor a start waits for a fetch. A
//! refused list changes nothing: the list in force stays in force until its next update is due.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use idgate::{Egress, EgressError, Room};
use idgate_core::UnixMillis;
use idgate_core::limits::MAX_XML_LIST_BYTES;
use tokio::sync::watch;
use tokio::time::timeout;

use super::ticks;
use crate::limits::LIST_FETCH_TIME;
use idgate_base::clock::Clock;
use idgate_store::{FetchedList, FetchedListOfLists, ListSource, Refreshed, Store, StoreError};

/// The interval at which the gateway looks for due lists: a fetch is at most this late.
const TICK: Duration = Duration::from_secs(30);
/// The time for which no other gateway fetches. It is longer than a fetch, and shorter than the
/// pause after one.
const LEASE: Duration = Duration::from_secs(60);
const MINUTE_MS: u64 = 60 * 1000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
/// In this time before the next issue is due, the gateway fetches the list every hour.
const LAST_DAY_MS: u64 = 24 * HOUR_MS;
/// The pause after the first failure. Each further failure doubles it.
const FIRST_PAUSE_MS: u64 = 5 * MINUTE_MS;

type Fetching = Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send>>;

/// Refreshes the trusted lists of one gateway.
#[derive(Clone)]
pub struct ListRefresh {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    fetch: Arc<dyn Fn(String) -> Fetching + Send + Sync>,
    every_ms: u64,
    /// After so many bytes of lists that one list of lists moves, the others wait.
    moved_bytes: usize,
}

impl ListRefresh {
    /// Creates a refresh that fetches through `egress` every `hours` hours.
    pub fn new(store: Arc<Store>, clock: Arc<dyn Clock>, egress: Arc<Egress>, hours: u64) -> Self {
        let room = room();
        let fetch = move |url: String| -> Fetching {
            let (egress, room) = (egress.clone(), room.clone());
            Box::pin(async move { fetch(&egress, &url, &room).await })
        };
        let every_ms = hours.saturating_mul(HOUR_MS);
        Self { store, clock, fetch: Arc::new(fetch), every_ms, moved_bytes: MAX_XML_LIST_BYTES }
    }

    /// Runs until `stop` is true or its sender is dropped.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        let look = || async {
            if let Err(error) = self.look().await {
                tracing::error!(%error, "the trusted lists cannot be renewed");
            }
        };
        ticks::repeat(TICK, stop, look).await;
    }

    /// Fetches the due lists. Returns their number.
    ///
    /// # Errors
    /// The store failed.
    pub async fn look(&self) -> Result<usize, StoreError> {
        // Lists of lists come first: they may move a list to another URL.
        let mut done = 0_usize;
        for of_lists in [true, false] {
            let sources = self.store.list_sources().await?.into_iter();
            for source in sources.filter(|source| source.of_lists == of_lists) {
                if !self.is_due(&source, self.clock.now()) {
                    continue;
                }
                if !self.store.leads("trusted_lists", LEASE).await? {
                    return Ok(done);
                }
                done = done.saturating_add(1);
                if let Err(error) = self.refresh(&source).await {
                    tracing::error!(url = source.url, %error, "a trusted list cannot be renewed");
                    self.note(&source, error.to_string()).await?;
                }
            }
        }
        Ok(done)
    }

    async fn refresh(&self, source: &ListSource) -> Result<(), StoreError> {
        let url = source.url.clone();
        let telemetry = self.store.telemetry().clone();
        match (self.fetch)(url.clone()).await {
            Ok(token) => {
                let fetched = FetchedList { url, token, accept_rollback: false };
                let outcome = match source.of_lists {
                    true => match self.refresh_list_of_lists(fetched).await? {
                        Some(outcome) => outcome,
                        None => return Ok(()),
                    },
                    false => self.store.refresh_list(fetched, self.clock.now()).await?,
                };
                telemetry.list_refreshed(outcome.name());
                tell(&source.url, &outcome);
            }
            Err(why) => {
                telemetry.list_refreshed("fetch_failed");
                tracing::warn!(url, why, "a trusted list could not be fetched");
                self.note(source, why).await?;
            }
        }
        Ok(())
    }

    /// Notes a failure, so that the next try comes after a pause.
    async fn note(&self, source: &ListSource, why: String) -> Result<(), StoreError> {
        let (url, now) = (source.url.clone(), self.clock.now());
        match source.of_lists {
            true => self.store.note_list_of_lists_failure(url, why, now).await,
            false => self.store.note_list_failure(url, why, now).await,
        }
    }

    /// Fetches the lists that a new list of lists names in place of those in force, and stores them
    /// with it. `None`: another gateway now refreshes the lists.
    async fn refresh_list_of_lists(
        &self,
        list: FetchedList,
    ) -> Result<Option<Refreshed>, StoreError> {
        let (mut named, mut room) = (Vec::new(), self.moved_bytes);
        for url in self.store.moved_lists(list.clone(), self.clock.now()).await? {
            // The lease is certain to last for one fetch only.
            if !self.store.leads("trusted_lists", LEASE).await? {
                return Ok(None);
            }
            let token = match room {
                0 => Err("the lists before it were too long; it follows at the next try".into()),
                _ => (self.fetch)(url.clone()).await,
            };
            room = room.saturating_sub(token.as_ref().map_or(0, Vec::len));
            named.push((url, token));
        }
        let fetched = FetchedListOfLists { list, named };
        self.store.refresh_list_of_lists(fetched, self.clock.now()).await.map(Some)
    }

    /// Whether the list is due. A jitter of a tenth keeps gateways from fetching it simultaneously.
    fn is_due(&self, source: &ListSource, now: UnixMillis) -> bool {
        let failures = source.fetch.as_ref().map_or(0, |fetch| fetch.failures);
        let pause = match u32::try_from(failures).unwrap_or(u32::MAX) {
            0 if source.next_update.since(now) <= LAST_DAY_MS => HOUR_MS.min(self.every_ms),
            0 => self.every_ms,
            failed => {
                let doubled = 2_u64.saturating_pow(failed.saturating_sub(1));
                FIRST_PAUSE_MS.saturating_mul(doubled).min(HOUR_MS)
            }
        };
        let last = source.fetch.as_ref().map_or(source.added_at, |fetch| fetch.tried_at);
        let spread = source
            .url
            .bytes()
            .fold(last.0, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let early = spread.checked_rem(pause / 10).unwrap_or(0);
        // The list must be renewed even after the clock was set back.
        last > now || last.plus(pause.saturating_sub(early)) <= now
    }
}

/// Fetches a list now, for a command.
///
/// # Errors
/// The list cannot be fetched; the text says why.
pub fn fetch_once(egress: &Egress, url: &str) -> Result<Vec<u8>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let room = room();
    let fetched = async { timeout(LIST_FETCH_TIME, egress.fetch_list(url, &room)).await };
    match runtime.block_on(fetched) {
        Ok(Ok(body)) => Ok(body.as_ref().to_vec()),
        Ok(Err(error)) => Err(explained(&error)),
        Err(_late) => {
            let seconds = LIST_FETCH_TIME.as_secs();
            Err(format!("it did not answer within {seconds} s (timeout)"))
        }
    }
}

/// Explains a failed fetch to an operator: the problem, the remedy, and the code that is in the
/// log.
fn explained(error: &EgressError) -> String {
    let what = match error {
        EgressError::InvalidUrl => "it is not an https URL; correct it",
        EgressError::DnsFailed => {
            "its host name does not resolve; correct it, or check the resolver"
        }
        EgressError::AddressBlocked => {
            "its address is not public; allow it with IDGATE_FETCH_ALLOW_CIDRS"
        }
        EgressError::ConnectFailed => "nothing accepts connections there; make sure that it runs",
        EgressError::TlsFailed => {
            "its certificate is not trusted; name its CA with IDGATE_EXTRA_CA_FILE"
        }
        EgressError::Broken => "its answer is cut off, or is not HTTP; check the server there",
        EgressError::TooLarge => "the list is larger than the limit for lists",
        _ => "the list cannot be fetched",
    };
    format!("{what} ({error})")
}

async fn fetch(egress: &Egress, url: &str, room: &Room) -> Result<Vec<u8>, String> {
    match timeout(LIST_FETCH_TIME, egress.fetch_list(url, room)).await {
        Ok(Ok(body)) => Ok(body.as_ref().to_vec()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_late) => Err("timeout".into()),
    }
}

/// Returns room for one list at a time. A body needs up to twice its size while its buffer grows.
fn room() -> Room {
    Room::of(MAX_XML_LIST_BYTES.saturating_mul(2))
}

fn tell(url: &str, outcome: &Refreshed) {
    match outcome {
        Refreshed::New { from, to, providers } => {
            tracing::info!(url, from, to, providers, "a trusted list was renewed");
        }
        Refreshed::Refused(why) => tracing::error!(url, why, "a trusted list is refused"),
        Refreshed::Rollback(why) => {
            tracing::error!(url, why, "an older trusted list is in place of a newer one");
        }
        Refreshed::Unreachable(why) => {
            tracing::warn!(url, why, "a list that a list of lists names could not be fetched");
        }
        Refreshed::Same | Refreshed::Unwanted => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
