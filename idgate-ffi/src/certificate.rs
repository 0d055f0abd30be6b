//! A signer with a certificate: who the verifier is, for the client identifiers of X.509.

use std::fmt;
use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_core::crypto::{Alg, RequestSigner, SignerUnavailable};
use idgate_core::shell::{ImportRules, VerifierCertificate};

use crate::boundary::{boundary, put};
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, input};
use crate::handles;
use crate::provider::PROVIDER;
use crate::signer::{SignerHandle, idgate_signer};
use crate::status::idgate_status;

/// Makes a signer with the key of `signer` and a certificate for it. It signs the requests that name the verifier by
/// certificate (`x509_san_dns`, `x509_hash` and all of `haip`), and no others. `chain`, in PEM or DER, is the
/// certificate and then those that lead up from it; a root at the end is left out. The chain is checked for use at
/// `now_ms`: the key, the dates, and that each certificate is signed by the next.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_signer_certified(
    signer: *const idgate_signer,
    chain: idgate_str,
    now_ms: u64,
    out: *mut *mut idgate_signer,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let signer = handles::find::<SignerHandle>(signer)?;
        // SAFETY: the caller's promise.
        let chain = unsafe { input(chain, "chain")? };
        let rules = ImportRules { keys: &[signer.public], host: None, now: UnixMillis(now_ms) };
        let imported = VerifierCertificate::import(&PROVIDER, chain, &rules);
        let certificate = imported.map_err(Failure::config)?.certificate;
        let name = format!("x509_hash:{}", certificate.x509_hash);
        let key = Arc::clone(&signer.signer);
        let certified = Certified { name, chain: certificate.chain, key };
        let public = signer.public;
        put(out, || Ok(handles::make(SignerHandle { signer: Arc::new(certified), public })))
    })
}

struct Certified {
    /// `x509_hash:` and the certificate's hash. Sessions use it to distinguish certificates of the same key.
    name: String,
    chain: Vec<Vec<u8>>,
    key: Arc<dyn RequestSigner>,
}

impl fmt::Debug for Certified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certified({})", self.name)
    }
}

impl RequestSigner for Certified {
    fn alg(&self) -> Alg {
        self.key.alg()
    }

    fn key_id(&self) -> &str {
        &self.name
    }

    fn certificate_chain(&self) -> &[Vec<u8>] {
        &self.chain
    }

    fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignerUnavailable> {
        self.key.sign(signing_input)
    }
}
