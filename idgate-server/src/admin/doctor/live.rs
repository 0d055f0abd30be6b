//! `idgate doctor --live`: checks whether the gateway on this machine answers. It is for health
//! checks of containers, which have no other program for this.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
};

use crate::config::{Config, TlsFiles};
use crate::http::certificates;
use idgate_store::Finding;

/// The time for the whole check. A gateway that takes longer is of no use.
const TIME: Duration = Duration::from_secs(3);
/// The bytes read of an answer; only its first line is checked.
const ANSWER: usize = 1024;
const REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// Checks whether the gateway of these settings answers, and its certificate.
pub(super) fn look(config: &Config) -> Vec<Finding> {
    let address = here(config.listen);
    if address.port() == 0 {
        let what = "IDGATE_LISTEN has port 0, so the port of the gateway is not known; name a port";
        return vec![Finding::bad("live", what)];
    }
    match in_time(address, config.tls.clone()) {
        Ok(None) => vec![Finding::good("live", format!("{address} answers"))],
        Ok(Some(finding)) => {
            vec![Finding::good("live", format!("{address} answers")), finding]
        }
        Err(why) => vec![Finding::bad("live", format!("{address}: {why}"))],
    }
}

/// The address of a listener from this machine.
fn here(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// Asks on a thread, which ends with the program, so that a slow answer is not waited for.
fn in_time(address: SocketAddr, tls: Option<TlsFiles>) -> Result<Option<Finding>, String> {
    let (sender, receiver) = mpsc::channel();
    let asks = move || drop(sender.send(ask(address, tls.as_ref())));
    thread::Builder::new()
        .spawn(asks)
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    let late = |_| Err(format!("no answer within {} s", TIME.as_secs()));
    receiver.recv_timeout(TIME).unwrap_or_else(late)
}

fn ask(address: SocketAddr, tls: Option<&TlsFiles>) -> Result<Option<Finding>, String> {
    let stream = TcpStream::connect_timeout(&address, TIME)
        .map_err(|error| format!("no connection: {error}"))?;
    let Some(files) = tls else {
        return answers(stream).map(|()| None);
    };
    let met = Arc::new(Met::new());
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&met) as _)
        .with_no_client_auth();
    let name = ServerName::from(address.ip());
    let connection = ClientConnection::new(Arc::new(config), name)
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    answers(StreamOwned::new(connection, stream))?;
    Ok(met.differs(files))
}

/// Sends the request, and checks that the answer is 200.
fn answers(mut stream: impl Read + Write) -> Result<(), String> {
    let fails = |error: io::Error| format!("no answer: {error}");
    stream.write_all(REQUEST).and_then(|()| stream.flush()).map_err(fails)?;
    let mut answer = Vec::new();
    let mut part = [0; ANSWER];
    while answer.len() < ANSWER && !answer.contains(&b'\n') {
        match stream.read(&mut part).map_err(fails)? {
            0 => break,
            count => answer.extend_from_slice(part.get(..count).unwrap_or_default()),
        }
    }
    if answer.starts_with(b"HTTP/1.1 200 ") {
        Ok(())
    } else {
        Err("the answer is not that of a healthy idgate".into())
    }
}

/// Accepts any certificate, and keeps it for a comparison. This is enough: the request is
/// secret-free and stays on this machine, and only the fact that something answers counts. The
/// certificate is for the name that wallets use, not for the loopback address.
#[derive(Debug)]
struct Met {
    algorithms: WebPkiSupportedAlgorithms,
    leaf: Mutex<Option<CertificateDer<'static>>>,
}

impl Met {
    fn new() -> Self {
        let algorithms = default_provider().signature_verification_algorithms;
        Self { algorithms, leaf: Mutex::new(None) }
    }

    /// Warns if the gateway shows another certificate than that of the file. The gateway still
    /// counts as alive.
    fn differs(&self, files: &TlsFiles) -> Option<Finding> {
        let leaf = self.leaf.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        match certificates(&files.cert) {
            Ok(chain) if chain.first() == Some(&leaf) => None,
            Ok(_) => {
                let what =
                    "the gateway shows another certificate than IDGATE_TLS_CERT; send SIGHUP";
                Some(Finding::warning("tls", what))
            }
            Err(error) => Some(Finding::warning("tls", error)),
        }
    }
}

impl ServerCertVerifier for Met {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let mut kept = self.leaf.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(leaf.clone().into_owned());
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, leaf, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, leaf, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
