//! TLS to the database: `verify-full`, except on a socket or a loopback address.

use std::path::Path;
use std::sync::Arc;

use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A connector that trusts the certificates in `roots_file`, or those of the system without it.
///
/// # Errors
/// There are no certificates to trust. The text says what to do.
pub(super) fn connector(roots_file: Option<&Path>) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore::empty();
    match roots_file {
        Some(path) => add_file(&mut roots, path)
            .map_err(|why| format!("sslrootcert: {}: {why}", path.display()))?,
        None => {
            let native = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(native.certs);
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
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
    fn a_file_without_a_root_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("roots.pem");
        assert!(connector(Some(&path)).is_err());
        std::fs::write(&path, "no certificate").unwrap();
        let error = connector(Some(&path)).err().unwrap();
        assert!(error.starts_with("sslrootcert: ") && error.contains("PEM"), "{error}");
        assert!(connector(None).is_ok());
    }
}
