//! A client's registration certificate. It goes to wallets with the request. Requests beyond the
//! registered claims are logged here before a wallet can object.

use idgate_core::error::{Remedy, RequestError};
use idgate_core::shell::{PresentationRequest, VerifierInfo};
use idgate_core::{ErrorCode, UnixMillis, Verifier};

use super::App;
use crate::limits::{LOGGED_OTHERS, MAX_LOGGED_NAME_CHARS, MAX_LOGGED_NAMES};
use idgate_base::rate_limit::{Policy, RateLimiter};
use idgate_store::gateway_key::{CertifiedKey, Registration};

/// Each notice about a client's use is logged once in five minutes.
const NOTICE: Policy = Policy::new("registration", 1, 300);

/// Rate limit of the notices.
pub(super) struct Notices(RateLimiter);

impl Default for Notices {
    fn default() -> Self {
        Self(RateLimiter::remembering(LOGGED_OTHERS))
    }
}

impl App {
    /// The registration certificate to send to wallets with `request`, for a registered client.
    /// `signer` is the session's; `certified` is the key behind it, while its certificate is in
    /// force.
    ///
    /// # Errors
    /// `unsupported_profile`: the registration is strict, and the registration certificate has
    /// expired, or names another party than the certificate that signs. `invalid_request`: the
    /// registration is strict, and the request goes beyond it.
    pub(super) fn attested(
        &self,
        verifier: &Verifier,
        request: &PresentationRequest,
        signer: Option<&str>,
        registration: &Registration,
        certified: Option<&CertifiedKey>,
    ) -> Result<Option<VerifierInfo>, RequestError> {
        let Registration { client_id, intended_use, certificate, strict, .. } = registration;
        let now = self.now();
        let attested = verifier.attest(request, signer, certificate, now)?;
        let is_other = certified.is_some_and(|key| registration.is_of_another(&key.certificate));
        if is_other && attested.verifier_info.is_some() {
            if self.notices.admit(registration, "party", now) {
                tracing::warn!(
                    client_id,
                    intended_use,
                    "a registration certificate is not sent: it names another relying party or \
                     service than the certificate that signs requests"
                );
            }
            return if *strict { Err(of_another_party()) } else { Ok(None) };
        }
        if attested.expired && self.notices.admit(registration, "end", now) {
            tracing::warn!(
                client_id,
                intended_use,
                "a registration certificate has expired and is not sent"
            );
        }
        if !attested.beyond.is_empty() && self.notices.admit(registration, "beyond", now) {
            let beyond = shortened(&attested.beyond);
            tracing::warn!(
                client_id,
                intended_use,
                beyond,
                "a request asks for more than is registered"
            );
        }
        let attested = if *strict { attested.strict()? } else { attested };
        Ok(attested.verifier_info)
    }
}

impl Notices {
    fn admit(&self, registration: &Registration, about: &str, now: UnixMillis) -> bool {
        let about = [about, " ", &registration.intended_use].concat();
        self.0.charge(&[(NOTICE, (&*registration.client_id, &*about))], now).is_ok()
    }
}

fn of_another_party() -> RequestError {
    let rule =
        "needs a registration certificate of the party that signs, but it is of another party";
    let error = RequestError::new(ErrorCode::UnsupportedProfile, "profiles", rule);
    error.with_remedy(Remedy::RenewCertificate)
}

/// Shortens the list, because a tenant chooses the names and their number.
fn shortened(names: &[String]) -> String {
    let cut = |name: &String| name.chars().take(MAX_LOGGED_NAME_CHARS).collect::<String>();
    let shown: Vec<String> = names.iter().take(MAX_LOGGED_NAMES).map(cut).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(MAX_LOGGED_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
