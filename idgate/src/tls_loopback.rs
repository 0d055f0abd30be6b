//! A TLS server on loopback for tests, under its own root.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use idgate_testkit::codec::from_base64url;
use idgate_testkit::der::{self, oid, sequence, tlv, unsigned};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateSec1KeyDer;

use crate::loopback::answer;

pub(crate) struct TlsLoopback {
    pub(crate) address: SocketAddr,
    /// In PEM.
    pub(crate) root: String,
    answer: Arc<Mutex<Vec<u8>>>,
    connections: Arc<AtomicUsize>,
    last_head: Arc<Mutex<String>>,
}

#[allow(clippy::disallowed_methods)] // certificates are of today
fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

impl TlsLoopback {
    pub(crate) async fn start() -> Self {
        let now = now_ms();
        let root = Identity::iaca(Curve::P256, now);
        let key = SigningKey::from_seed(Curve::P256, "tls");
        let address = sequence(&[&tlv(0x87, &[&[127, 0, 0, 1]])]);
        let name = Name::new("UT", "Server");
        let leaf = CertificateBuilder::new(root.builder.subject.clone(), name, &key, now, 30)
            .set("2.5.29.17", false, address)
            .issue(&root, &key);
        let scalar = from_base64url(key.private_jwk()["d"].as_str().unwrap()).unwrap();
        let curve = tlv(0xa0, &[&oid("1.2.840.10045.3.1.7")]);
        let sec1 = sequence(&[&unsigned(&[1]), &tlv(der::OCTET_STRING, &[&scalar]), &curve]);
        let config = ServerConfig::builder_with_provider(Arc::new(
            tokio_rustls::rustls::crypto::aws_lc_rs::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der.into()], PrivateSec1KeyDer::from(sec1).into())
        .unwrap();
        let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &root.der);
        let pem = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let bound = listener.local_addr().unwrap();
        let (given, connections) =
            (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let last_head = Arc::<Mutex<String>>::default();
        let (answers, seen, kept) = (given.clone(), connections.clone(), last_head.clone());
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                seen.fetch_add(1, Ordering::SeqCst);
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut head = [0; 1024];
                let read = stream.read(&mut head).await.unwrap_or_default();
                *kept.lock().unwrap() = String::from_utf8_lossy(&head[..read]).into();
                let answer: Vec<u8> = answers.lock().unwrap().clone();
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { address: bound, root: pem, answer: given, connections, last_head }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/list", self.address)
    }

    /// Answers with `body` from now on.
    pub(crate) fn give(&self, body: &[u8]) {
        self.give_with("200 OK", "", body);
    }

    /// Answers with this status, these header lines and `body` from now on.
    pub(crate) fn give_with(&self, status: &str, headers: &str, body: &[u8]) {
        *self.answer.lock().unwrap() = answer(status, headers, body);
    }

    /// The last request, or its beginning.
    pub(crate) fn last_head(&self) -> String {
        self.last_head.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}
