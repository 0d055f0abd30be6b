//! What was answered under an `Idempotency-Key`. Of several requests under one key, on whichever nodes,
//! the first to store its answer makes the session; the others wait for its commit and find the answer.

use idgate_core::session::Transition;
use idgate_core::time::UnixMillis;

use super::super::idempotency::{Found, KEPT_MS, place};
use super::super::interface::{Answered, Caller, IdempotencyStore, MadeOnce, Once, Read, Write};
use super::super::lanes::Whose;
use super::super::sql::{millis, number};
use super::change::Change;
use super::error::{Done, Failure};
use super::gateway::PostgresStore;
use super::pool::{Boxed, Tx};
use super::sessions::{store, surely};
use super::shared::Shared;
use super::sql::{execute, row};

impl IdempotencyStore for PostgresStore {
    fn answered(
        &self,
        caller: &Caller,
        key: &[u8; 32],
        now: UnixMillis,
    ) -> Read<'_, Option<Answered>> {
        let (client_id, key) = (caller.client_id.clone(), *key);
        self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            let found = find(&client, client_id.as_str(), &key, now).await?;
            let open = |found: Found| found.open(&shared.sealer, client_id.as_str());
            Ok(found.map(open).transpose()?)
        })
    }

    fn create_session_once(
        &self,
        caller: &Caller,
        transition: Transition,
        once: Once,
    ) -> Write<'_, MadeOnce> {
        let (id, owner) = (transition.session.id().clone(), transition.session.tenant().clone());
        let sealed = match self.shared.sealer.seal(place(id.as_str(), owner.as_str()), &once.answer)
        {
            Ok(sealed) => sealed,
            Err(error) => return Box::pin(async move { Err(error.into()) }),
        };
        let change = match self.prepared_new(transition, &once.beside) {
            Ok(prepared) => Change::new(prepared, &caller.key_id),
            Err(error) => return Box::pin(async { Err(error) }),
        };
        self.write(Whose::of(&owner), move |shared| async move {
            let asked = Asked { change, once, sealed };
            match create(&shared, &asked).await? {
                Outcomes::Made => {
                    shared.announce(&asked.change);
                    Ok(MadeOnce::Yes)
                }
                Outcomes::NoRoom => Ok(MadeOnce::NoRoom),
                Outcomes::Earlier(found) => {
                    Ok(MadeOnce::Earlier(found.open(&shared.sealer, owner.as_str())?))
                }
            }
        })
    }

    fn forget_answers(&self, now: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.write(Whose::GATEWAY, move |shared| async move {
            let client = shared.pool.client().await?;
            let forgotten = execute(
                &client,
                "DELETE FROM idempotent_answers WHERE (client_id, key) IN ( \
                 SELECT client_id, key FROM idempotent_answers WHERE created_at <= $1 LIMIT $2 \
                 FOR UPDATE SKIP LOCKED)",
                &[&millis(now.minus(KEPT_MS)), &number(limit)],
            )
            .await?;
            Ok(usize::try_from(forgotten).unwrap_or(usize::MAX))
        })
    }
}

/// A session that is asked for under a key.
struct Asked {
    change: Change,
    once: Once,
    /// The answer.
    sealed: Vec<u8>,
}

/// What came of it, while an earlier answer is still sealed.
enum Outcomes {
    Made,
    NoRoom,
    Earlier(Found),
}

async fn create(shared: &Shared, asked: &Asked) -> Done<Outcomes> {
    let with = (shared, asked);
    let work = || -> Boxed<'_, Outcomes> {
        Box::pin(async {
            let create = shared
                .pool
                .transact(&with, |(shared, asked), tx| Box::pin(create_in(shared, asked, tx)));
            match create.await {
                Err(Failure::NoRoom) => Ok(Outcomes::NoRoom),
                done => done,
            }
        })
    };
    surely(shared, &asked.change, &work, (None, Outcomes::Made)).await
}

async fn create_in(shared: &Shared, asked: &Asked, tx: &Tx<'_>) -> Done<Outcomes> {
    let Asked { change, once, sealed } = asked;
    let (session, now) = (change.session(), change.session().created_at());
    let client_id = session.tenant().as_str();
    let (key, body) = (once.key.as_slice(), once.body.as_slice());
    let is_first = execute(
        tx,
        "INSERT INTO idempotent_answers AS a \
         (client_id, key, body, session_id, created_at, sealed) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (client_id, key) DO UPDATE SET body = excluded.body, \
         session_id = excluded.session_id, created_at = excluded.created_at, \
         sealed = excluded.sealed WHERE a.created_at <= $7",
        &[
            &client_id,
            &key,
            &body,
            &session.id().as_str(),
            &millis(now),
            sealed,
            &millis(now.minus(KEPT_MS)),
        ],
    )
    .await?;
    if is_first == 0 {
        // Whoever came first has committed; deleted with its session at this very moment, the key is
        // free again.
        let earlier = find(tx, client_id, &once.key, now).await?;
        let earlier = earlier.ok_or_else(|| Failure::Again("a free key".into()))?;
        // A try before this one was committed, though nobody said so.
        let is_own = earlier.session_id == session.id().as_str();
        return Ok(if is_own { Outcomes::Made } else { Outcomes::Earlier(earlier) });
    }
    store(shared, tx, &[change]).await?;
    Ok(Outcomes::Made)
}

/// What was answered to this client under `key`, unless it is too old.
async fn find(
    on: &impl deadpool_postgres::GenericClient,
    client_id: &str,
    key: &[u8; 32],
    now: UnixMillis,
) -> Done<Option<Found>> {
    let found = row(
        on,
        "SELECT session_id, body, sealed FROM idempotent_answers \
         WHERE client_id = $1 AND key = $2 AND created_at > $3",
        &[&client_id, &key.as_slice(), &millis(now.minus(KEPT_MS))],
    )
    .await?;
    let Some(found) = found else { return Ok(None) };
    let body = <[u8; 32]>::try_from(found.try_get::<_, &[u8]>(1)?);
    let body = body.map_err(|_| Failure::failed("a stored digest has another length"))?;
    Ok(Some(Found { session_id: found.try_get(0)?, body, sealed: found.try_get(2)? }))
}
