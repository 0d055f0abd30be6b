//! The trusted lists of a sandbox, followed by URL by its own gateway and by another one.

use super::*;

/// A separate gateway that follows the lists of a sandbox, and its tenant.
struct Follower {
    // Dropped before its directory.
    _server: crate::server::Server,
    tenant: Tenant,
    live: Tenant,
    installation: Installation,
}

impl Follower {
    fn of(sandbox: &Sandbox) -> Self {
        let installation = Installation::new()
            .with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.0/8,::1/128")
            .with("IDGATE_PROFILES", "1.0");
        let ca = installation.file("ca.pem", sandbox.get("/files/ca.pem").body);
        let installation = installation.with("IDGATE_EXTRA_CA_FILE", ca.to_str().unwrap());
        let signer = installation.file("signer.pem", sandbox.get("/files/list-signer.pem").body);
        for (issuer_id, kind) in [("eu-pid", "pid"), ("eu-mdl", "mdl")] {
            let url = sandbox.told["lists"][kind].as_str().unwrap();
            let signer = signer.to_str().unwrap();
            let add =
                ["trust", "add", issuer_id, "--trusted-list", url, "--list-signer-ca", signer];
            let added = installation.run(&add);
            assert_eq!(added.code, 0, "{added:?}");
        }
        let clients = [true, false].map(|test| installation.create_client("shop", test));
        let server = installation.serve();
        let [tenant, live] = clients.map(|client| Tenant::at(&server, &client.api_key));
        Self { _server: server, tenant, live, installation }
    }
}

/// The outcome for a credential of this provider.
fn outcome_of(
    sandbox: &Sandbox,
    tenant: &mut Tenant,
    credential: (&str, &str),
    from: &str,
) -> String {
    let (format, issuer_id) = credential;
    let made = tenant.create(&request(format, issuer_id, "1.0"));
    let answered = sandbox.wallet(&[&made.uri, "--from", from]);
    let session = tenant.read(&made.id);
    assert_ne!(session["status"], "PENDING", "{answered:?}");
    outcome(&session)
}

/// The credentials in the lists, and the trust entries that a tenant requests them by.
const CREDENTIALS: [(&str, &str); 3] =
    [("vc+sd-jwt", "eu-pid"), ("mso_mdoc", "eu-pid"), ("mso_mdoc", "eu-mdl")];

/// The entry has other roots, and the credentials lead to none of them.
const WITHDRAWN: &str = "chain_invalid";

#[test]
fn a_withdrawn_provider_is_rejected_within_one_refresh() {
    let sandbox = Sandbox::start();
    let mut follower = Follower::of(&sandbox);
    let mut own = sandbox.tenant();
    for credential in CREDENTIALS {
        for from in ["utopia", "arcadia"] {
            for tenant in [&mut own, &mut follower.tenant] {
                let outcome = outcome_of(&sandbox, tenant, credential, from);
                assert_eq!(outcome, "VERIFIED", "{credential:?} {from}");
            }
        }
    }
    sandbox.press("/providers", &[("provider", "arcadia"), ("listed", "false")]);
    let page = sandbox.get("/issuers").body;
    assert!(page.contains("withdrawn") && page.contains("with 1 providers"), "{page}");
    // The sandbox's gateway has fetched the list; the other one has the previous list until it
    // fetches.
    let [credential, ..] = CREDENTIALS;
    assert_eq!(outcome_of(&sandbox, &mut own, credential, "arcadia"), WITHDRAWN);
    assert_eq!(outcome_of(&sandbox, &mut follower.tenant, credential, "arcadia"), "VERIFIED");
    let refreshed = follower.installation.run(&["trust", "refresh", "--json"]);
    assert_eq!(refreshed.code, 0, "{refreshed:?}");
    for list in refreshed.json()["lists"].as_array().unwrap() {
        assert_eq!(list["outcome"], "new", "{list}");
    }
    for credential in CREDENTIALS {
        for tenant in [&mut own, &mut follower.tenant] {
            let withdrawn = outcome_of(&sandbox, tenant, credential, "arcadia");
            assert_eq!(withdrawn, WITHDRAWN, "{credential:?}");
            let other = outcome_of(&sandbox, tenant, credential, "utopia");
            assert_eq!(other, "VERIFIED", "{credential:?}");
        }
    }
    sandbox.press("/providers", &[("provider", "arcadia"), ("listed", "true")]);
    assert_eq!(outcome_of(&sandbox, &mut own, credential, "arcadia"), "VERIFIED");
}

/// The entry uses the list for live sessions, and the roots in it have the mark of samples.
#[test]
fn live_sessions_do_not_trust_samples_from_a_trusted_list() {
    let sandbox = Sandbox::start();
    let mut follower = Follower::of(&sandbox);
    for (format, issuer_id) in CREDENTIALS {
        let refused = follower.live.post_session(&request(format, issuer_id, "1.0"));
        let refused = refused.expect_status(400).json();
        assert_eq!(refused["error"], "unknown_issuer", "{issuer_id}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("sandbox's sample certificates"), "{message}");
    }
}

#[test]
fn results_name_the_provider_by_the_list() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    let made = tenant.create(&request("vc+sd-jwt", "eu-pid", "1.0"));
    assert_eq!(sandbox.wallet(&[&made.uri, "--from", "arcadia"]).code, 0);
    let session = tenant.read(&made.id);
    let credential = &session["verification_details"]["credentials"][0];
    assert_eq!(
        credential["provider"],
        json!({ "name": "Arcadia Registry", "identifier": "NTRXA-1", "country": "XA",
            "list_type": "pid", "list_sequence": 1 })
    );
    assert_eq!(credential["revocation"], "good", "{credential}");
}

#[test]
fn withdrawing_an_unknown_provider_changes_no_list() {
    let sandbox = Sandbox::start();
    let before = sandbox.get("/lists/pid.jwt").body;
    sandbox.press("/providers", &[("provider", "nowhere"), ("listed", "false")]);
    assert_eq!(sandbox.get("/lists/pid.jwt").body, before);
    assert!(sandbox.get("/issuers").body.contains("there is no provider nowhere"));
    assert_eq!(status_of(&mut sandbox.tenant(), "/lists/pid.jwt"), 404, "the gateway has none");
    assert!(!sandbox.client().livemode);
}
