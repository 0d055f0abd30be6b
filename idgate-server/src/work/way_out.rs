//! The egress of this gateway, with the operator's roots.

use std::path::Path;

use idgate::{Cidr, Egress};

/// An egress to public addresses and to those in `allowed`, over TLS with the system's roots and
/// those in `extra_ca_file`.
///
/// # Errors
/// The file cannot be used; the text says what to do.
pub fn way_out(allowed: Vec<Cidr>, extra_ca_file: Option<&Path>) -> Result<Egress, String> {
    let Some(path) = extra_ca_file else {
        let egress = Egress::new(allowed, None).map_err(|error| error.to_string())?;
        if !egress.trusts_any() {
            tracing::warn!(
                "this system has no root certificates: https sources of revocation and webhooks \
                 cannot be reached; install them, or set IDGATE_EXTRA_CA_FILE"
            );
        }
        return Ok(egress);
    };
    let unusable =
        |why: &dyn std::fmt::Display| format!("IDGATE_EXTRA_CA_FILE: {}: {why}", path.display());
    let pem = std::fs::read(path).map_err(|error| unusable(&error))?;
    Egress::new(allowed, Some(&pem)).map_err(|error| unusable(&error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_usable_certificates_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let none = folder.path().join("none.pem");
        for (name, text) in [("empty.pem", ""), ("text.pem", "no certificate")] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let error = way_out(Vec::new(), Some(&path)).err().unwrap();
            let named = format!("IDGATE_EXTRA_CA_FILE: {}: ", path.display());
            assert_eq!(error, named + "holds no certificate in PEM");
        }
        assert!(way_out(Vec::new(), Some(&none)).is_err());
        assert!(way_out(Vec::new(), None).is_ok());
    }
}
