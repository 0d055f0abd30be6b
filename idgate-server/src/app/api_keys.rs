//! A tenant's API keys: list, create, revoke, rotate.

use idgate_core::error::RequestError;
use idgate_core::limits::MAX_CREATE_BYTES;
use idgate_core::shell::json::{Tape, Value};
use idgate_core::shell::random_id;
use idgate_core::{ErrorCode, UnixMillis};

use super::{App, AppError, request_body};
use crate::limits::MAX_API_KEY_NAME_CHARS;
use idgate_base::api_key::{ApiKey, SCOPES};
use idgate_base::entropy::OsEntropy;
use idgate_store::{
    ApiKeyPage, ApiKeyRecord, Caller, KeyMade, KeyRevoked, KeyRotated, KeyValue, NewApiKey,
};

/// A key just created or rotated. This is the only time it can be read.
#[derive(Debug)]
#[non_exhaustive]
pub struct ApiKeySecret {
    /// Its record, as lists show it.
    pub record: ApiKeyRecord,
    /// The key.
    pub key: ApiKey,
}

impl App {
    /// The keys of the caller's client: live keys first, then the newest others.
    ///
    /// # Errors
    /// The store failed.
    pub async fn api_keys(&self, caller: &Caller) -> Result<Vec<ApiKeyRecord>, AppError> {
        Ok(self.store.api_keys(caller, self.now()).await?)
    }

    /// Up to `limit` keys of the caller's client, newest first, starting at `cursor`.
    ///
    /// # Errors
    /// The cursor was not issued for this list, or is too old.
    pub async fn api_key_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ApiKeyPage, AppError> {
        Ok(self.store.api_key_page(caller, cursor, limit, self.now()).await?)
    }

    /// Creates a key for the caller's client and mode with at most the caller's scopes.
    ///
    /// # Errors
    /// The body breaks a rule, or asks for a scope that the caller lacks or a later expiry than the
    /// caller's; or the client has reached its limit of keys.
    pub async fn create_api_key(
        &self,
        caller: &Caller,
        body: &[u8],
    ) -> Result<ApiKeySecret, AppError> {
        let now = self.now();
        let asked = KeyRequest::parse(body, now)?;
        for scope in &asked.scopes {
            if caller.scopes.as_ref().is_some_and(|own| !own.iter().any(|own| own == scope)) {
                return Err(AppError::LacksScope(scope));
            }
        }
        let (id, key) = fresh(caller.livemode)?;
        let record = ApiKeyRecord {
            id,
            name: asked.name,
            scopes: Some(asked.scopes.iter().map(|scope| (*scope).to_owned()).collect()),
            revoked: false,
            livemode: caller.livemode,
            created_at: now,
            expires_at: asked.expires_at,
            last_used_at: None,
        };
        let new = NewApiKey { record: record.clone(), value: KeyValue::of(&key) };
        match self.store.create_api_key(caller, new).await? {
            KeyMade::Yes => Ok(ApiKeySecret { record, key }),
            KeyMade::CallerGone => Err(AppError::KeyGone),
            KeyMade::TooMany => Err(AppError::TooManyKeys),
            KeyMade::OutlivesCaller => {
                let rule = "must not be later than the expiry of the key that asks for it";
                Err(RequestError::new(ErrorCode::InvalidExpiry, "expires_at", rule).into())
            }
        }
    }

    /// Revokes a key of the caller's client.
    ///
    /// # Errors
    /// The client has no key with this id, or the caller's own key is no longer valid.
    pub async fn revoke_api_key(&self, caller: &Caller, id: &str) -> Result<(), AppError> {
        match self.store.revoke_api_key(caller, id, self.now()).await? {
            KeyRevoked::Yes => Ok(()),
            KeyRevoked::NotFound => Err(AppError::NotFound),
            KeyRevoked::CallerGone => Err(AppError::KeyGone),
        }
    }

    /// Rotates a key of the caller's client: it gets a new value.
    ///
    /// # Errors
    /// The client has no valid key with this id, or the key has more rights than the caller's own.
    pub async fn rotate_api_key(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<ApiKeySecret, AppError> {
        let (_, key) = fresh(caller.livemode)?;
        let rotated = self.store.rotate_api_key(caller, id, KeyValue::of(&key), self.now());
        match rotated.await? {
            KeyRotated::Yes(record) => Ok(ApiKeySecret { record, key }),
            KeyRotated::NotFound => Err(AppError::NotFound),
            KeyRotated::CallerGone => Err(AppError::KeyGone),
            KeyRotated::BeyondScopes => Err(AppError::BeyondKey(
                "this API key lacks a scope that the key to be rotated has",
            )),
            KeyRotated::OutlivesCaller => {
                Err(AppError::BeyondKey("this API key expires before the key to be rotated"))
            }
        }
    }
}

fn fresh(livemode: bool) -> Result<(String, ApiKey), AppError> {
    let id = random_id("key_", &mut OsEntropy)?;
    Ok((id, ApiKey::generate(livemode, &mut OsEntropy)?))
}

/// `CreateAPIKeyRequest` (specification 2).
#[derive(Debug, Eq, PartialEq)]
struct KeyRequest {
    scopes: Vec<&'static str>,
    name: Option<String>,
    expires_at: Option<UnixMillis>,
}

impl KeyRequest {
    fn parse(body: &[u8], now: UnixMillis) -> Result<Self, RequestError> {
        if body.len() > MAX_CREATE_BYTES {
            let rule = "is larger than 64 KiB";
            return Err(RequestError::new(ErrorCode::InvalidRequest, "", rule));
        }
        let mut tape = Tape::default();
        let root = request_body::read(&mut tape, body, &["scopes", "name", "expires_at"])?;
        Ok(Self {
            scopes: parse_scopes(root.get("scopes"))?,
            name: root.get("name").map(parse_name).transpose()?,
            expires_at: root.get("expires_at").map_or(Ok(None), |at| parse_expiry(at, now))?,
        })
    }
}

fn parse_scopes(value: Option<Value<'_, '_>>) -> Result<Vec<&'static str>, RequestError> {
    let invalid = |rule: String| RequestError::new(ErrorCode::InvalidScopes, "scopes", rule);
    let elements = value.and_then(Value::elements);
    let elements = elements.ok_or_else(|| invalid("must be an array of scopes".into()))?;
    let mut scopes = Vec::new();
    for element in elements {
        let known = |scope: &&str| element.as_str().is_some_and(|text| text == *scope);
        let scope = SCOPES.into_iter().find(known);
        let scope =
            scope.ok_or_else(|| invalid(format!("may contain only {}", SCOPES.join(", "))))?;
        if scopes.contains(&scope) {
            return Err(invalid(format!("names {scope} twice")));
        }
        scopes.push(scope);
    }
    if scopes.is_empty() {
        return Err(invalid("must contain at least one scope".into()));
    }
    Ok(scopes)
}

fn parse_name(value: Value<'_, '_>) -> Result<String, RequestError> {
    // Terminals cannot show control characters, and databases cannot store NUL.
    let fits = |name: &str| {
        name.chars().count() <= MAX_API_KEY_NAME_CHARS && !name.chars().any(char::is_control)
    };
    let name = value.as_str().filter(|name| fits(name));
    name.map(Into::into).ok_or_else(|| {
        let rule = "must be a string of at most 100 characters without control characters";
        RequestError::new(ErrorCode::InvalidRequest, "name", rule)
    })
}

/// Parses an absolute time in UTC, which must be in the future; `null` means no expiry.
fn parse_expiry(value: Value<'_, '_>, now: UnixMillis) -> Result<Option<UnixMillis>, RequestError> {
    use idgate_core::shell::json::Kind;
    if value.kind() == Kind::Null {
        return Ok(None);
    }
    let text = value.as_str().filter(|text| text.ends_with('Z') || text.ends_with("+00:00"));
    let at = text.and_then(|text| UnixMillis::parse_rfc3339(&text)).filter(|at| *at > now);
    at.map(Some).ok_or_else(|| {
        let rule = "must be a future time in UTC, for example 2027-01-31T12:00:00Z, or null";
        RequestError::new(ErrorCode::InvalidExpiry, "expires_at", rule)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// 2026-11-21T12:00:00Z
    const NOW: UnixMillis = UnixMillis(1_795_262_400_000);

    fn refused(body: &str) -> (ErrorCode, String) {
        let error = KeyRequest::parse(body.as_bytes(), NOW).unwrap_err();
        (error.code, error.path)
    }

    #[test]
    fn a_key_request_has_scopes_and_optionally_a_name_and_an_expiry() {
        let asked = KeyRequest::parse(br#"{"scopes":["audit:read"]}"#, NOW).unwrap();
        assert_eq!(asked, KeyRequest { scopes: vec!["audit:read"], name: None, expires_at: None });
        let name = "ü".repeat(100);
        let body = format!(
            r#"{{"scopes":["session:read","session:create"],"name":"{name}","expires_at":"2026-11-21T12:00:00.001Z"}}"#
        );
        let asked = KeyRequest::parse(body.as_bytes(), NOW).unwrap();
        assert_eq!(asked.scopes, ["session:read", "session:create"]);
        assert_eq!((asked.name, asked.expires_at), (Some(name), Some(NOW.plus(1))));
        for never in ["null", "\"2027-01-01T00:00:00+00:00\""] {
            let body = format!(r#"{{"scopes":["audit:read"],"expires_at":{never}}}"#);
            assert!(KeyRequest::parse(body.as_bytes(), NOW).is_ok(), "{never}");
        }
    }

    #[test]
    fn scopes_that_are_empty_repeated_or_unknown_are_invalid() {
        for scopes in [
            "[]",
            "null",
            "\"audit:read\"",
            "{}",
            "[1]",
            "[null]",
            r#"["audit:read","audit:read"]"#,
            r#"["audit:read","audit:write"]"#,
            r#"["audit:read "]"#,
            r#"["Audit:read"]"#,
            r#"[["audit:read"]]"#,
        ] {
            let body = format!(r#"{{"scopes":{scopes}}}"#);
            assert_eq!(refused(&body), (ErrorCode::InvalidScopes, "scopes".into()), "{scopes}");
        }
        assert_eq!(refused("{}").0, ErrorCode::InvalidScopes);
    }

    #[test]
    fn an_expiry_that_is_past_or_not_utc_is_invalid() {
        for at in [
            "\"2026-11-21T12:00:00Z\"",
            "\"2026-11-21T11:59:59.999Z\"",
            "\"2027-01-01T00:00:00\"",
            "\"2027-01-01T00:00:00+01:00\"",
            "\"2027-01-01T00:00:00-00:00\"",
            "\"2027-01-01\"",
            "\"tomorrow\"",
            "\"\"",
            "1800000000000",
            "true",
            "[]",
        ] {
            let body = format!(r#"{{"scopes":["audit:read"],"expires_at":{at}}}"#);
            assert_eq!(refused(&body), (ErrorCode::InvalidExpiry, "expires_at".into()), "{at}");
        }
    }

    #[test]
    fn a_name_has_no_control_characters() {
        for name in [r"a\u0000b", r"a\nb", r"\u001b[2K", r"\u007f", r"\u009b2K", "\u{9b}2K"] {
            let body = format!(r#"{{"scopes":["audit:read"],"name":"{name}"}}"#);
            assert_eq!(refused(&body), (ErrorCode::InvalidRequest, "name".into()), "{name}");
        }
    }

    #[test]
    fn an_invalid_body_is_refused_by_field() {
        let long = format!(r#"{{"scopes":["audit:read"],"name":"{}"}}"#, "n".repeat(101));
        for (body, code, path) in [
            ("", ErrorCode::InvalidJson, ""),
            ("{", ErrorCode::InvalidJson, ""),
            (r#"{"scopes":["audit:read"],"scopes":[]}"#, ErrorCode::InvalidJson, ""),
            ("[]", ErrorCode::InvalidRequest, ""),
            (r#"{"scopes":["audit:read"],"name":null}"#, ErrorCode::InvalidRequest, "name"),
            (r#"{"scopes":["audit:read"],"name":1}"#, ErrorCode::InvalidRequest, "name"),
            (&long, ErrorCode::InvalidRequest, "name"),
            (r#"{"scopes":["audit:read"],"Name":"x"}"#, ErrorCode::UnknownField, "Name"),
            (r#"{"scopes":["audit:read"],"livemode":true}"#, ErrorCode::UnknownField, "livemode"),
        ] {
            assert_eq!(refused(body), (code, path.into()), "{body}");
        }
    }
}
