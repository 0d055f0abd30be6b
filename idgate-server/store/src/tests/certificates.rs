//! Keys with certificates: requested once, bound to the client that they sign for, and erased when
//! no session can name them any more.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::VerifierCertificate;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};

use super::erasure::files_with;
use super::*;
use crate::OperatorStore;
use crate::gateway_key::{GatewayKey, REPLACED_SIGNS_MS};
use crate::upkeep::Upkeep;
use idgate_base::clock::VirtualClock;
use idgate_testkit::patience::until;

fn operator(fixture: &Fixture) -> OperatorStore {
    OperatorStore::open_existing(fixture.path(), None).unwrap()
}

fn certificate(key: &GatewayKey) -> VerifierCertificate {
    let root = Identity::iaca(Curve::P256, NOW.0);
    let unused = SigningKey::from_seed(Curve::P256, "unused");
    let name = Name::new("UT", "shop");
    let builder = CertificateBuilder::new(name.clone(), name, &unused, NOW.0, 90)
        .with(|own| own.spki = key.public().spki_der())
        .under(&root);
    VerifierCertificate::from_chain(&PROVIDER, &[builder.sign(&root.key)]).unwrap()
}

fn certify(operator: &mut OperatorStore, client_id: &str, now: UnixMillis) -> VerifierCertificate {
    let certificate = certificate(&operator.requested_key(client_id, now).unwrap());
    operator.import_certificate(client_id, &certificate, now).unwrap();
    certificate
}

/// The first bytes of the sealed private keys, oldest first.
fn sealed_keys(fixture: &Fixture) -> Vec<Vec<u8>> {
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    let mut statement = main.prepare("SELECT sealed FROM certificate_keys ORDER BY rowid").unwrap();
    let rows = statement.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    rows.map(|sealed| sealed.unwrap().get(..16).unwrap().to_vec()).collect()
}

fn hashes(fixture: &Fixture) -> Vec<String> {
    let certificates = fixture.store().certificates().wait().unwrap();
    certificates.keys.iter().map(|key| key.certificate.x509_hash.clone()).collect()
}

#[test]
fn a_key_waits_until_its_certificate_comes() {
    let fixture = Fixture::new();
    let mut operator = operator(&fixture);
    let first = operator.requested_key("", NOW).unwrap();
    assert_eq!(operator.requested_key("", NOW.plus(1)).unwrap().id(), first.id());
    assert_ne!(operator.requested_key("cli_a", NOW).unwrap().id(), first.id());
    assert!(hashes(&fixture).is_empty());
    operator.import_certificate("", &certificate(&first), NOW).unwrap();
    assert_ne!(operator.requested_key("", NOW).unwrap().id(), first.id());
}

#[test]
fn a_certificate_for_another_key_is_not_stored() {
    let fixture = Fixture::new();
    let mut operator = operator(&fixture);
    let clients = certificate(&operator.requested_key("cli_a", NOW).unwrap());
    assert!(operator.import_certificate("", &clients, NOW).is_err());
    assert!(operator.certificates(None).unwrap().is_empty());
}

#[test]
fn a_running_gateway_uses_a_new_certificate_from_the_next_read() {
    let fixture = Fixture::new();
    let none = fixture.store().certificates().wait().unwrap();
    assert!(Arc::ptr_eq(&none, &fixture.store().certificates().wait().unwrap()));
    let mut operator = operator(&fixture);
    let gateways = certify(&mut operator, "", NOW);
    let clients = certify(&mut operator, "cli_a", NOW);
    let certificates = fixture.store().certificates().wait().unwrap();
    let in_force = |client| &certificates.in_force(client, NOW).unwrap().certificate;
    assert_eq!((in_force("cli_a"), in_force("cli_b")), (&clients, &gateways));
    let key = certificates.in_force("", NOW).unwrap();
    assert_eq!(key.key.public(), &gateways.key);
}

#[test]
fn a_replaced_key_signs_for_25_hours_and_leaves_every_file() {
    let mut fixture = Fixture::new();
    let mut operator = operator(&fixture);
    let old = certify(&mut operator, "", NOW);
    let needle = &sealed_keys(&fixture).remove(0);
    assert!(!files_with(fixture.path(), needle).is_empty(), "the search finds what is there");
    let new = certify(&mut operator, "", NOW.plus(10));
    let both = [new.x509_hash, old.x509_hash];
    assert_eq!(hashes(&fixture), both);
    fixture.close();
    fixture.reopen(NOW.plus(10 + REPLACED_SIGNS_MS));
    assert_eq!(hashes(&fixture), both);
    fixture.close();
    fixture.reopen(NOW.plus(11 + REPLACED_SIGNS_MS));
    assert_eq!(hashes(&fixture), both[..1]);
    fixture.close();
    drop(operator);
    assert!(files_with(fixture.path(), needle).is_empty());
}

#[tokio::test]
async fn a_running_gateway_erases_a_replaced_key_after_25_hours() {
    let mut fixture = Fixture::new();
    let store: Arc<Store> = Arc::new(fixture.store.take().unwrap());
    let mut operator = operator(&fixture);
    certify(&mut operator, "", NOW);
    let needle = sealed_keys(&fixture).remove(0);
    let new = certify(&mut operator, "", NOW.plus(10));
    drop(operator);
    let clock = VirtualClock::at(NOW.plus(10 + REPLACED_SIGNS_MS));
    let upkeep = Upkeep::new(store.clone(), Arc::new(clock.clone()));
    assert_eq!(upkeep.forget_certificates().await.unwrap(), 0);
    let before = store.certificates().await.unwrap();
    assert_eq!(before.keys.len(), 2);
    assert!(!files_with(fixture.path(), &needle).is_empty(), "the search finds what is there");
    clock.advance(1);
    assert_eq!(upkeep.forget_certificates().await.unwrap(), 1);
    let after = store.certificates().await.unwrap();
    let left: Vec<_> = after.keys.iter().map(|key| &key.certificate.x509_hash).collect();
    assert_eq!(left, [&new.x509_hash]);
    until("it is erased", async || files_with(fixture.path(), &needle).is_empty()).await;
    assert_eq!(upkeep.forget_certificates().await.unwrap(), 0);
}

#[test]
fn a_revoked_clients_certificate_ends_and_its_key_is_erased() {
    let mut fixture = Fixture::new();
    let mut operator = operator(&fixture);
    let client = operator.create_client("shop", true, None, NOW).unwrap().client_id;
    let gateways = certify(&mut operator, "", NOW);
    let own = certify(&mut operator, &client, NOW);
    operator.requested_key(&client, NOW).unwrap();
    let [_, used, waits] = sealed_keys(&fixture).try_into().unwrap();
    assert_eq!(hashes(&fixture), [own.x509_hash.clone(), gateways.x509_hash.clone()]);
    assert!(operator.revoke_client(&client, NOW.plus(10)).unwrap());
    // Sessions that were created with it stay valid.
    let certificates = fixture.store().certificates().wait().unwrap();
    assert_eq!(certificates.in_force(&client, NOW).unwrap().certificate, gateways);
    assert_eq!(hashes(&fixture), [own.x509_hash, gateways.x509_hash.clone()]);
    assert!(operator.requested_keys(Some(&client)).unwrap().is_empty());
    assert!(operator.revoke_client(&client, NOW.plus(20)).unwrap());
    assert_eq!(operator.certificates(Some(&client)).unwrap()[0].replaced_at, Some(NOW.plus(10)));
    fixture.close();
    fixture.reopen(NOW.plus(11 + REPLACED_SIGNS_MS));
    assert_eq!(hashes(&fixture), [gateways.x509_hash]);
    fixture.close();
    drop(operator);
    for needle in [used, waits] {
        assert!(files_with(fixture.path(), &needle).is_empty());
    }
}

#[test]
fn the_registrations_of_a_revoked_client_leave_every_file() {
    let mut fixture = Fixture::new();
    let mut operator = operator(&fixture);
    let client = operator.create_client("shop", true, None, NOW).unwrap().client_id;
    // {"typ":"rc-wrp+jwt"} and {"sub":"VATUT-123","credentials":[]}
    let head = "eyJ0eXAiOiJyYy13cnArand0In0.eyJzdWIiOiJWQVRVVC0xMjMiLCJjcmVkZW50aWFscyI6W119.";
    let texts = [head.to_owned() + "Zmlyc3Q", head.to_owned() + "c2Vjb25k"];
    for (text, name) in texts.iter().zip(["default", "age"]) {
        let new = crate::NewRegistration {
            client_id: &client,
            intended_use: Some(name),
            as_default: false,
            certificate: &idgate_core::RegistrationCertificate::parse(text).unwrap(),
            strict: false,
        };
        operator.keep_registration(&new, NOW).unwrap();
        assert!(!files_with(fixture.path(), text.as_bytes()).is_empty(), "the search finds it");
    }
    assert!(operator.revoke_client(&client, NOW).unwrap());
    fixture.close();
    drop(operator);
    for text in texts {
        assert!(files_with(fixture.path(), text.as_bytes()).is_empty());
    }
}

#[test]
fn a_key_moved_to_another_client_is_not_loaded() {
    let fixture = Fixture::new();
    let mut operator = operator(&fixture);
    certify(&mut operator, "cli_a", NOW);
    let gateways = certify(&mut operator, "", NOW);
    drop(operator);
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    for table in ["certificates", "certificate_keys"] {
        let sql = format!("UPDATE {table} SET client_id = 'cli_b' WHERE client_id = 'cli_a'");
        main.execute(&sql, []).unwrap();
    }
    assert_eq!(hashes(&fixture), [gateways.x509_hash]);
}
