//! One presentation without a session: the two programs that an application begins with.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use idgate::{Cidr, FetchOptions, Fetcher};
use idgate_core::crypto::rustcrypto::PROVIDER;
use idgate_core::{Expected, Issuer, Reason, Refused, Sent, Transcript, Trust, UnixMillis};
use idgate_testkit::codec::base64url;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{
    DeviceProof, Document, IssuerSigned, MDL, MDL_NAME_SPACE, device_response, openid4vp,
};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{self, ISSUER, MDL_ISSUER, VCT};
use idgate_testkit::status::Crl;
use idgate_testkit::time::{DAY_MS, SAMPLE_NOW_MS, compact_utc};
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use idgate_testkit::x509::{
    CRL_DISTRIBUTION_POINTS, CertificateBuilder, Identity, Name, distribution_points,
    key_identifier,
};

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
const CLIENT_ID: &str = "x509_san_dns:shop.example";
const RESPONSE_URI: &str = "https://shop.example/answer";

#[derive(serde::Deserialize)]
struct Pid {
    birthdate: String,
}

#[derive(serde::Deserialize)]
struct Age {
    age_over_18: bool,
}

fn birthdate(
    trust: &Trust,
    vp_token: &str,
    sent: Sent<'_>,
    now: UnixMillis,
) -> Result<String, Refused> {
    let expected = Expected::sd_jwt_vc(ISSUER, sent).claims(&["birthdate"]);
    let credential = trust.verify(vp_token, &expected, now)?;
    Ok(credential.claims::<Pid>().unwrap().birthdate)
}

#[test]
fn an_sd_jwt_vc_gives_its_claims_as_a_type_and_another_nonce_is_refused_with_its_clause() {
    let key = samples::issuer_key(Curve::P256).public_jwk().to_string();
    let trust = Trust::new(PROVIDER, [Issuer::new(ISSUER).vct(VCT).jwk(key)]).unwrap();
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, NOW.0).issue(&samples::issuer_key(Curve::P256));
    let shown = Presentation::whole(&credential);
    let request = AuthorizationRequest {
        client_id: CLIENT_ID.into(),
        response_uri: String::new(),
        nonce: "n-0S6_WzA2Mj".into(),
        state: String::new(),
        definition_id: String::new(),
        descriptors: Vec::new(),
    };
    let vp_token = present(&shown, Some(&KbJwt::new(&holder, &shown, &request, NOW.0).sign()));

    let sent = |nonce| Sent { client_id: CLIENT_ID, nonce, at: NOW };
    assert_eq!(birthdate(&trust, &vp_token, sent("n-0S6_WzA2Mj"), NOW).unwrap(), "1984-08-12");
    let refused = birthdate(&trust, &vp_token, sent("another"), NOW).unwrap_err();
    assert_eq!(refused.reason(), Reason::NonceMismatch);
    assert!(refused.to_string().contains("RFC 9901 7.3"), "{refused}");
}

/// A licence whose signer publishes its CRL at `crl`, shown for that nonce; the root, and the CRL itself.
fn licence(crl: &str, nonce: &str, now: UnixMillis) -> (Identity, Vec<u8>, String) {
    let root = Identity::iaca(Curve::P256, now.0);
    let key = SigningKey::from_seed(Curve::P256, "idgate sample document signer");
    let name = Name::new("UT", "Utopia document signer");
    let signer = CertificateBuilder::document_signer(&root, name, &key, now.0)
        .set(CRL_DISTRIBUTION_POINTS, false, distribution_points(&[crl]))
        .issue(&root, &key);
    let device = SigningKey::from_seed(Curve::P256, "idgate sample device");
    let elements = [("age_over_18", true.into()), ("issuing_country", "UT".into())];
    let issued = IssuerSigned::mdl(&elements, &signer.key, &[signer.der], &device, now.0);
    let transcript = openid4vp(CLIENT_ID, nonce, None, RESPONSE_URI);
    let shown = Document::new(issued, &device).prove(&transcript, &DeviceProof::Signature);

    let (from, until) = (compact_utc(now.0 - DAY_MS), compact_utc(now.0 + DAY_MS));
    let crl = Crl::new(&root.builder.subject.der(), &key_identifier(&root.key), &from, &until);
    let signed = crl.sign(&root.key);
    (root, signed, base64url(&device_response(vec![shown]).encode()))
}

/// A host of one CRL, which answers `visits` times.
fn serve(host: TcpListener, crl: Vec<u8>, visits: usize) {
    for _ in 0..visits {
        let (mut socket, _) = host.accept().unwrap();
        let mut head = BufReader::new(socket.try_clone().unwrap()).lines();
        while head.next().is_some_and(|line| !line.unwrap().is_empty()) {}
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", crl.len());
        socket.write_all(&[answer.as_bytes(), &crl].concat()).unwrap();
    }
}

#[tokio::test]
async fn an_mdoc_is_verified_with_its_crl_and_refused_with_the_remedy_once_that_is_down() {
    let now = idgate_examples::now();
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let nonce = "n-0S6_WzA2Mj";
    let url = format!("http://{}/iaca.crl", host.local_addr().unwrap());
    let (root, crl, vp_token) = licence(&url, nonce, now);
    let serving = thread::spawn(move || serve(host, crl, 1));

    let dmv = Issuer::new(MDL_ISSUER).doc_type(MDL).iaca_roots(root.der);
    let trust = Trust::new(PROVIDER, [dmv]).unwrap();
    let sent = Sent { client_id: CLIENT_ID, nonce, at: now };
    let posted = Transcript::openid4vp(RESPONSE_URI);
    let expected = Expected::mdoc(MDL_ISSUER, MDL, MDL_NAME_SPACE, posted, sent);
    let expected = expected.claims(&["age_over_18"]);
    let fetcher =
        || Fetcher::new(FetchOptions::default().allow(Cidr::parse("127.0.0.0/8").unwrap()));

    let first = fetcher().unwrap();
    let licence = first.verify(&trust, &vp_token, &expected).await.unwrap();
    assert!(licence.claims::<Age>().unwrap().age_over_18);
    serving.join().unwrap();
    let remembered = first.verify(&trust, &vp_token, &expected).await;
    assert!(remembered.is_ok());

    let refused = fetcher().unwrap().verify(&trust, &vp_token, &expected).await.unwrap_err();
    assert_eq!(refused.reason(), Reason::RevocationUnknown);
    assert!(refused.to_string().contains("revocation_unknown"), "{refused}");
}
