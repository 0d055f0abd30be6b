//! The choices for a verifier, collected one by one.

use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use idgate_core::Profile;
use idgate_core::crypto::RequestSigner;
use idgate_core::shell::ClientIdForm;
use idgate_core::{DcApi, ResponseMode};

use crate::boundary::{boundary, put};
use crate::choice::{
    idgate_client_id, idgate_dc_api, idgate_profile, idgate_request_mode, idgate_response_mode,
};
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, text};
use crate::handles;
use crate::limits::MAX_SIGNERS;
use crate::signer::{SignerHandle, idgate_signer};
use crate::status::idgate_status;

/// Choices for a verifier. Each idgate_verifier_options function takes one choice; idgate_verifier_new checks
/// that they fit together. You may make several verifiers of the same choices.
#[allow(non_camel_case_types)]
pub struct idgate_verifier_options {
    _private: [u8; 0],
}

pub(crate) struct OptionsHandle(Mutex<Options>);

handles::named!(OptionsHandle => idgate_verifier_options, "verifier options");

/// The choices so far.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) base_url: String,
    pub(crate) profiles: Vec<Profile>,
    /// Tried in this order.
    pub(crate) signers: Vec<Arc<dyn RequestSigner>>,
    /// Only for sessions that name them.
    pub(crate) former: Vec<Arc<dyn RequestSigner>>,
    pub(crate) request_mode: Option<idgate_request_mode>,
    pub(crate) client_id: Option<ClientIdForm>,
    pub(crate) response_mode: Option<ResponseMode>,
    pub(crate) request_uri_post: bool,
    pub(crate) dc_api: DcApi,
    pub(crate) trust_version: u64,
}

impl OptionsHandle {
    /// The choices so far.
    pub(crate) fn chosen(&self) -> Options {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Starts a set of choices for a verifier at `base_url`: an https origin, or http on loopback. Wallets post
/// their answers to `{base_url}/v1/oid4vp/response/{handle}`, and fetch requests by reference from
/// `{base_url}/v1/oid4vp/request/{handle}`. idgate_verifier_new needs a profile as well; everything else has a
/// default.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verifier_options_new(
    base_url: idgate_str,
    out: *mut *mut idgate_verifier_options,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise.
        let base_url = unsafe { text(base_url, "base_url")?.to_owned() };
        let options = Options {
            base_url,
            profiles: Vec::new(),
            signers: Vec::new(),
            former: Vec::new(),
            request_mode: None,
            client_id: None,
            response_mode: None,
            request_uri_post: false,
            dc_api: DcApi::Off,
            trust_version: 0,
        };
        put(out, || Ok(handles::make(OptionsHandle(Mutex::new(options)))))
    })
}

/// Adds a profile: an idgate_profile. The first one that you add is for requests that name none.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_options_profile(
    options: *mut idgate_verifier_options,
    profile: i32,
) -> idgate_status {
    choose(options, |chosen| {
        let profile = idgate_profile::of(profile, "profile")?.into();
        if !chosen.profiles.contains(&profile) {
            chosen.profiles.push(profile);
        }
        Ok(())
    })
}

/// Adds a signer for new requests. The first signer that fits signs: requests under the DID need a signer without
/// a certificate, requests under a certificate need one of idgate_signer_certified.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_options_signer(
    options: *mut idgate_verifier_options,
    signer: *const idgate_signer,
) -> idgate_status {
    choose(options, |chosen| add(&mut chosen.signers, signer))
}

/// Adds a signer that you replaced. It signs only for sessions that were made with it.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_options_former_signer(
    options: *mut idgate_verifier_options,
    signer: *const idgate_signer,
) -> idgate_status {
    choose(options, |chosen| add(&mut chosen.former, signer))
}

/// Sets the request mode of `draft` and `1.0`: an idgate_request_mode. Without it requests are signed and go by
/// reference if there is a signer, else they are unsigned and inside the link.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_options_request_mode(
    options: *mut idgate_verifier_options,
    request_mode: i32,
) -> idgate_status {
    choose(options, |chosen| {
        chosen.request_mode = Some(idgate_request_mode::of(request_mode, "request_mode")?);
        Ok(())
    })
}

/// Sets the client identifier of signed requests of `1.0`: an idgate_client_id. Without it requests are signed
/// under the certificate's hash if the first signer has a certificate, else under the DID.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_options_client_id(
    options: *mut idgate_verifier_options,
    client_id: i32,
) -> idgate_status {
    choose(options, |chosen| {
        chosen.client_id = Some(idgate_client_id::of(client_id, "client_id")?.into());
        Ok(())
    })
}

/// Sets how answers to requests of `1.0` come back: an idgate_response_mode. Without it they are encrypted if the
/// request is signed. Answers in `haip` and from browsers are always encrypted.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_options_response_mode(
    options: *mut idgate_verifier_options,
    response_mode: i32,
) -> idgate_status {
    choose(options, |chosen| {
        let mode = idgate_response_mode::of(response_mode, "response_mode")?;
        chosen.response_mode = Some(mode.into());
        Ok(())
    })
}

/// Lets links tell wallets that they may POST for the request (OpenID4VP 5.10).
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_options_request_uri_post(
    options: *mut idgate_verifier_options,
) -> idgate_status {
    choose(options, |chosen| {
        chosen.request_uri_post = true;
        Ok(())
    })
}

/// Lets pages pass requests of `1.0` or `haip` to their browser: an idgate_dc_api. Signed requests are signed under
/// the client identifier of `1.0`, in `haip` under the certificate's hash, and multi-signed ones of `1.0` under each
/// identifier that a signer serves.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_options_dc_api(
    options: *mut idgate_verifier_options,
    dc_api: i32,
) -> idgate_status {
    choose(options, |chosen| {
        chosen.dc_api = idgate_dc_api::of(dc_api, "dc_api")?.into();
        Ok(())
    })
}

/// Sets your own version number for the trust, which sessions record when they are decided. The default is 0.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_options_trust_version(
    options: *mut idgate_verifier_options,
    trust_version: u64,
) -> idgate_status {
    choose(options, |chosen| {
        chosen.trust_version = trust_version;
        Ok(())
    })
}

/// Frees the choices. Verifiers that were made from them keep working.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_options_free(
    options: *mut idgate_verifier_options,
) -> idgate_status {
    boundary(ptr::null_mut(), || handles::free::<OptionsHandle>(options))
}

fn choose(
    options: *mut idgate_verifier_options,
    choice: impl FnOnce(&mut Options) -> Result<(), Failure>,
) -> idgate_status {
    boundary(ptr::null_mut(), || {
        let options = handles::find::<OptionsHandle>(options)?;
        // A choice is one assignment, so a panic leaves the others whole.
        let mut chosen = options.0.lock().unwrap_or_else(PoisonError::into_inner);
        choice(&mut chosen)
    })
}

fn add(
    signers: &mut Vec<Arc<dyn RequestSigner>>,
    signer: *const idgate_signer,
) -> Result<(), Failure> {
    if signers.len() >= MAX_SIGNERS {
        return Err(Failure::misuse(format!("a verifier has at most {MAX_SIGNERS} signers")));
    }
    signers.push(Arc::clone(&handles::find::<SignerHandle>(signer)?.signer));
    Ok(())
}
