//! TLS in the process: a certificate and its key from two files, which are read again on request.
//! Versions, suites and groups are the defaults of rustls.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::config::TlsFiles;

/// The certificate that the listener presents, and its files.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    config: Mutex<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads both files.
    ///
    /// # Errors
    /// A file cannot be read or used, or they do not match; the text says which, and what to do.
    pub fn load(files: &TlsFiles) -> Result<Self, String> {
        let config = Mutex::new(Arc::new(read(files)?));
        Ok(Self { files: files.clone(), config })
    }

    /// Reads both files again. New connections get the new certificate; if the files cannot be
    /// used, the old one stays.
    ///
    /// # Errors
    /// As [`Tls::load`].
    pub fn reload(&self) -> Result<(), String> {
        let config = Arc::new(read(&self.files)?);
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// Makes the TLS handshake; `None` if the peer does not speak TLS, or takes longer than `time`.
    pub(super) async fn accept<T: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: T,
        time: Duration,
    ) -> Option<TlsStream<T>> {
        let config = self.config.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let shaken = tokio::time::timeout(time, TlsAcceptor::from(config).accept(stream)).await;
        match shaken {
            Ok(Ok(stream)) => return Some(stream),
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_late) => tracing::debug!("a TLS handshake took too long"),
        }
        None
    }
}

/// The certificates of a PEM file, leaf first.
///
/// # Errors
/// The file cannot be read, or contains none.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |why: &str| format!("IDGATE_TLS_CERT: {}: {why}", path.display());
    let chain: Result<Vec<_>, pem::Error> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match chain {
        Ok(chain) if chain.is_empty() => Err(wrong("contains no certificate in PEM")),
        Ok(chain) => Ok(chain),
        Err(pem::Error::Io(error)) => Err(wrong(&error.to_string())),
        Err(_) => Err(wrong("is not PEM; write the certificate and its intermediates as PEM")),
    }
}

fn read(files: &TlsFiles) -> Result<ServerConfig, String> {
    let chain = certificates(&files.cert)?;
    let key = private_key(&files.key)?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?
        .with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key).map_err(|error| {
        format!(
            "IDGATE_TLS_CERT and IDGATE_TLS_KEY cannot be used together: {error}; \
             give a certificate chain, leaf first, and the private key of its first certificate"
        )
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Errors name the file and never quote its content.
fn private_key(path: &PathBuf) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| {
        let why = match error {
            pem::Error::Io(error) => error.to_string(),
            _ => "contains no private key in PEM (PKCS #8, SEC 1 or PKCS #1, not encrypted)".into(),
        };
        format!("IDGATE_TLS_KEY: {}: {why}", path.display())
    })
}
