//! Fetching ahead: sources in use are fetched again before their copies expire, at times that do
//! not depend on a presentation (ARF 3.0, VCR_15). So presentations do not wait for a host, and a
//! host cannot tell from a fetch when a person presents.

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

/// The number of sources that were fetched ahead, by outcome.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Renewals {
    /// A later copy came.
    pub renewed: u64,
    /// Nothing came. The last good copy remains in use, and the source is tried again later.
    pub failed: u64,
    /// The answer was not authentic, or expired. The last good copy remains in use here too.
    pub refused: u64,
}

impl Renewals {
    /// The total; 0: nothing is due, or the budget is spent.
    pub const fn count(&self) -> u64 {
        self.renewed.saturating_add(self.failed).saturating_add(self.refused)
    }
}

impl Fetcher {
    /// Fetches the sources that are due at `now` again, up to four in parallel, and judges them
    /// under `trust`, which may have changed. Call it every few seconds, and again immediately
    /// while the result is not 0.
    ///
    /// A source is due before its copy expires, by an eighth to three eighths of the copy's
    /// lifetime. `entropy` chooses the time, so that gateways do not contact a host at the same
    /// moment. It is renewed for a day after the last presentation that needed it. Copies that live
    /// less than a minute are left to presentations. There are at most 60 renewals a minute, and no
    /// more after they have fetched 64 MiB in it.
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
                // Sources of issuers that the operator removed are no longer needed.
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

/// Judges `body` for each scope that has a copy for its need, on another thread: a list may inflate
/// to megabytes.
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
    // A panic of the readers is a bug of ours; the cached copies remain.
    (need, judging.await.unwrap_or_default())
}

/// Without entropy there is no jitter, and everything else is the same.
fn drawn(entropy: &mut (dyn Entropy + Send)) -> u64 {
    let mut bytes = [0; 8];
    entropy.fill(&mut bytes).map_or(0, |()| u64::from_be_bytes(bytes))
}
