//! TLS of outgoing connections: the operating system's roots and those of the operator.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A connector that trusts the system's roots and those in `extra_ca_file`.
///
/// # Errors
/// The file holds no usable certificate; the text says what to do.
pub(super) fn connector(extra_ca_file: Option<&Path>) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if roots.is_empty() && extra_ca_file.is_none() {
        tracing::warn!(
            "this system has no root certificates: https sources of revocation and webhooks cannot \
             be reached; install them, or set IDGATE_EXTRA_CA_FILE"
        );
    }
    if let Some(path) = extra_ca_file {
        add_file(&mut roots, path)
            .map_err(|why| format!("IDGATE_EXTRA_CA_FILE: {}: {why}", path.display()))?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), String> {
    let pem = std::fs::read(path).map_err(|error| error.to_string())?;
    let mut added = false;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_| "is not PEM; convert it to PEM".to_owned())?;
        roots
            .add(certificate)
            .map_err(|_| "holds a certificate that cannot be used as a root".to_owned())?;
        added = true;
    }
    if added { Ok(()) } else { Err("holds no certificate in PEM".into()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_usable_certificates_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("empty.pem", ""),
            ("text.pem", "no certificate"),
            ("junk.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            ("broken.pem", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let error = connector(Some(&path)).err().unwrap();
            assert!(error.starts_with("IDGATE_EXTRA_CA_FILE: "), "{error}");
        }
        assert!(connector(Some(&folder.path().join("none.pem"))).is_err());
        assert!(connector(None).is_ok());
    }
}
