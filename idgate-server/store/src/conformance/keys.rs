//! API keys: which requests they authenticate, and how clients and operators manage them.

use idgate_core::shell::webhook::SigningSecret;

use super::*;

impl<B: Backend> Fixture<B> {
    fn works(&self, key: &ApiKey, now: UnixMillis) -> bool {
        self.store().authenticate(&key.digest(), now).wait().unwrap().is_some()
    }

    async fn make(&self, caller: &Caller, new: NewApiKey) -> KeyMade {
        self.store().create_api_key(caller, new).await.unwrap()
    }

    /// A key with these scopes and this expiry, created by the first key, and its owner.
    async fn caller_with(
        &self,
        id: &str,
        scopes: &[&str],
        expires_at: Option<UnixMillis>,
    ) -> Caller {
        let (key, mut new) = new_key(id, expires_at);
        new.record.scopes = Some(scopes.iter().map(|scope| (*scope).to_owned()).collect());
        assert_eq!(self.make(&self.live, new).await, KeyMade::Yes);
        self.store().authenticate(&key.digest(), NOW).await.unwrap().unwrap()
    }

    async fn rotate(&self, caller: &Caller, id: &str) -> KeyRotated {
        let next = ApiKey::generate(true, &mut OsEntropy).unwrap();
        self.store().rotate_api_key(caller, id, KeyValue::of(&next), NOW).await.unwrap()
    }
}

fn new_key(id: &str, expires_at: Option<UnixMillis>) -> (ApiKey, NewApiKey) {
    let key = ApiKey::generate(true, &mut OsEntropy).unwrap();
    let record = ApiKeyRecord {
        id: id.into(),
        name: Some("n".into()),
        scopes: Some(vec!["session:read".into()]),
        revoked: false,
        livemode: true,
        created_at: NOW,
        expires_at,
        last_used_at: None,
    };
    let value = KeyValue::of(&key);
    (key, NewApiKey { record, value })
}

/// A caller that was authenticated earlier can no longer change anything that a key can change.
async fn expect_powerless<B: Backend>(fixture: &Fixture<B>, caller: &Caller, now: UnixMillis) {
    let store = fixture.store();
    let (key, mut new) = new_key(&format!("key_of_{}", caller.key_id), None);
    new.record.created_at = now;
    assert_eq!(fixture.make(caller, new).await, KeyMade::CallerGone);
    assert!(!fixture.works(&key, now));
    let next = ApiKey::generate(true, &mut OsEntropy).unwrap();
    for id in ["key_other", &caller.key_id] {
        let rotated = store.rotate_api_key(caller, id, KeyValue::of(&next), now);
        assert_eq!(rotated.await.unwrap(), KeyRotated::CallerGone, "{id}");
        let revoked = store.revoke_api_key(caller, id, now);
        assert_eq!(revoked.await.unwrap(), KeyRevoked::CallerGone, "{id}");
    }
    assert!(!fixture.works(&next, now));
    let wish = EndpointRequest {
        url: "https://elsewhere.example/".into(),
        host: "elsewhere.example".into(),
        secret: None,
        fresh: SigningSecret::new("a secret of some length").unwrap(),
    };
    assert!(store.put_webhook_endpoint(caller, wish, now).await.unwrap().is_none());
    assert!(store.webhook_endpoint(caller).await.unwrap().is_none());
}

pub(super) async fn rotation_changes_the_value_and_nothing_else<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let (old, new) = new_key("key_b", Some(NOW.plus(1000)));
    let record = new.record.clone();
    assert_eq!(fixture.make(&fixture.live, new).await, KeyMade::Yes);
    let next = ApiKey::generate(true, &mut OsEntropy).unwrap();
    let rotate = |id: &'static str, now| {
        fixture.store().rotate_api_key(&fixture.live, id, KeyValue::of(&next), now)
    };
    assert_eq!(rotate("key_b", NOW).await.unwrap(), KeyRotated::Yes(record));
    assert!(fixture.works(&next, NOW) && !fixture.works(&old, NOW));
    assert_eq!(rotate("key_b", NOW.plus(1000)).await.unwrap(), KeyRotated::NotFound, "expired");
    assert_eq!(rotate("key_none", NOW).await.unwrap(), KeyRotated::NotFound);
    fixture.store().revoke_api_key(&fixture.live, "key_b", NOW).await.unwrap();
    assert_eq!(rotate("key_b", NOW).await.unwrap(), KeyRotated::NotFound, "revoked");
    // The audit log has the calls that changed something, in order, and no others.
    fixture.store().revoke_api_key(&fixture.live, "key_b", NOW).await.unwrap();
    let page = fixture.store().audit_page(&fixture.live, None, 10, NOW).wait().unwrap();
    let entries = page.entries.into_iter().filter_map(|listed| listed.entry);
    let statuses: Vec<String> = entries.map(|entry| entry.status).collect();
    let want = ["API_KEY_REVOKED", "API_KEY_ROTATED", "API_KEY_CREATED", "API_KEY_CREATED"];
    assert_eq!(statuses, want);
}

pub(super) async fn a_caller_with_a_rotated_revoked_or_expired_key_changes_nothing<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let all = idgate_base::api_key::SCOPES;
    let (other, new) = new_key("key_other", None);
    assert_eq!(fixture.make(&fixture.live, new).await, KeyMade::Yes);
    let rotated = fixture.caller_with("key_rotated", &all, None).await;
    assert!(matches!(fixture.rotate(&rotated, "key_rotated").await, KeyRotated::Yes(_)));
    let revoked = fixture.caller_with("key_revoked", &all, None).await;
    let stopped = fixture.store().revoke_api_key(&revoked, "key_revoked", NOW);
    assert_eq!(stopped.await.unwrap(), KeyRevoked::Yes);
    let end = NOW.plus(1000);
    let expired = fixture.caller_with("key_expired", &all, Some(end)).await;
    for (caller, now) in [(rotated, NOW), (revoked, NOW), (expired, end)] {
        expect_powerless(&fixture, &caller, now).await;
    }
    assert!(fixture.works(&other, NOW));
}

pub(super) async fn the_last_use_is_exact_and_survives_a_shutdown<B: Backend>() {
    let mut fixture = Fixture::<B>::new();
    let shown = |fixture: &Fixture<B>| {
        fixture.store().api_keys(&fixture.live, NOW).wait().unwrap()[0].last_used_at
    };
    assert_eq!(shown(&fixture), Some(NOW));
    assert!(fixture.works(&fixture.live_key, NOW.plus(59_999)));
    assert_eq!(shown(&fixture), Some(NOW.plus(59_999)));
    fixture.reopen(NOW);
    assert_eq!(shown(&fixture), Some(NOW.plus(59_999)));
}

pub(super) async fn revoked_expired_and_unknown_keys_do_not_authenticate<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let end = NOW.plus(1000);
    let (brief, new) = new_key("key_brief", Some(end));
    assert_eq!(fixture.make(&fixture.live, new).await, KeyMade::Yes);
    assert!(fixture.works(&brief, end.minus(1)) && !fixture.works(&brief, end));
    assert!(!fixture.works(&ApiKey::generate(true, &mut OsEntropy).unwrap(), NOW));
    let mut operator = fixture.operator();
    assert!(operator.revoke_key(None, "key_brief", NOW).unwrap());
    assert!(!fixture.works(&brief, NOW) && fixture.works(&fixture.live_key, NOW));
    assert!(operator.revoke_client(fixture.live.client_id.as_str(), NOW).unwrap());
    assert!(!fixture.works(&fixture.live_key, NOW));
    assert!(!operator.revoke_client("cli_none", NOW).unwrap());
}

pub(super) async fn an_admin_token_is_valid_from_creation_until_revocation<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let mut operator = fixture.operator();
    let (id, token) = operator.create_admin_token(None, NOW).unwrap();
    let (other, kept) = operator.create_admin_token(Some("b"), NOW).unwrap();
    let admin = |digest: &[u8; 32]| fixture.store().admin(digest).wait().unwrap();
    assert_eq!(admin(&token.digest()), Some(id.clone()));
    assert!(operator.revoke_admin_token(&id, NOW).unwrap());
    assert_eq!(admin(&token.digest()), None);
    assert_eq!(admin(&kept.digest()), Some(other));
    assert!(!operator.revoke_admin_token("adt_none", NOW).unwrap());
}

pub(super) async fn a_key_rotates_itself_and_keys_whose_scopes_are_within_its_own<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let manager = fixture.caller_with("key_m", &["api_keys:manage"], None).await;
    let both = fixture.caller_with("key_b", &["api_keys:manage", "audit:read"], None).await;
    for beyond in [&fixture.live.key_id, &both.key_id] {
        assert_eq!(fixture.rotate(&manager, beyond).await, KeyRotated::BeyondScopes);
    }
    for (caller, id) in [(&manager, "key_m"), (&both, "key_m"), (&fixture.live, "key_b")] {
        assert!(matches!(fixture.rotate(caller, id).await, KeyRotated::Yes(_)), "{id}");
    }
    // A key with every scope by name may do what a key with all scopes may.
    let every = fixture.caller_with("key_e", &idgate_base::api_key::SCOPES, None).await;
    let operators = fixture.live.key_id.clone();
    assert!(matches!(fixture.rotate(&every, &operators).await, KeyRotated::Yes(_)));
}

pub(super) async fn a_key_with_an_expiry_makes_and_rotates_only_keys_that_expire_no_later<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    let scopes = ["api_keys:manage", "session:read"];
    let last = NOW.plus(3000);
    let brief = fixture.caller_with("key_brief", &scopes, Some(last)).await;
    for (n, (expires_at, made)) in [
        (None, KeyMade::OutlivesCaller),
        (Some(last.plus(1)), KeyMade::OutlivesCaller),
        (Some(last), KeyMade::Yes),
        (Some(NOW.plus(1)), KeyMade::Yes),
    ]
    .into_iter()
    .enumerate()
    {
        let (_, new) = new_key(&format!("key_{n}"), expires_at);
        assert_eq!(fixture.make(&brief, new).await, made, "{expires_at:?}");
    }
    let (_, forever) = new_key("key_forever", None);
    assert_eq!(fixture.make(&fixture.live, forever).await, KeyMade::Yes);
    assert_eq!(fixture.rotate(&brief, "key_forever").await, KeyRotated::OutlivesCaller);
    for id in ["key_2", "key_brief"] {
        assert!(matches!(fixture.rotate(&brief, id).await, KeyRotated::Yes(_)), "{id}");
    }
}

pub(super) async fn a_client_has_no_more_active_keys_than_its_quota<B: Backend>() {
    let fixture = Fixture::<B>::new();
    for n in 1..100 {
        let (_, new) = new_key(&format!("key_{n}"), Some(NOW.plus(if n == 1 { 1 } else { 9 })));
        assert_eq!(fixture.make(&fixture.live, new).await, KeyMade::Yes, "{n}");
    }
    let one_more = |at| {
        let (_, mut new) = new_key(&format!("key_more_{at}"), None);
        new.record.created_at = at;
        fixture.make(&fixture.live, new)
    };
    assert_eq!(one_more(NOW).await, KeyMade::TooMany);
    assert_eq!(one_more(NOW.plus(1)).await, KeyMade::Yes, "one has expired");
    assert_eq!(one_more(NOW.plus(2)).await, KeyMade::TooMany);
    fixture.store().revoke_api_key(&fixture.live, "key_2", NOW).await.unwrap();
    assert_eq!(one_more(NOW.plus(3)).await, KeyMade::Yes, "one is revoked");
}

pub(super) async fn a_list_has_all_active_keys_and_then_the_newest_others<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let store = fixture.store();
    for n in 0..250 {
        let (_, new) = new_key(&format!("key_{n}"), None);
        assert_eq!(fixture.make(&fixture.live, new).await, KeyMade::Yes);
        store.revoke_api_key(&fixture.live, &format!("key_{n}"), NOW.plus(n)).await.unwrap();
    }
    let listed = store.api_keys(&fixture.live, NOW).await.unwrap();
    assert_eq!(listed.len(), 200);
    assert_eq!((&*listed[0].id, listed[0].revoked), (&*fixture.live.key_id, false));
    assert_eq!((&*listed[1].id, &*listed[199].id), ("key_249", "key_51"));
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = store.api_key_page(&fixture.live, cursor.as_deref(), 100, NOW).await.unwrap();
        all.extend(page.keys.into_iter().map(|key| key.id));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((all.len(), &*all[0], &*all[249]), (251, "key_249", "key_0"));
    // Ended keys are removed when they are old enough, and no others.
    assert_eq!(store.remove_ended_keys(NOW.plus(99), 1000).await.unwrap(), 100);
    let page = store.api_key_page(&fixture.live, None, 1000, NOW).await.unwrap();
    assert_eq!((page.keys.len(), &*page.keys[149].id), (151, "key_100"));
}
