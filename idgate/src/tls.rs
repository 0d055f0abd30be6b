//! TLS of outgoing connections, with the operating system's roots and additional ones.

use std::fmt;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Roots without a usable certificate; the message says what to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnusableRoots(String);

impl fmt::Display for UnusableRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnusableRoots {}

/// A connector that trusts the system's roots and those in `extra`. Also returns whether there is
/// any root.
///
/// # Errors
/// `extra` contains no usable certificate.
pub(super) fn connector(extra: Option<&[u8]>) -> Result<(TlsConnector, bool), UnusableRoots> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if let Some(pem) = extra {
        add(&mut roots, pem).map_err(|why| UnusableRoots(why.into()))?;
    }
    let trusts_any = !roots.is_empty();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| UnusableRoots(format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((TlsConnector::from(Arc::new(config)), trusts_any))
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), &'static str> {
    let mut added = false;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|_| "is not PEM; convert it to PEM")?;
        roots.add(certificate).map_err(|_| "holds a certificate that cannot be used as a root")?;
        added = true;
    }
    if added { Ok(()) } else { Err("holds no certificate in PEM") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn roots_without_a_usable_certificate_are_refused() {
        for (pem, says) in [
            ("", "no certificate"),
            ("no certificate", "no certificate"),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                "cannot be used as a root",
            ),
            ("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", "is not PEM"),
        ] {
            let error = connector(Some(pem.as_bytes())).err().unwrap().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(connector(None).is_ok());
    }
}
