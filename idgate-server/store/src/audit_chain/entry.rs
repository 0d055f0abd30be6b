//! One audit entry: its event, its canonical JSON, and its hash.

use idgate_core::shell::Settlement;
use idgate_core::{Reason, Session, Status, UnixMillis};
use serde::{Deserialize, Serialize};

use super::{Hash, PREFIX, sha256};

/// The event that an entry records.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AuditStatus {
    /// A session was created.
    Created,
    /// A session ended VERIFIED.
    Verified,
    /// A session's answer was rejected.
    Failed,
    /// A session expired without an answer.
    Expired,
    /// A session was deleted.
    Deleted,
    /// The client has a new API key.
    ApiKeyCreated,
    /// An API key has a new value.
    ApiKeyRotated,
    /// An API key was revoked.
    ApiKeyRevoked,
    /// The webhook endpoint was set.
    WebhookEndpointSet,
    /// The webhook endpoint was removed.
    WebhookEndpointRemoved,
    /// The client was revoked, with all its keys.
    ClientRevoked,
    /// The gateway's trust was changed. Recorded in the operator's chain.
    TrustChanged,
}

/// The chain for changes by the operator that affect all clients.
pub const OPERATOR_CHAIN: &str = "operator";

/// The actor when an operator's command did it, not an API key.
pub const OPERATOR: &str = "operator";
/// A wallet, by its answer.
pub const WALLET: &str = "wallet";
/// The person, on the page that showed the request.
pub const PERSON: &str = "person";
/// The gateway itself, for example at an expiry.
pub const SYSTEM: &str = "system";

impl AuditStatus {
    /// The name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::Verified => "VERIFIED",
            Self::Failed => "FAILED",
            Self::Expired => "EXPIRED",
            Self::Deleted => "DELETED",
            Self::ApiKeyCreated => "API_KEY_CREATED",
            Self::ApiKeyRotated => "API_KEY_ROTATED",
            Self::ApiKeyRevoked => "API_KEY_REVOKED",
            Self::WebhookEndpointSet => "WEBHOOK_ENDPOINT_SET",
            Self::WebhookEndpointRemoved => "WEBHOOK_ENDPOINT_REMOVED",
            Self::ClientRevoked => "CLIENT_REVOKED",
            Self::TrustChanged => "TRUST_CHANGED",
        }
    }
}

/// Something that happened to a client's resources. It has no fields for claims, nonces or
/// addresses.
#[derive(Clone, Debug)]
pub struct AuditEvent {
    status: AuditStatus,
    occurred_at: UnixMillis,
    session_id: Option<String>,
    credential_types: Vec<String>,
    issuer_ids: Vec<String>,
    error_code: Option<&'static str>,
    latency_ms: Option<u64>,
    actor: Option<String>,
    key_id: Option<String>,
    list: Option<ListChange>,
    open_sessions: Option<u64>,
    scopes: Option<Vec<String>>,
}

impl AuditEvent {
    /// An event about the client itself: its keys, its endpoint.
    pub fn of_client(status: AuditStatus, now: UnixMillis) -> Self {
        Self {
            status,
            occurred_at: now,
            session_id: None,
            credential_types: Vec::new(),
            issuer_ids: Vec::new(),
            error_code: None,
            latency_ms: None,
            actor: None,
            key_id: None,
            list: None,
            open_sessions: None,
            scopes: None,
        }
    }

    /// The operator changed the trust in this issuer.
    pub fn trust_changed(issuer_id: &str, now: UnixMillis) -> Self {
        let issuer_ids = vec![issuer_id.to_owned()];
        Self { issuer_ids, ..Self::of_client(AuditStatus::TrustChanged, now).by(OPERATOR) }
    }

    /// Sets the actor: the id of an API key, [`OPERATOR`], [`WALLET`] or [`SYSTEM`].
    #[must_use]
    pub fn by(self, actor: &str) -> Self {
        Self { actor: Some(actor.to_owned()), ..self }
    }

    /// Adds the trusted list that was stored.
    #[must_use]
    pub fn with_list(self, list: ListChange) -> Self {
        Self { list: Some(list), ..self }
    }

    /// Adds the API key that was changed.
    #[must_use]
    pub fn about_key(self, key_id: &str) -> Self {
        Self { key_id: Some(key_id.to_owned()), ..self }
    }

    /// Adds the scopes that the key has from now on. `None` means all scopes and is not written.
    #[must_use]
    pub fn with_scopes(self, scopes: Option<&[String]>) -> Self {
        Self { scopes: scopes.map(<[String]>::to_vec), ..self }
    }

    /// Adds how many sessions of the client were open and end with it.
    #[must_use]
    pub fn with_open_sessions(self, count: u64) -> Self {
        Self { open_sessions: Some(count), ..self }
    }

    /// `session` was created.
    pub fn created(session: &Session) -> Self {
        Self::of_session(AuditStatus::Created, session, session.created_at())
    }

    /// A session ended.
    pub fn settled(ended: &Settlement<'_>) -> Self {
        let (status, actor) = match ended.status {
            Status::Verified => (AuditStatus::Verified, WALLET),
            Status::Expired => (AuditStatus::Expired, SYSTEM),
            _ if ended.reason == Some(Reason::ClientRevoked) => (AuditStatus::Failed, OPERATOR),
            _ if ended.reason == Some(Reason::Cancelled) => (AuditStatus::Failed, PERSON),
            _ => (AuditStatus::Failed, WALLET),
        };
        Self {
            error_code: ended.reason.map(|reason| reason.as_str()),
            latency_ms: Some(ended.latency_ms()),
            ..Self::of_session(status, ended.session, ended.at).by(actor)
        }
    }

    /// A session was deleted.
    pub fn deleted(session_id: &str, now: UnixMillis) -> Self {
        let session_id = Some(session_id.to_owned());
        Self { session_id, ..Self::of_client(AuditStatus::Deleted, now) }
    }

    /// When the event happened.
    pub fn occurred_at(&self) -> UnixMillis {
        self.occurred_at
    }

    /// An event with every member.
    #[cfg(test)]
    pub(crate) fn sample(now: UnixMillis) -> Self {
        Self {
            session_id: Some("ses_sample".into()),
            credential_types: vec!["vc+sd-jwt".into(), "mso_mdoc:org.iso.18013.5.1.mDL".into()],
            issuer_ids: vec!["https://issuer.example/\u{e9}\"".into()],
            error_code: Some("nonce_mismatch"),
            latency_ms: Some(8310),
            actor: Some(WALLET.into()),
            key_id: Some("key_sample".into()),
            list: Some(ListChange { from: 7, providers: 12, providers_before: 11, to: 8 }),
            open_sessions: Some(3),
            scopes: Some(vec!["session:create".into(), "session:read".into()]),
            ..Self::of_client(AuditStatus::Failed, now)
        }
    }

    /// Turns the event into entry `seq` of a client's chain.
    pub fn into_entry(self, client_id: &str, seq: u64) -> AuditEntry {
        let some = |list: Vec<String>| (!list.is_empty()).then_some(list);
        AuditEntry {
            actor: self.actor,
            client_id: client_id.to_owned(),
            credential_types: some(self.credential_types),
            error_code: self.error_code.map(str::to_owned),
            issuer_ids: some(self.issuer_ids),
            key_id: self.key_id,
            latency_ms: self.latency_ms,
            list: self.list,
            occurred_at: self.occurred_at.to_string(),
            open_sessions: self.open_sessions,
            scopes: self.scopes,
            seq,
            session_id: self.session_id,
            status: self.status.as_str().to_owned(),
        }
    }

    fn of_session(status: AuditStatus, session: &Session, at: UnixMillis) -> Self {
        let credentials = session.request().credentials();
        Self {
            session_id: Some(session.id().as_str().to_owned()),
            credential_types: session.request().credential_types(),
            issuer_ids: credentials.iter().map(|c| c.issuer_id().as_str().to_owned()).collect(),
            ..Self::of_client(status, at)
        }
    }
}

/// The content that an entry's hash covers, along with its predecessor's hash. The members are
/// declared in the order of RFC 8785, and are only strings and integers, so the output of
/// serde_json is canonical.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    /// The actor: the id of an API key, `operator`, `wallet` or `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The client whose chain it is in.
    pub client_id: String,
    /// One per requested credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_types: Option<Vec<String>>,
    /// Why the session ended, if not VERIFIED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// One per requested credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer_ids: Option<Vec<String>>,
    /// The API key that was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// Time from creation to settlement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// The replacement of a trusted list, if the entry is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListChange>,
    /// RFC 3339, UTC.
    pub occurred_at: String,
    /// How many sessions of the client were open when it was revoked. They end with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_sessions: Option<u64>,
    /// The scopes that a key was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// Consecutive, from 1.
    pub seq: u64,
    /// The session that the entry is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The name of an [`AuditStatus`].
    pub status: String,
}

/// A trusted list that replaced an earlier one. The members are in the order of RFC 8785 here as
/// well.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ListChange {
    /// The number of the earlier list.
    pub from: u64,
    /// How many providers the new list has.
    pub providers: u64,
    /// How many providers the earlier list had.
    pub providers_before: u64,
    /// The number of the new list.
    pub to: u64,
}

impl AuditEntry {
    /// The entry's canonical JSON (RFC 8785).
    pub fn canonical(&self) -> String {
        // Strings and integers always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The hash that the first entry of a client's chain follows.
pub fn genesis(client_id: &str) -> Hash {
    sha256(&[PREFIX, client_id.as_bytes()])
}

/// The hash of an entry with this canonical JSON that follows `prev`.
pub fn entry_hash(prev: &Hash, canonical: &str) -> Hash {
    sha256(&[PREFIX, prev, canonical.as_bytes()])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::hex;
    use super::*;

    fn entry() -> AuditEntry {
        AuditEntry {
            actor: Some("wallet".into()),
            client_id: "cli_1".into(),
            credential_types: Some(vec!["mso_mdoc:org.iso.18013.5.1.mDL".into()]),
            error_code: Some("nonce_mismatch".into()),
            issuer_ids: Some(vec!["https://issuer.example".into()]),
            key_id: Some("key_1".into()),
            latency_ms: Some(7),
            list: Some(ListChange { from: 7, providers: 12, providers_before: 11, to: 8 }),
            occurred_at: "2026-11-21T12:00:00.000Z".into(),
            open_sessions: Some(3),
            scopes: Some(vec!["audit:read".into()]),
            seq: 2,
            session_id: Some("ses_1".into()),
            status: "FAILED".into(),
        }
    }

    #[test]
    fn members_are_in_canonical_order_and_absent_ones_are_not_written() {
        let all = r#"{"actor":"wallet","client_id":"cli_1","credential_types":["mso_mdoc:org.iso.18013.5.1.mDL"],"error_code":"nonce_mismatch","issuer_ids":["https://issuer.example"],"key_id":"key_1","latency_ms":7,"list":{"from":7,"providers":12,"providers_before":11,"to":8},"occurred_at":"2026-11-21T12:00:00.000Z","open_sessions":3,"scopes":["audit:read"],"seq":2,"session_id":"ses_1","status":"FAILED"}"#;
        assert_eq!(entry().canonical(), all);
        let event = AuditEvent::of_client(AuditStatus::ApiKeyCreated, UnixMillis(0));
        let few = r#"{"client_id":"c","occurred_at":"1970-01-01T00:00:00.000Z","seq":1,"status":"API_KEY_CREATED"}"#;
        assert_eq!(event.into_entry("c", 1).canonical(), few);
    }

    /// RFC 8785 3.2.2.2, with the text of its example in 3.2.3.
    #[test]
    fn texts_are_escaped_as_rfc_8785_does() {
        let mut entry = entry();
        entry.issuer_ids = Some(vec!["\u{20ac}$\u{0f}\nA'B\"\\\\\"/\u{7f}\u{80}😂".into()]);
        let want = "[\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\u{7f}\u{80}😂\"]";
        assert!(entry.canonical().contains(want), "{}", entry.canonical());
    }

    #[test]
    fn hashes_match_the_decisions() {
        // Computed with `printf 'idgate-audit-v1\n…' | sha256sum`.
        let genesis = genesis("cli_1");
        assert_eq!(
            hex(&genesis),
            "eb79727828de2550a86476903a8a460a0ce10305d43180cedea6d6f035168536"
        );
        assert_eq!(
            hex(&entry_hash(&genesis, "{}")),
            "ab5517bfbc63e925e02c54016b9f1078ec9579bc3ce0ed551cfa57266a033674"
        );
    }

    #[test]
    fn an_unknown_or_repeated_member_is_rejected() {
        let canonical = entry().canonical();
        let more = canonical.replacen("\"seq\":2", "\"seq\":2,\"more\":1", 1);
        let twice = canonical.replacen("\"seq\":2", "\"seq\":2,\"seq\":2", 1);
        for bad in [more, twice] {
            assert!(serde_json::from_str::<AuditEntry>(&bad).is_err(), "{bad}");
        }
        assert_eq!(serde_json::from_str::<AuditEntry>(&canonical).unwrap(), entry());
    }
}
