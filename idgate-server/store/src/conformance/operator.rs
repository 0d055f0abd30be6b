//! Changes by operators are in force with the next read of a running gateway.

use super::*;
use idgate_base::clock::Moment;
use idgate_core::shell::Oid;
use idgate_core::trust::OnUnknownRevocation;

pub(super) async fn a_trust_change_applies_to_the_next_read<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let before = fixture.store().trust().wait().unwrap();
    assert!(
        Arc::ptr_eq(&before, &fixture.store().trust().wait().unwrap()),
        "unchanged: the same one"
    );
    let change = TrustChange { vct: Some(vec!["urn:x".into()]), ..TrustChange::default() };
    fixture.operator().add_trust("issuer", &change, NOW).unwrap().unwrap();
    let after = fixture.store().trust().wait().unwrap();
    assert!(after.version() > before.version());
    let issuer = idgate_core::IssuerId::new("issuer");
    let entry = after.entry(&issuer).unwrap();
    assert_eq!((entry.vct.len(), entry.keys.len(), entry.default_claims.len()), (1, 1, 1));
    assert!(fixture.operator().remove_trust("issuer", NOW).unwrap());
    assert!(!fixture.operator().remove_trust("issuer", NOW).unwrap());
    assert!(fixture.store().trust().wait().unwrap().entry(&issuer).is_none());
}

pub(super) async fn a_request_uses_trust_as_of_its_arrival_or_later<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let key = &fixture.operator().create_client("other", true, None, NOW).unwrap().api_key;
    let since = || fixture.store().authenticate(&key.digest(), NOW).wait().unwrap().unwrap().since;
    let before = since();
    let first = fixture.store().in_force(before).wait().unwrap();
    let again = fixture.store().in_force(before).wait().unwrap();
    assert!(Arc::ptr_eq(&first.trust, &again.trust), "unchanged: the same ones");
    assert!(Arc::ptr_eq(&first.gateway_keys, &again.gateway_keys));
    assert!(Arc::ptr_eq(&first.certificates, &again.certificates));
    let change = TrustChange { vct: Some(vec!["urn:x".into()]), ..TrustChange::default() };
    fixture.operator().add_trust("issuer", &change, NOW).unwrap().unwrap();
    fixture.operator().rotate_gateway_key(NOW).unwrap();
    for since in [Moment::now(), since()] {
        let now = fixture.store().in_force(since).wait().unwrap();
        assert!(now.trust.version() > first.trust.version());
        assert_ne!(now.gateway_keys.active.id(), first.gateway_keys.active.id());
    }
}

pub(super) async fn sd_jwt_extended_key_usages_are_stored_and_in_force<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let issuer = idgate_core::IssuerId::new("issuer");
    let in_force = || {
        let trust = fixture.store().trust().wait().unwrap();
        trust.entry(&issuer).unwrap().sd_jwt_ekus.clone()
    };
    assert!(in_force().is_empty());
    let ekus: Vec<Oid> =
        ["1.2.3", "2.5.29.37.0"].iter().filter_map(|oid| Oid::parse(oid)).collect();
    let change = TrustChange { sd_jwt_ekus: Some(ekus.clone()), ..TrustChange::default() };
    fixture.operator().add_trust("issuer", &change, NOW).unwrap().unwrap();
    assert_eq!(in_force(), ekus);
    fixture.operator().add_trust("issuer", &TrustChange::default(), NOW).unwrap().unwrap();
    assert_eq!(in_force(), ekus, "attributes that are not given stay");
}

pub(super) async fn on_unknown_revocation_is_stored_and_in_force<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let issuer = idgate_core::IssuerId::new("issuer");
    let in_force = || {
        let trust = fixture.store().trust().wait().unwrap();
        trust.entry(&issuer).unwrap().on_unknown_revocation
    };
    assert_eq!(in_force(), OnUnknownRevocation::Refuse);
    for choice in [OnUnknownRevocation::Accept, OnUnknownRevocation::Tenant] {
        let change = TrustChange { on_unknown_revocation: Some(choice), ..TrustChange::default() };
        fixture.operator().add_trust("issuer", &change, NOW).unwrap().unwrap();
        assert_eq!(in_force(), choice);
        fixture.operator().add_trust("issuer", &TrustChange::default(), NOW).unwrap().unwrap();
        assert_eq!(in_force(), choice, "attributes that are not given stay");
    }
}

pub(super) async fn a_trust_entry_without_material_is_not_stored<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let mut operator = fixture.operator();
    assert!(operator.add_trust("other", &TrustChange::default(), NOW).unwrap().is_none());
    assert!(operator.trust_entry("other").unwrap().is_none());
}

pub(super) async fn a_clients_origins_apply_to_the_next_read_and_to_no_other_client<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let (client, other) = (&fixture.live.client_id, &fixture.other_client().client_id);
    let origins = |of| fixture.store().origins(of).wait().unwrap();
    assert!(origins(client).is_empty());
    for origin in ["https://shop.example", "https://a.example"] {
        assert!(fixture.operator().add_origin(client.as_str(), origin, NOW).unwrap());
    }
    assert_eq!(origins(client), ["https://a.example", "https://shop.example"]);
    assert!(origins(other).is_empty());
    let mut operator = fixture.operator();
    assert!(operator.remove_origin(client.as_str(), "https://a.example").unwrap());
    assert_eq!(origins(client), ["https://shop.example"]);
}

pub(super) async fn the_first_start_creates_a_signing_key_and_later_starts_keep_it<B: Backend>() {
    let mut fixture = Fixture::<B>::new();
    let first = fixture.store().gateway_keys().wait().unwrap();
    assert!(Arc::ptr_eq(&first, &fixture.store().gateway_keys().wait().unwrap()));
    fixture.close();
    fixture.reopen(NOW);
    let again = fixture.store().gateway_keys().wait().unwrap();
    assert_eq!((again.active.id(), again.number), (first.active.id(), 1));
    assert!(again.retired.is_empty());
}

pub(super) async fn a_key_rotation_applies_immediately_and_the_old_key_outlives_its_sessions<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    let old = fixture.store().gateway_keys().wait().unwrap();
    let session = fixture.session(&fixture.live).await;
    let mut operator = fixture.operator();
    operator.rotate_gateway_key(NOW.plus(10)).unwrap();
    let keys = fixture.store().gateway_keys().wait().unwrap();
    assert_ne!(keys.active.id(), old.active.id());
    let ids = |now| -> Vec<String> { keys.published(now).into_iter().map(|key| key.id).collect() };
    let both = [keys.active.id(), old.active.id()];
    assert_eq!(ids(session.expires_at().minus(1)), both);
    assert_eq!(ids(session.expires_at()), both[..1]);
    let [new, retired] = &operator.gateway_keys().unwrap()[..] else { panic!("two keys") };
    assert_eq!((&*new.id, new.retired_at), (keys.active.id(), None));
    assert_eq!(retired.published_until, Some(session.expires_at()));
}

pub(super) async fn a_retired_key_signs_for_open_sessions_and_is_erased_after_them<B: Backend>() {
    let mut fixture = Fixture::<B>::new();
    let old = fixture.store().gateway_keys().wait().unwrap();
    let session = fixture.session(&fixture.live).await;
    let mut operator = fixture.operator();
    operator.rotate_gateway_key(NOW.plus(10)).unwrap();
    fixture.close();
    fixture.reopen(NOW.plus(20));
    let signer = || {
        let keys = fixture.store().gateway_keys().wait().unwrap();
        keys.retired[0].signer.as_ref().map(|key| key.id().to_owned())
    };
    assert_eq!(signer().as_deref(), Some(old.active.id()));
    let last = session.expires_at();
    assert_eq!(fixture.store().erase_signers(last.minus(1)).await.unwrap(), 0);
    assert!(signer().is_some() && operator.gateway_keys().unwrap()[1].can_sign);
    assert_eq!(fixture.store().erase_signers(last).await.unwrap(), 1);
    assert!(signer().is_none() && !operator.gateway_keys().unwrap()[1].can_sign);
    assert_eq!(fixture.store().erase_signers(last.plus(1)).await.unwrap(), 0);
    assert!(fixture.store().gateway_keys().wait().unwrap().find(old.active.id()).is_some());
}

pub(super) async fn a_retired_key_without_open_sessions_is_no_longer_published<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let old = fixture.store().gateway_keys().wait().unwrap();
    fixture.operator().rotate_gateway_key(NOW).unwrap();
    let keys = fixture.store().gateway_keys().wait().unwrap();
    assert_eq!(keys.published(NOW).len(), 1);
    assert!(keys.find(old.active.id()).is_some());
}
