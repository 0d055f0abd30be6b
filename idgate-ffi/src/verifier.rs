//! A configured verifier: immutable, shared, replaced to change trust.

use std::ffi::c_char;
use std::sync::Arc;

use idgate_core::crypto::RequestSigner;
use idgate_core::shell::{ClientIdForm, PresentationRequest, SpokenProfiles, VerifierCertificate};
use idgate_core::{Mode, Profile, Trust, Verifier};

use crate::boundary::{boundary, put};
use crate::bytes::{handles_of, input, text};
use crate::failure::{Failure, idgate_error};
use crate::handles;
use crate::profiles::{Options, RequestMode};
use crate::provider::PROVIDER;
use crate::signer::{SignerHandle, idgate_signer};
use crate::status::idgate_status;
use crate::trust::{TrustHandle, idgate_trust};

/// A verifier. Make a new one to change trust.
#[allow(non_camel_case_types)]
pub struct idgate_verifier {
    _private: [u8; 0],
}

/// The verifier, and the profiles that its requests may name.
pub(crate) struct VerifierHandle(pub(crate) Arc<Verifier>, pub(crate) SpokenProfiles);

handles::named!(VerifierHandle => idgate_verifier);

impl VerifierHandle {
    fn new(verifier: Verifier, spoken: SpokenProfiles) -> Self {
        Self(Arc::new(verifier), spoken)
    }

    /// A CreateSessionRequest in JSON.
    pub(crate) fn request(
        &self,
        json: &[u8],
        livemode: bool,
    ) -> Result<PresentationRequest, Failure> {
        Ok(self.0.resolve(json, mode(livemode), &self.1)?)
    }
}

pub(crate) const fn mode(livemode: bool) -> Mode {
    if livemode { Mode::Live } else { Mode::Test }
}

/// A verifier that makes unsigned requests by value. Answers go to
/// `{base_url}/v1/oid4vp/response/{session id}`; `base_url` is an https origin, or http on
/// loopback. It trusts what `trust` holds now; `trust_version` is noted in sessions that it
/// decides. A session keeps the profile that it was made in, whichever verifier takes its answer.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verifier_new_inline(
    base_url: *const c_char,
    base_url_len: usize,
    trust: *const idgate_trust,
    trust_version: u64,
    out: *mut *mut idgate_verifier,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let trust = handles::find::<TrustHandle>(trust)?;
        // SAFETY: the caller's promise.
        let base_url = unsafe { text(base_url, base_url_len, "base_url")? };
        let builder = Verifier::builder(trust.trust(trust_version)).profiles([Profile::Draft]);
        let verifier = builder.unsigned(base_url).build()?;
        put(out, || Ok(handles::make(VerifierHandle::new(verifier, SpokenProfiles::default()))))
    })
}

/// A verifier that makes signed requests by reference and takes encrypted answers. Wallets fetch
/// `{base_url}/v1/oid4vp/request/{session id}`, which is idgate_session_request_object, and the
/// gateway's did:web, which is idgate_did_document.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_verifier_new_jar(
    base_url: *const c_char,
    base_url_len: usize,
    signer: *const idgate_signer,
    trust: *const idgate_trust,
    trust_version: u64,
    out: *mut *mut idgate_verifier,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let signer = handles::find::<SignerHandle>(signer)?;
        let trust = handles::find::<TrustHandle>(trust)?;
        // SAFETY: the caller's promise.
        let base_url = unsafe { text(base_url, base_url_len, "base_url")? };
        let builder = Verifier::builder(trust.trust(trust_version)).profiles([Profile::Draft]);
        let verifier = builder.signed(base_url, Arc::clone(&signer.signer)).build()?;
        put(out, || Ok(handles::make(VerifierHandle::new(verifier, SpokenProfiles::default()))))
    })
}

/// A verifier that speaks several profiles. `options`, JSON, NULL for none: `profiles` (of "draft",
/// "1.0", "haip"; the first is for requests that name none; default "draft" alone), `request_mode` of
/// "draft" and "1.0" ("inline", which is the default, or "jar"), and for "1.0" `client_id` of signed
/// requests ("did", which is the default, "x509_san_dns", "x509_hash") and `response_mode` ("auto",
/// which is the default and encrypts where the request is signed, "direct_post",
/// "direct_post.jwt"); `request_uri_method` ("post": links say that wallets may POST for the
/// request); `dc_api`, what pages pass to their browser in all but "draft" ("off", which is the
/// default, "unsigned", "signed", then unsigned, "multisigned", then those): signed under
/// `client_id`, in "haip" under `x509_hash`, and multi-signed in "1.0" under each that somebody can
/// sign. `signers`: who signs what is made now, the first that fits; requests under the DID need
/// one without a certificate, those under a certificate one of idgate_signer_certified. `former`: who
/// signs for sessions that were made with them, and for no others.
///
/// # Safety
/// The pointers are as the head of the header says; `signers` and `former` point to that many.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_verifier_new(
    base_url: *const c_char,
    base_url_len: usize,
    options: *const c_char,
    options_len: usize,
    signers: *const *const idgate_signer,
    signers_len: usize,
    former: *const *const idgate_signer,
    former_len: usize,
    trust: *const idgate_trust,
    trust_version: u64,
    out: *mut *mut idgate_verifier,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let trust = handles::find::<TrustHandle>(trust)?;
        // SAFETY: the caller's promise, for all four.
        let (base_url, options, signers, former) = unsafe {
            (
                text(base_url, base_url_len, "base_url")?,
                input(options.cast(), options_len, "options")?,
                named(signers, signers_len, "signers")?,
                named(former, former_len, "former")?,
            )
        };
        let options = Options::parse(options)?;
        let trust = trust.trust(trust_version);
        let verifier = build(base_url, &options, &signers, &former, trust)?;
        let certified = signers.iter().any(|signer| !signer.certificate_chain().is_empty());
        let spoken = options.spoken(certified);
        put(out, || Ok(handles::make(VerifierHandle::new(verifier, spoken))))
    })
}

/// Frees a verifier. Verifications that began with it go on.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_free(verifier: *mut idgate_verifier) -> idgate_status {
    boundary(core::ptr::null_mut(), || handles::free::<VerifierHandle>(verifier))
}

/// The signers behind an array of handles.
///
/// # Safety
/// As [`handles_of`].
#[allow(unsafe_code)]
unsafe fn named(
    array: *const *const idgate_signer,
    len: usize,
    name: &str,
) -> Result<Vec<Arc<dyn RequestSigner>>, Failure> {
    // SAFETY: the caller's promise is the same.
    let handles = unsafe { handles_of(array, len, name)? };
    let signer = |handle: &*const idgate_signer| {
        Ok(Arc::clone(&handles::find::<SignerHandle>(*handle)?.signer))
    };
    handles.iter().map(signer).collect()
}

fn build(
    base_url: &str,
    options: &Options,
    signers: &[Arc<dyn RequestSigner>],
    former: &[Arc<dyn RequestSigner>],
    trust: Trust,
) -> Result<Verifier, Failure> {
    let profiles = options.profiles();
    let builder = Verifier::builder(trust).profiles(profiles.enabled.iter().copied());
    let (builder, rest) = match (options.request_mode, signers) {
        (RequestMode::Inline, all) => (builder.unsigned(base_url), all),
        (RequestMode::Jar, [first, rest @ ..]) => {
            (builder.signed(base_url, Arc::clone(first)), rest)
        }
        (RequestMode::Jar, []) => return Err(Failure::config("request_mode jar needs a signer")),
    };
    if profiles.client_id_form == ClientIdForm::X509SanDns {
        check_host(base_url, signers)?;
    }
    let mut builder = builder.profile_options(profiles);
    for signer in rest {
        builder = builder.signer(Arc::clone(signer));
    }
    for signer in former {
        builder = builder.named_signer(Arc::clone(signer));
    }
    Ok(builder.build()?)
}

/// Wallets compare the host with the certificate's names (OpenID4VP 5.9.3).
fn check_host(base_url: &str, signers: &[Arc<dyn RequestSigner>]) -> Result<(), Failure> {
    let Some(host) = Verifier::host_name(base_url) else {
        return Err(Failure::config("x509_san_dns needs a base_url with a host name"));
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
