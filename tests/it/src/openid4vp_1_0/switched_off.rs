//! A profile or browser requests are switched off: existing sessions are served to their end, and
//! no new ones are created.

use super::*;

impl Desk {
    /// The same gateway, which speaks `draft` alone from now on.
    fn with_draft_alone(self) -> Self {
        self.with(&[("IDGATE_PROFILES", "draft")])
    }

    /// The same gateway with these settings from now on.
    pub(super) fn with(self, settings: &[(&str, &str)]) -> Self {
        let Self { gateway, mut tenant, wallet, variant, anchor, keys } = self;
        let Gateway { server, client, installation } = gateway;
        server.kill();
        let changed = |installation: Installation, (name, value): &(&str, &str)| {
            installation.with(name, value)
        };
        let installation = settings.iter().fold(installation, changed);
        let gateway = Gateway { server: installation.serve(), client, installation };
        tenant.http = gateway.http();
        Self { gateway, tenant, wallet, variant, anchor, keys }
    }
}

#[test]
fn open_sessions_of_a_disabled_profile_are_served_to_their_end() {
    for variant in [
        HAIP,
        v1(Prefix::X509SanDns, true),
        v1(Prefix::DecentralizedIdentifier, true),
        v1(Prefix::RedirectUri, false),
    ] {
        let mut desk = Desk::start(variant);
        let (open, declined) = (desk.create(BOTH), desk.create(SD_JWT_VC));
        let mut desk = desk.with_draft_alone();
        let mut newer = desk.body(SD_JWT_VC);
        newer["profile"] = variant.profile.into();
        desk.tenant.post_session(&newer).expect_error(400, "unsupported_profile");
        let asked = desk.request(&open, BOTH);
        let redirect_uri = desk.settle(&desk.answer(&asked));
        let session = desk.result(&open, redirect_uri.as_deref());
        assert_eq!(session["claims"], claims(BOTH), "{variant:?}: {session}");
        assert_eq!(session["verification_details"]["profile"], variant.profile);
        let asked = desk.request(&declined, SD_JWT_VC);
        let refusal = Answer::error(&asked, "access_denied", variant.encrypted);
        desk.post(&refusal.response_uri, &refusal.body()).expect_status(200);
        assert_eq!(desk.tenant.read(&declined.id)["wallet_error"], "access_denied");
        let draft = desk.tenant.create(&desk.body(SD_JWT_VC));
        assert_eq!(draft.answer["profile"], Value::Null);
    }
}

#[test]
fn open_sessions_with_two_requests_are_served_after_switching_to_draft_alone() {
    let installation = HAIP.installation().with("IDGATE_PROFILES", "haip,draft");
    let mut desk = Desk::start_on(installation, HAIP);
    let mut body = desk.body(SD_JWT_VC);
    body["profiles"] = json!(["haip", "draft"]);
    let created = desk.tenant.create(&body);
    let mut desk = desk.with_draft_alone();
    let older = created.answer["deep_links"]["openid4vp"].as_str().unwrap();
    let older = idgate_testkit::request_object::JarLink::parse(older).unwrap();
    desk.tenant.http.send(&Request::get(path(&older.request_uri))).expect_status(200);
    let asked = desk.request(&created, SD_JWT_VC);
    desk.settle(&desk.answer(&asked));
    desk.tenant.http.send(&Request::get(path(&older.request_uri))).expect_error(404, "not_found");
}

#[test]
fn open_browser_sessions_are_served_after_disabling_browser_requests() {
    let off = ("IDGATE_DC_API", "off");
    for (settings, code) in
        [(&[off][..], "unknown_field"), (&[off, ("IDGATE_PROFILES", "draft")], "invalid_request")]
    {
        let installation = HAIP.installation().with("IDGATE_DC_API", "signed");
        let mut desk = Desk::start_on(installation, HAIP);
        let mut body = desk.body(BOTH);
        body["dc_api"] = json!({ "origins": ["https://shop.example"] });
        let (open, of_link) = (desk.tenant.create(&body), desk.create(BOTH));
        let request = &open.answer["dc_api"]["requests"][0];
        let protocol = request["protocol"].as_str().unwrap();
        let asked = Asked::of_browser(protocol, &request["data"], "https://shop.example").unwrap();
        let credential = desk.answer(&asked).credential(protocol);
        let mut desk = desk.with(settings);
        desk.tenant.post_session(&body).expect_error(400, code);
        let relay = |id: &str| Request::post(format!("/v1/sessions/{id}/dc-api")).json(&credential);
        let key = desk.tenant.api_key.clone();
        desk.tenant.http.send(&relay(&open.id)).expect_error(404, "not_found");
        for other in [&*of_link.id, "ses_unknown"] {
            desk.tenant.http.send(&relay(other).bearer(&key)).expect_error(404, "not_found");
        }
        let session =
            desk.tenant.http.send(&relay(&open.id).bearer(&key)).expect_status(200).json();
        assert_eq!(session["claims"], claims(BOTH), "{settings:?}: {session}");
        assert_eq!(session["verification_details"]["request_mode"], "dc_api");
        let again = desk.tenant.http.send(&relay(&open.id).bearer(&key));
        again.expect_error(409, "session_not_pending");
    }
}
