//! Status of credentials whose issuer is in a trusted list: only their own provider may sign it.

use idgate_testkit::keys::Curve;
use idgate_testkit::trusted_list::{Kind, TrustedList, list_signer, provider};
use idgate_testkit::x509::{CRL_DISTRIBUTION_POINTS, Identity};

use super::desk::Desk;
use super::host::Host;
use super::list_signers::{iaca, outcome_by};
use super::revocation::{SERIAL, crl};
use crate::mdoc_tamper::{Authority, ISSUER_ID, VERIFIED};
use crate::server::Installation;
use crate::tenant::now_ms;

/// A signer of status lists that names no CRL.
fn below(root: &Identity) -> Identity {
    let signer = root.document_signer(Curve::P256, now_ms());
    let builder = signer.builder.without(CRL_DISTRIBUTION_POINTS);
    builder.issue(root, &signer.key)
}

#[test]
fn a_providers_status_list_cannot_revoke_another_providers_credential() {
    let installation = Installation::new().with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.0/8");
    let client = installation.create_client("shop", true);
    let authority = Authority::new(now_ms());
    let (own, other, stranger) = (iaca("own status"), iaca("other status"), iaca("stranger"));
    let issuer = iaca("other issuer");
    let (of_own, of_other) = (
        [Kind::Mdl.issuance(&[&authority.root.der]), Kind::Mdl.revocation(&[&own.der])],
        [Kind::Mdl.issuance(&[&issuer.der]), Kind::Mdl.revocation(&[&other.der])],
    );
    let list = TrustedList::new(Kind::Mdl, now_ms())
        .with(provider("Utopia roads", "NTRUT-1", "UT", &of_own))
        .with(provider("Atlantis roads", "NTRAT-1", "AT", &of_other));
    let signer = list_signer(now_ms());
    let file = installation.file("list.jwt", list.sign(&signer));
    let anchor = installation.file("anchor.der", &signer.der);
    let [file, anchor] = [file, anchor].map(|path| path.to_str().unwrap().to_owned());
    let add = ["trust", "add", ISSUER_ID, "--trusted-list", &file, "--list-signer-ca", &anchor];
    let taken = installation.run(&add);
    assert_eq!(taken.code, 0, "{taken:?}");
    let mut desk = Desk::serve(installation, client, authority);
    let host = Host::start();
    let unknown = "revocation_unknown";
    for (root, path, expected) in [
        (&other, "/other", unknown),
        (&stranger, "/stranger", unknown),
        (&issuer, "/issuer", unknown),
        (&own, "/own", VERIFIED),
    ] {
        assert_eq!(outcome_by(&mut desk, &host, path, &below(root)), expected, "{path}");
    }
}

/// It replaces the fetch, like a CRL for a root from the operator.
#[test]
fn an_operators_crl_applies_below_a_listed_ca() {
    let installation = Installation::new();
    let client = installation.create_client("shop", false);
    let mut authority = Authority::new(now_ms());
    authority.certify(|c| c.with(|c| c.serial = SERIAL.to_vec()));
    let services = [Kind::Mdl.issuance(&[&authority.root.der])];
    let list = TrustedList::new(Kind::Mdl, now_ms());
    let list = list.with(provider("Utopia roads", "NTRUT-1", "UT", &services));
    let signer = list_signer(now_ms());
    let list = installation.file("list.jwt", list.sign(&signer));
    let anchor = installation.file("anchor.der", &signer.der);
    let good = installation.file("good.crl", crl(&authority, 8, &[]));
    let revoking = installation.file("revoking.crl", crl(&authority, 8, &[&SERIAL]));
    let [list, anchor, good, revoking] =
        [list, anchor, good, revoking].map(|path| path.to_str().unwrap().to_owned());
    let add = ["trust", "add", ISSUER_ID];
    let with_list = ["--trusted-list", &list, "--list-signer-ca", &anchor];
    let taken = installation.run(&[&add[..], &with_list].concat());
    assert_eq!(taken.code, 0, "{taken:?}");
    let mut desk = Desk::serve(installation, client, authority);
    assert_eq!(desk.outcome_of(|_| {}), "revocation_unknown", "there is no CRL to fetch");
    for (more, file, expected) in
        [(&with_list[..], &good, VERIFIED), (&[][..], &revoking, "certificate_revoked")]
    {
        let given = ["--crl", file];
        let taken = desk.gateway.installation.run(&[&add[..], more, &given].concat());
        assert_eq!(taken.code, 0, "{taken:?}");
        assert_eq!(desk.outcome_of(|_| {}), expected);
    }
}
