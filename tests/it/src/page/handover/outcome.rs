//! The end of a handed-over session, for both browsers and for the tenant.

use idgate_testkit::openid4vp::Request as Passed;

use super::*;
use crate::server::eventually;

/// The session, read with the response code in the reply to the wallet.
fn read_with_code(tenant: &mut Tenant, created: &Created, reply: &Value) -> Value {
    let back = reply["redirect_uri"].as_str().unwrap();
    let code = back.split("response_code=").nth(1).unwrap().trim_end_matches("#top");
    tenant.read(&format!("{}?response_code={code}", created.id))
}

fn answers(tenant: &mut Tenant, created: &Created) -> Value {
    let reply = tenant.post_answer(&created.id, &form(&sample_wallet(), created));
    reply.expect_status(200).json()
}

/// The computer says that the session is finished, and has no further link.
#[track_caller]
fn assert_finished(computer: &mut Browser) {
    let state = computer.get("/state").json();
    assert_eq!(state, json!({ "state": "finished" }));
    let page = computer.page();
    assert!(page.contains("<title>Finished on your phone</title>"), "{page}");
    assert!(page.contains("shop continues on your phone."), "{page}");
    for hidden in [BACK, "_code", "<form", "id=\"back\"", "shop.example"] {
        assert!(!page.contains(hidden), "{hidden}: {page}");
    }
}

#[test]
fn only_the_phone_is_redirected_and_the_result_shows_the_handover() {
    let (gateway, mut tenant, created, mut computer) = on_computer();
    let mut phone = handed_over(&gateway, &created, &mut computer);
    let reply = answers(&mut tenant, &created);
    assert_eq!(phone.get("/state").json(), json!({ "state": "done", "back": BACK }));
    assert!(phone.page().contains("It continues in the window that your wallet opened."));
    assert_finished(&mut computer);
    let session = read_with_code(&mut tenant, &created, &reply);
    assert_eq!(session["verification_details"]["handover"], true);
    assert!(!members(&session["verification_details"]).contains(&"page_code"));
    // Without the response code none of it can be read.
    let without = tenant.read(&created.id);
    assert!(!members(&without).contains(&"verification_details"), "{without}");
}

#[test]
fn a_returned_page_does_not_count_as_handed_over() {
    let (gateway, mut tenant, created, mut computer) = on_computer();
    handed_over(&gateway, &created, &mut computer);
    computer.brings_back().expect_status(303);
    let reply = answers(&mut tenant, &created);
    assert_eq!(computer.get("/state").json(), json!({ "state": "done", "back": BACK }));
    let details = &read_with_code(&mut tenant, &created, &reply)["verification_details"];
    assert!(!members(details).contains(&"handover"), "{details}");

    let (_gateway, mut tenant, created, _) = on_computer();
    let reply = answers(&mut tenant, &created);
    let details = &read_with_code(&mut tenant, &created, &reply)["verification_details"];
    assert!(!members(details).contains(&"handover"), "{details}");
}

#[test]
fn after_a_handover_only_the_phone_cancels() {
    let (gateway, mut tenant, created, mut computer) = on_computer();
    let mut phone = handed_over(&gateway, &created, &mut computer);
    assert_eq!(computer.cancels().status, 403);
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    phone.cancels().expect_status(303);
    assert!(phone.page().contains("<title>Cancelled. Taking you back to shop</title>"));
    assert_finished(&mut computer);
    tenant.expect_failed(&created, "cancelled");
}

#[test]
fn only_the_computer_cancels_a_returned_page() {
    let (gateway, mut tenant, created, mut computer) = on_computer();
    let mut phone = handed_over(&gateway, &created, &mut computer);
    computer.brings_back().expect_status(303);
    assert_eq!(phone.cancels().status, 403);
    computer.cancels().expect_status(303);
    tenant.expect_failed(&created, "cancelled");
}

#[test]
fn the_phone_shows_every_other_end() {
    let (gateway, mut tenant, created, mut computer) = on_computer();
    let mut phone = handed_over(&gateway, &created, &mut computer);
    let state = idgate_testkit::request::AuthorizationRequest::parse(&created.uri).unwrap().state;
    let declined = json!({ "error": "access_denied", "state": state });
    let answer = Request::post(format!("/v1/oid4vp/response/{}", created.id)).json(&declined);
    tenant.http.send(&answer).expect_status(200);
    assert_eq!(phone.get("/state").json(), json!({ "state": "declined", "back": BACK }));
    assert_finished(&mut computer);
}

#[test]
fn after_expiry_the_computer_has_no_link() {
    let (gateway, _, created, mut computer) = on_computer();
    let mut phone = handed_over(&gateway, &created, &mut computer);
    gateway.installation.machine().jump(Duration::from_secs(301));
    for browser in [&mut phone, &mut computer] {
        browser.http = gateway.http();
    }
    assert_eq!(computer.get("/state").json(), json!({ "state": "over" }));
    let page = computer.page();
    assert!(page.contains("<title>This request has expired</title>"), "{page}");
    assert!(!page.contains(BACK) && !page.contains("<form"), "{page}");
    assert_eq!(phone.get("/state").json(), json!({ "state": "over", "back": BACK }));
}

#[test]
fn an_answer_from_the_phones_dialogue_gives_the_phone_the_code() {
    let browsers = installation().with("IDGATE_PROFILES", "1.0").with("IDGATE_DC_API", "unsigned");
    let (gateway, mut tenant, created, mut computer) = on_computer_of(still(browsers));
    assert!(computer.page().contains("<li class=\"desk chosen\" hidden><p>Continue on the phone"));
    let passed_on = |browser: &mut Browser| {
        let requests = browser.get("/dc-api").expect_status(200).json();
        let last = requests["requests"].as_array().unwrap().last().unwrap().clone();
        let protocol = last["protocol"].as_str().unwrap().to_owned();
        let asked = Passed::of_browser(&protocol, &last["data"], &gateway.server.base_url).unwrap();
        let now = gateway.installation.now_ms();
        sample_wallet().answer_1_0(&asked, now).unwrap().credential(&protocol)
    };
    let answer = |browser: &mut Browser, body: &Value| {
        let request = Request::post(format!("{}/dc-api", browser.path)).json(body);
        browser.send(request)
    };
    let of_computer = passed_on(&mut computer);
    let mut phone = handed_over(&gateway, &created, &mut computer);
    assert_eq!(answer(&mut computer, &of_computer).status, 403);
    let credential = passed_on(&mut phone);
    let state = answer(&mut phone, &credential).expect_status(200).json();
    assert_eq!(state["state"], "done");
    let code = state["back"].as_str().unwrap().split("page_code=").nth(1).unwrap().to_owned();
    assert_finished(&mut computer);
    let details = &tenant.read(&created.id)["verification_details"];
    assert_eq!(details["page_code"], code.trim_end_matches("#top"));
    assert_eq!(details["handover"], true);
}

#[test]
fn deleting_a_session_removes_its_handover() {
    let (gateway, mut tenant, created, mut computer) = on_computer();
    let mut phone = handed_over(&gateway, &created, &mut computer);
    let pages = || {
        let main = crate::disk::open(&gateway.installation.data_dir().join("idgate.db"));
        let count = "SELECT count(*) FROM pages WHERE phone IS NOT NULL OR moves > 0";
        main.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(pages(), 1);
    tenant.delete(&created.id).expect_status(204);
    assert_eq!(pages(), 0);
    assert_eq!((phone.get("").status, computer.get("").status), (404, 404));
}

#[test]
fn the_log_has_page_moves_without_codes_or_keys() {
    let (gateway, _, created, mut computer) =
        on_computer_of(still(installation().with("IDGATE_LOG", "trace")));
    let code = computer.code();
    let mut phone = Browser::new(&gateway, &created);
    let page = text(phone.scans(&code).expect_status(200));
    phone.presses(&action(&page)).expect_status(303);
    computer.brings_back().expect_status(303);
    // The log is written by another thread.
    let said = ["the page was taken over on a phone", "the page was brought back to the computer"];
    let line = |log: &str, said: &str| log.lines().find(|it| it.contains(said)).map(str::to_owned);
    let is_written = || said.iter().all(|said| line(&gateway.installation.log(), said).is_some());
    eventually("the log says so", is_written);
    let log = gateway.installation.log();
    for said in said {
        let line = line(&log, said).unwrap();
        assert!(line.contains(&created.id), "{line}");
    }
    let key = phone.cookie.unwrap();
    let (part, seen) =
        action(&page).split_once("?seen=").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    for secret in [key.split_once('=').unwrap().1, part.rsplit('/').next().unwrap(), &seen] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}
