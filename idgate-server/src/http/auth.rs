//! API keys and admin tokens in requests. An [`Authorized`] exists only after the check, so a
//! handler that takes one cannot be reached without it.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use idgate_core::{Session, SessionId};

use super::error::HttpError;
use super::head::only;
use crate::app::{App, AppError};
use idgate_base::admin_token::AdminToken;
use idgate_base::api_key::ApiKey;
use idgate_store::Caller;

/// A scope of an API key (specification 5).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope {
    /// May create and delete sessions.
    SessionCreate,
    /// May read sessions.
    SessionRead,
    /// May read histories: the audit log, failed deliveries.
    AuditRead,
    /// May manage keys, and whatever else redirects data.
    ApiKeysManage,
}

impl Scope {
    const fn as_str(self) -> &'static str {
        match self {
            Self::SessionCreate => "session:create",
            Self::SessionRead => "session:read",
            Self::AuditRead => "audit:read",
            Self::ApiKeysManage => "api_keys:manage",
        }
    }
}

/// Proof that the caller's key is valid and has the route's scope.
pub(crate) struct Authorized(Arc<Caller>);

impl Authorized {
    /// Requires the scope of an authenticated caller.
    pub(crate) fn require(caller: Arc<Caller>, scope: Scope) -> Result<Self, HttpError> {
        match has_scope(&caller, scope) {
            true => Ok(Self(caller)),
            false => Err(HttpError::insufficient_scope(scope.as_str())),
        }
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.0
    }

    /// Whether the key has this scope as well.
    pub(crate) fn may(&self, scope: Scope) -> bool {
        has_scope(&self.0, scope)
    }

    pub(crate) fn into_caller(self) -> Arc<Caller> {
        self.0
    }
}

/// Keys without scopes have all of them.
fn has_scope(caller: &Caller, scope: Scope) -> bool {
    caller.scopes.as_ref().is_none_or(|have| have.iter().any(|own| own == scope.as_str()))
}

/// The owner of the request's API key; `None` if the request has no well-formed key.
pub(crate) async fn authenticate(
    app: &App,
    key: Option<&ApiKey>,
) -> Result<Arc<Caller>, HttpError> {
    match app.caller(key.ok_or_else(HttpError::invalid_api_key)?).await? {
        Some(caller) => Ok(Arc::new(caller)),
        None => Err(HttpError::invalid_api_key()),
    }
}

/// Like [`authenticate`], with the caller's session of this id, if any, or why it cannot be read.
pub(crate) async fn authenticate_for(
    app: &App,
    key: Option<&ApiKey>,
    session: &SessionId,
) -> Result<(Arc<Caller>, Result<Option<Session>, AppError>), HttpError> {
    match app.caller_for(key.ok_or_else(HttpError::invalid_api_key)?, session).await? {
        Some((caller, session)) => Ok((Arc::new(caller), session)),
        None => Err(HttpError::invalid_api_key()),
    }
}

/// Proof that the request carries a valid admin token.
#[derive(Debug)]
pub(crate) struct AdminAuthorized(());

impl AdminAuthorized {
    /// Requires a valid admin token. A malformed one, for example an API key, is refused without a
    /// lookup.
    pub(crate) async fn require(app: &App, headers: &HeaderMap) -> Result<Self, HttpError> {
        let token = bearer(headers).and_then(AdminToken::parse);
        let token = token.ok_or_else(HttpError::invalid_admin_token)?;
        match app.admin(&token).await? {
            Some(_id) => Ok(Self(())),
            None => Err(HttpError::invalid_admin_token()),
        }
    }
}

/// The API key of the single `Authorization` header, if it is well-formed. Looks nothing up.
pub(crate) fn api_key(headers: &HeaderMap) -> Option<ApiKey> {
    bearer(headers).and_then(ApiKey::parse)
}

/// The token of the single `Authorization: Bearer` header (RFC 6750 2.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = only(headers, &AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim_matches(' '))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hyper::header::HeaderValue;
    use idgate::Fetcher;
    use idgate_core::TenantId;
    use idgate_core::crypto::aws_lc_rs::PROVIDER;

    use super::*;
    use idgate_base::clock::VirtualClock;
    use idgate_store::fixtures::TemporaryStore;
    use idgate_store::wait::Wait as _;

    fn headers(values: &[&'static str]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for value in values {
            map.append(AUTHORIZATION, HeaderValue::from_static(value));
        }
        map
    }

    fn caller(scopes: Option<&[&str]>) -> Arc<Caller> {
        Arc::new(Caller {
            client_id: TenantId::new("cli_x"),
            key_id: "key_x".into(),
            digest: [0; 32],
            livemode: true,
            scopes: scopes.map(|list| list.iter().map(|s| (*s).to_owned()).collect()),
            since: idgate_base::clock::Moment::now(),
        })
    }

    #[test]
    fn the_scheme_is_case_insensitive() {
        for good in ["Bearer k", "bearer k", "BEARER   k "] {
            assert_eq!(bearer(&headers(&[good])), Some("k"), "{good}");
        }
    }

    #[test]
    fn anything_but_one_bearer_token_is_none() {
        for bad in [&[][..], &[""], &["Bearer"], &["k"], &["Basic k"], &["Bearer k", "Bearer k"]] {
            assert_eq!(bearer(&headers(bad)), None, "{bad:?}");
        }
    }

    #[test]
    fn only_an_admin_token_of_this_gateway_is_admin() {
        let store = TemporaryStore::default();
        let clock = Arc::new(VirtualClock::default());
        let fetcher = Fetcher::reaching(&[]);
        let app = App::new(store.shared(), clock, PROVIDER, "https://gateway.example", fetcher);
        let carrying = |line: &str| {
            let value = line.trim_start_matches("Authorization: ").trim_end();
            let mut map = HeaderMap::new();
            map.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            map
        };
        assert!(AdminAuthorized::require(&app, &carrying(&store.admin_bearer())).wait().is_ok());
        let unknown = TemporaryStore::default().admin_bearer();
        for bad in [&*store.bearer(None), &unknown, "Authorization: Bearer adm_short"] {
            let refused = AdminAuthorized::require(&app, &carrying(bad)).wait().unwrap_err();
            assert_eq!(refused.code(), idgate_core::ErrorCode::InvalidAdminToken);
        }
        assert!(AdminAuthorized::require(&app, &HeaderMap::new()).wait().is_err());
    }

    #[test]
    fn a_key_without_a_scope_list_has_all_scopes_and_a_missing_scope_is_403() {
        assert!(Authorized::require(caller(None), Scope::SessionRead).is_ok());
        assert!(Authorized::require(caller(Some(&["session:read"])), Scope::SessionRead).is_ok());
        for lacking in [&[][..], &["session:create"], &["session:read "]] {
            assert!(Authorized::require(caller(Some(lacking)), Scope::SessionRead).is_err());
        }
    }
}
