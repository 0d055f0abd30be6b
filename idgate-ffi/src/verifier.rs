//! A configured verifier: immutable, shared, replaced to change trust.

use std::sync::Arc;

use idgate_core::DcApi;
use idgate_core::crypto::RequestSigner;
use idgate_core::shell::ClientIdForm;
use idgate_core::shell::PresentationRequest;
use idgate_core::shell::SpokenProfiles;
use idgate_core::shell::VerifierCertificate;
use idgate_core::{Mode, Profile, Trust, Verifier};

use crate::boundary::{boundary, put};
use crate::choice::idgate_request_mode;
use crate::failure::{Failure, idgate_error};
use crate::handles;
use crate::provider::PROVIDER;
use crate::status::idgate_status;
use crate::trust::{TrustHandle, idgate_trust};
use crate::verifier_options::{Options, OptionsHandle, idgate_verifier_options};

/// A verifier. Make a new one to change trust.
#[allow(non_camel_case_types)]
pub struct idgate_verifier {
    _private: [u8; 0],
}

/// The verifier, and the profiles that its requests may name.
pub(crate) struct VerifierHandle {
    pub(crate) verifier: Arc<Verifier>,
    spoken: SpokenProfiles,
}

handles::named!(VerifierHandle => idgate_verifier, "verifier");

impl VerifierHandle {
    /// Resolves a CreateSessionRequest in JSON.
    pub(crate) fn resolve(&self, json: &[u8], mode: Mode) -> Result<PresentationRequest, Failure> {
        Ok(self.verifier.resolve(json, mode, &self.spoken)?)
    }
}

/// Makes a verifier that trusts the issuers that `trust` has now. It keeps nothing of `options` and `trust`: free
/// them when you like. A session keeps the profile that it was made in, whichever verifier takes its answer.
/// IDGATE_CONFIG: the choices do not fit together.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verifier_new(
    options: *const idgate_verifier_options,
    trust: *const idgate_trust,
    out: *mut *mut idgate_verifier,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let options = handles::find::<OptionsHandle>(options)?.chosen();
        let trust = handles::find::<TrustHandle>(trust)?.trust(options.trust_version);
        let mut spoken = SpokenProfiles::new(options.profiles.iter().copied());
        if options.dc_api != DcApi::Off {
            spoken = spoken.with_dc_api();
        }
        let verifier = Arc::new(build(options, trust)?);
        put(out, || Ok(handles::make(VerifierHandle { verifier, spoken })))
    })
}

/// Frees a verifier. Verifications that began with it continue.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_free(verifier: *mut idgate_verifier) -> idgate_status {
    boundary(core::ptr::null_mut(), || handles::free::<VerifierHandle>(verifier))
}

fn build(options: Options, trust: Trust) -> Result<Verifier, Failure> {
    let base_url = options.base_url.as_str();
    let drafts_alone = options.profiles.iter().all(|profile| *profile == Profile::Draft);
    if drafts_alone && !options.profiles.is_empty() && options.dc_api != DcApi::Off {
        return Err(Failure::config(
            "dc_api needs the profile 1.0 or haip: add one, or leave it out",
        ));
    }
    if options.client_id == Some(ClientIdForm::X509SanDns) {
        check_host(base_url, &options.signers)?;
    }
    let builder = Verifier::builder(trust).profiles(options.profiles);
    let by_reference = options.request_mode.map_or(!options.signers.is_empty(), |mode| {
        mode == idgate_request_mode::IDGATE_REQUEST_JAR
    });
    let mut signers = options.signers.into_iter();
    let mut builder = match (by_reference, signers.as_slice()) {
        (false, _) => builder.unsigned(base_url),
        (true, []) => {
            let why = "the request mode jar needs a signer: add one, or choose inline";
            return Err(Failure::config(why));
        }
        (true, [first, ..]) => {
            let first = Arc::clone(first);
            signers.next();
            builder.signed(base_url, first)
        }
    };
    if let Some(form) = options.client_id {
        builder = builder.client_id_form(form);
    }
    if let Some(mode) = options.response_mode {
        builder = builder.response_mode(mode);
    }
    if options.request_uri_post {
        builder = builder.request_uri_method_post();
    }
    builder = builder.dc_api(options.dc_api);
    for signer in signers {
        builder = builder.signer(signer);
    }
    for signer in options.former {
        builder = builder.named_signer(signer);
    }
    Ok(builder.build()?)
}

/// Wallets compare the host with the certificate's names (OpenID4VP 5.9.3).
fn check_host(base_url: &str, signers: &[Arc<dyn RequestSigner>]) -> Result<(), Failure> {
    let Some(host) = Verifier::host_name(base_url) else {
        return Err(Failure::config("x509_san_dns needs a base URL with a host name"));
    };
    for signer in signers.iter().filter(|signer| !signer.certificate_chain().is_empty()) {
        let certificate = VerifierCertificate::from_chain(&PROVIDER, signer.certificate_chain());
        if !certificate.map_err(Failure::config)?.names_host(&host) {
            let why = format!("the certificate has no dNSName {host}, which x509_san_dns needs");
            return Err(Failure::config(why));
        }
    }
    Ok(())
}
