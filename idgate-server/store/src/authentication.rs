//! Finds the owner of an API key, together with the version numbers of trust, keys and certificates
//! in force.

use idgate_core::{TenantId, UnixMillis};
use serde_json::json;

use super::api_keys::power;
use super::db::{Db, Row, sql};
use super::env::Env;
use super::failure::Done;
use super::sessions::CallersSession;
use super::sql::millis;
use super::types::Caller;
use crate::stored_session::Stored;
use crate::version_numbers::{Numbers, numbers};
use idgate_base::clock::Moment;

/// The owner of an active key.
pub(super) struct Authenticated {
    pub(super) caller: Caller,
    /// The requested session, if the caller has one with that id.
    pub(super) session: Option<CallersSession>,
    /// When the key was last used, as stored. The caller notes this use immediately before it
    /// stores the uses that are due: a noted use that is not stored is lost.
    pub(super) last_used: Option<UnixMillis>,
}

/// The first column of the session. The columns of the key and the numbers come before it.
const SESSION: usize = 8;

/// Checks key, client, expiry and mode in one indexed read, which also finds the caller's session
/// of this id.
pub(super) async fn authenticate(
    db: &Db<'_>,
    env: &Env,
    (digest, session): (&[u8; 32], Option<&str>),
    now: UnixMillis,
) -> Done<Option<Authenticated>> {
    let since = Moment::now();
    let sql = sql(concat!(
        "SELECT k.id, k.client_id, k.livemode, k.scopes, k.last_used_at, ",
        numbers!(),
        ", s.id, s.client_id, s.livemode, s.record, {s.claims_slot|NULL} \
         FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id LEFT JOIN sessions AS s \
         ON s.id = $3 AND s.client_id = k.client_id AND s.livemode = k.livemode \
         WHERE k.digest = $1 AND k.revoked_at IS NULL AND c.revoked_at IS NULL \
         AND (k.expires_at IS NULL OR k.expires_at > $2) AND k.livemode = c.livemode"
    ));
    let read = |row: &Row<'_>| {
        let key_id: String = row.get(0)?;
        let caller = Caller {
            digest: *digest,
            client_id: TenantId::new(row.get::<String>(1)?),
            livemode: row.get(2)?,
            scopes: power::scopes(&key_id, row.get(3)?)?,
            key_id,
            since,
        };
        let session = match row.get::<Option<String>>(SESSION)? {
            Some(_) => Some((Stored::at(row, SESSION)?, row.get(SESSION + 4)?)),
            None => None,
        };
        Ok((caller, session, row.time_if_any(4)?, Numbers::at(row, 5)?))
    };
    let found = db.one(sql, &[&digest.as_slice(), &millis(now), &session], read).await?;
    let Some((caller, session, last_used, numbers)) = found else { return Ok(None) };
    env.in_force.noted.note(since, numbers);
    Ok(Some(Authenticated { caller, session, last_used }))
}

/// Stores when keys were used. The time never moves backwards.
pub(super) async fn store_uses(db: &Db<'_>, uses: &[(String, UnixMillis)]) -> Done<()> {
    if uses.is_empty() {
        return Ok(());
    }
    let sql = sql("UPDATE api_keys AS k SET last_used_at = u.at FROM (SELECT \
         {id, at FROM json_to_recordset(CAST(CAST($1 AS text) AS json)) AS w (id text, at bigint)|\
         value ->> 'id' AS id, value ->> 'at' AS at FROM json_each($1)}) AS u \
         WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)");
    let each = uses.iter().map(|(id, at)| json!({ "id": id, "at": millis(*at) }));
    let uses = serde_json::Value::from_iter(each).to_string();
    db.run(sql, &[&uses]).await.map(drop)
}
