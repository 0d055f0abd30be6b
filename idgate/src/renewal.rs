//! Fetching ahead: sources in use are fetched again before their copies expire, at times that do
//! not depend on presentations (ARF 3.0, VCR_15). Presentations therefore do not wait for a host,
//! and a host cannot tell from the fetch when a person presents.

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use std::sync::Arc;

use idgate_core::revocation::VerifiedSource;
use idgate_core::verify::Scope;
use idgate_core::{Entropy, Need, Trust, UnixMillis};

use crate::cache::Due;
use crate::delivery::{Delivery, Fetched};
use crate::fetch::{Fetcher, lock};
use crate::flights::{Allowance, Asked};
use crate::limits::RENEWALS_AT_ONCE;

/// How many sources were fetched ahead, by outcome.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Renewals {
    /// A later copy was fetched.
    pub renewed: u64,
    /// The fetch failed. The last good copy stays in use, and the source is asked again later.
    pub failed: u64,
    /// The fetched list is not authentic, or has expired. The consequences are the same.
    pub refused: u64,
}

impl Renewals {
    /// The sum; 0: nothing is due, or the budget is used up.
    pub const fn count(&self) -> u64 {
        self.renewed.saturating_add(self.failed).saturating_add(self.refused)
    }
}

impl Fetcher {
    /// Fetches the sources again that are due at `now`, up to four in parallel, and checks them
    /// under `trust`, which may have changed since. Call it every few seconds, and again
    /// immediately if it did something.
    ///
    /// A source is due before its copy expires: by an eighth to three eighths of the copy's
    /// validity. `entropy` draws the time, so that gateways do not ask a host at the same moment.
    /// It is renewed for a day after the last presentation that needed it. Copies with a validity
    /// of less than a minute are fetched only for presentations. There are at most 60 renewals a
    /// minute, and none after these brought 64 MiB.
    pub async fn renew_due(
        self: &Arc<Self>,
        trust: &Trust,
        entropy: &mut (dyn Entropy + Send),
        now: UnixMillis,
    ) -> Renewals {
        let most = lock(&self.budget).left(now).min(RENEWALS_AT_ONCE);
        let is_other = |scope: &Scope| scope.under(trust) != *scope;
        let due = match most {
            0 => Vec::new(),
            _ => {
                let mut cache = lock(&self.cache);
                // Sources of removed issuers are not needed any more.
                cache.retain(|scope| scope.is_trusted(trust));
                cache.due(now, most, is_other, || drawn(entropy))
            }
        };
        let mut done = Renewals::default();
        if due.is_empty() {
            return done;
        }
        let asked = due.iter().map(|due| Asked { need: due.need.clone(), issuers: due.issuers() });
        let outcomes = self.fetch(asked.collect(), &mut Allowance::of_one_answer()).await;
        for (due, (_, came)) in due.into_iter().zip(outcomes.0) {
            let counted = match came {
                Delivery::Body(body) => {
                    lock(&self.budget).spend(1, body.as_ref().len());
                    let (need, judged) = judge(trust, due, body, now).await;
                    let any = judged.iter().any(|(_, later)| !later.is_empty());
                    self.keep_renewed(trust, &need, judged, entropy, now);
                    if any { &mut done.renewed } else { &mut done.refused }
                }
                Delivery::Nothing(_) | Delivery::Spent | Delivery::NotAsked => {
                    lock(&self.budget).spend(1, 0);
                    for (scope, _) in &due.kept {
                        lock(&self.cache).put_off(&due.need, scope, now, drawn(entropy));
                    }
                    &mut done.failed
                }
            };
            *counted = counted.saturating_add(1);
        }
        done
    }

    fn keep_renewed(
        &self,
        trust: &Trust,
        need: &Need,
        judged: Vec<(Scope, Vec<VerifiedSource>)>,
        entropy: &mut (dyn Entropy + Send),
        now: UnixMillis,
    ) {
        let mut cache = lock(&self.cache);
        for (scope, later) in judged {
            match later.is_empty() {
                true => cache.put_off(need, &scope, now, drawn(entropy)),
                false => cache.renew((need.clone(), &scope), scope.under(trust), later, now),
            }
        }
    }
}

/// Checks `body` for each scope that has a copy of its need. It works on another thread, because a
/// list may inflate to megabytes.
async fn judge(
    trust: &Trust,
    due: Due,
    body: Fetched,
    now: UnixMillis,
) -> (Need, Vec<(Scope, Vec<VerifiedSource>)>) {
    let (trust, Due { need, kept }) = (trust.clone(), due);
    let judging = tokio::task::spawn_blocking(move || {
        let later = |known: &Arc<VerifiedSource>| trust.renewed(known, body.as_ref(), now);
        let of_scope = |(scope, known): (Scope, Vec<Arc<VerifiedSource>>)| {
            (scope, known.iter().filter_map(later).collect())
        };
        kept.into_iter().map(of_scope).collect()
    });
    // A panic of the readers is a bug; the cached copies stay.
    (need, judging.await.unwrap_or_default())
}

/// A random number; 0 without entropy, so that there is no jitter.
fn drawn(entropy: &mut (dyn Entropy + Send)) -> u64 {
    let mut bytes = [0; 8];
    entropy.fill(&mut bytes).map_or(0, |()| u64::from_be_bytes(bytes))
}
