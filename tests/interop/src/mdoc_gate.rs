//! idgate's verdict on one DeviceResponse.

use idgate_core::crypto::aws_lc_rs;
use idgate_core::shell::{
    ExpectedMdoc, Handover, MdocRequest, RootOrigin, TrustAnchor, TrustEntry, verify_mdoc,
};
use idgate_core::trust::RevocationPolicy;
use idgate_core::verify::CredentialReport;
use idgate_core::{IssuerId, Reason, UnixMillis};
use idgate_testkit::mdoc::{MDL, MDL_NAME_SPACE};

use crate::{AUDIENCE, NONCE, RESPONSE_URI, now_secs};

/// The requested elements as JSON text, or the reason of the refusal, for a live session that
/// trusts `root` and asks for `claims`.
///
/// # Errors
/// The presentation is refused.
///
/// # Panics
/// `root` is not a certificate.
pub fn verdict(root: &[u8], claims: &[&str], response: &[u8]) -> Result<String, Reason> {
    let mut trust = TrustEntry::new(IssuerId::new("utopia"));
    let anchor = TrustAnchor::from_der(&aws_lc_rs::PROVIDER, root, RootOrigin::RootFile)
        .expect("a certificate");
    trust.roots.push(anchor);
    trust.revocation = RevocationPolicy::Off;
    let claims: Vec<String> = claims.iter().map(|claim| (*claim).to_owned()).collect();
    let handovers = [Handover::OpenId4Vp { jwk_thumbprint: None }];
    let request = MdocRequest { client_id: AUDIENCE, nonce: NONCE, response_uri: RESPONSE_URI };
    let now = UnixMillis::from_secs(now_secs());
    let mut expected = ExpectedMdoc::new(&trust, MDL, MDL_NAME_SPACE, request, now);
    expected.livemode = true;
    expected.claims = &claims;
    expected.handovers = &handovers;
    let mut report = CredentialReport::default();
    verify_mdoc(&aws_lc_rs::PROVIDER, response, &expected, &mut report)
        .map(|credential| credential.claims().as_json().to_owned())
        .map_err(|error| error.reason)
}
