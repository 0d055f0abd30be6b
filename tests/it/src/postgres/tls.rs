//! TLS to the database: the certificate is fully verified.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use idgate_testkit::keys::{Curve, SigningKey, pem};
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};

use super::cluster::Cluster;
use crate::server::Installation;
use crate::tenant::{Gateway, now_ms, request_for, sample_trust, sample_wallet};

const SERVER_AUTH: &str = "1.3.6.1.5.5.7.3.1";
/// The server's addresses on this machine, which nothing else uses. Its certificate names the
/// first.
const NAMED: [u8; 4] = [127, 91, 7, 1];
const UNNAMED: [u8; 4] = [127, 91, 7, 2];

fn ca(name: &str) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, name);
    CertificateBuilder::iaca_root(Name::new("UT", name), &key, now_ms()).self_sign(&key)
}

/// Makes the server accept TLS connections only, except on its socket.
fn encrypt(cluster: &Cluster, ca: &Identity) {
    let key = SigningKey::from_seed(Curve::P256, "a database");
    let name = Name::new("UT", "a database");
    let leaf = CertificateBuilder::new(name.clone(), name, &key, now_ms(), 30)
        .set(x509::SUBJECT_ALT_NAME, false, x509::ip_names(NAMED))
        .set(x509::EXT_KEY_USAGE, false, x509::ext_key_usage(&[SERVER_AUTH]))
        .under(ca)
        .issue(ca, &key);
    let data = cluster.dir().join("data");
    let owner = fs::metadata(&data).unwrap();
    let put = |name: &str, content: String| {
        let path = data.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    };
    put("server.crt", pem("CERTIFICATE", &leaf.der));
    put("server.key", key.private_pem());
    put("pg_hba.conf", "local all all trust\nhostssl all all 127.0.0.0/8 trust\n".into());
    let mut settings = fs::File::options().append(true).open(data.join("postgresql.conf")).unwrap();
    let addresses = [NAMED, UNNAMED].map(dotted).join(",");
    writeln!(settings, "listen_addresses = '{addresses}'\nssl = on").unwrap();
    cluster.kill();
    cluster.restart();
}

fn dotted(address: [u8; 4]) -> String {
    address.map(|byte| byte.to_string()).join(".")
}

fn url(address: [u8; 4], roots: &Path) -> String {
    let (address, roots) = (dotted(address), roots.to_str().unwrap());
    format!("postgres://idgate@{address}/gateway?sslmode=verify-full&sslrootcert={roots}")
}

#[test]
fn the_databases_tls_certificate_is_fully_verified() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.create("gateway", "template1");
    let (own, stranger) = (ca("database CA"), ca("another CA"));
    encrypt(&cluster, &own);
    let files = Installation::in_directory();
    let trusted = files.file("own.pem", pem("CERTIFICATE", &own.der));
    let other = files.file("other.pem", pem("CERTIFICATE", &stranger.der));
    let plain = format!("postgres://idgate@{}/gateway", dotted(NAMED));
    for refused in [url(NAMED, &other), url(UNNAMED, &trusted), plain] {
        let output = Installation::on(&refused).run(&["migrate"]);
        assert_eq!(output.code, 1, "{refused}: {output:?}");
    }
    let installation = Installation::on(&url(NAMED, &trusted));
    let migrated = installation.run(&["migrate"]);
    assert_eq!(migrated.code, 0, "{migrated:?}");
    let gateway = Gateway::trusting(installation, &sample_trust());
    let created = gateway.tenant().verified(&request_for(&["given_name"]), &sample_wallet());
    assert_eq!(gateway.tenant().read(&created.id)["status"], "VERIFIED");
    let encrypted = "SELECT count(*) > 0 AND bool_and(s.ssl) FROM pg_stat_activity AS a \
                     JOIN pg_stat_ssl AS s USING (pid) WHERE a.application_name = 'idgate'";
    assert_eq!(cluster.run(&cluster.url("gateway"), encrypted), "t");
}
