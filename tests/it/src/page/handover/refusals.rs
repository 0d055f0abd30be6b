//! Requests that neither take over a page nor bring it back.

use std::io::Read as _;
use std::net::TcpListener;

use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::status::status_claim;
use idgate_testkit::wallet::Wallet;

use super::*;
use crate::stores;
use crate::tenant::answer_request;

/// The page for an expired code.
#[track_caller]
fn assert_late(response: Response) {
    assert_eq!(response.status, 404);
    assert!(response.header("set-cookie").is_none());
    let page = text(response);
    assert!(page.contains("<h1 tabindex=\"-1\">This code no longer works</h1>"), "{page}");
    assert!(!page.contains("shop") && !page.contains("<button"), "{page}");
}

#[test]
fn a_handover_code_is_valid_for_15_s_and_its_button_for_a_minute() {
    let (gateway, _, created, mut computer) = on_computer();
    let [mut late, mut slow, mut slower] = [(); 3].map(|()| Browser::new(&gateway, &created));
    let code = computer.code();
    let pages = [&mut slow, &mut slower].map(|phone| text(phone.scans(&code).expect_status(200)));
    gateway.installation.machine().jump(TURNED);
    late.http = gateway.http();
    assert_late(late.scans(&code));
    computer.http = gateway.http();
    assert_ne!(computer.code(), code);
    gateway.installation.machine().jump(Duration::from_secs(30));
    slow.http = gateway.http();
    slow.presses(&action(&pages[0])).expect_status(303);
    computer.http = gateway.http();
    computer.brings_back().expect_status(303);
    assert_late(slower.presses(&action(&pages[1])));
    // The move of the page is not the only reason.
    let page = text(slower.scans(&computer.code()).expect_status(200));
    gateway.installation.machine().jump(Duration::from_secs(71));
    slower.http = gateway.http();
    assert_late(slower.presses(&action(&page)));
    assert_eq!(Browser { http: gateway.http(), ..computer }.state(), "open");
}

#[test]
fn only_the_browser_that_opened_the_code_can_use_its_button() {
    let (gateway, _, created, mut computer) = on_computer();
    let code = computer.code();
    let [mut phone, mut other, mut bare] = [(); 3].map(|()| Browser::new(&gateway, &created));
    let page = text(phone.scans(&code).expect_status(200));
    other.scans(&code).expect_status(200);
    assert_late(other.presses(&action(&page)));
    assert_late(bare.presses(&action(&page)));
    let (plain, seen) =
        action(&page).split_once("?seen=").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    for wrong in [plain.clone(), format!("{plain}?seen="), format!("{plain}?seen={seen}x")] {
        assert_late(phone.presses(&wrong));
    }
    assert_eq!(phone.presses(&format!("{plain}?seen={seen}&seen={seen}")).status, 400);
    assert_eq!(computer.state(), "open");
    phone.presses(&action(&page)).expect_status(303);
}

#[test]
fn a_part_that_the_page_did_not_show_cannot_take_over() {
    let (gateway, mut tenant, created, mut computer) = on_computer();
    let other = tenant.create(&request());
    let mut other = Browser::new(&gateway, &other);
    other.take();
    let code = computer.code();
    let (root, part) = code.rsplit_once('/').unwrap();
    let (turn, mac) = part.split_once('.').unwrap();
    let others = other.code().rsplit('/').next().unwrap().to_owned();
    let mut phone = Browser::new(&gateway, &created);
    for wrong in
        ["x", turn, &format!("{turn}."), &format!("0{mac}"), &format!("9{turn}.{mac}"), &others]
    {
        assert_late(phone.scans(&format!("{root}/{wrong}")));
        assert_late(phone.presses(&format!("{root}/{wrong}?seen={part}")));
    }
    assert_eq!(computer.state(), "open");
    // A program gets JSON.
    phone.send(Request::get(format!("{root}/x"))).expect_error(404, "not_found");
    let unknown = code.replace(&computer.path, "/v/0123456789abcdefABCDEF");
    assert_eq!(phone.scans(&unknown).status, 404);
}

#[test]
fn a_page_without_a_browser_cannot_be_handed_over() {
    let gateway = still(installation());
    let created = gateway.tenant().create(&request());
    let mut phone = Browser::new(&gateway, &created);
    assert_late(phone.scans(&format!("{}/on/1.AAAAAAAAAAAAAAAA", phone.path)));
    assert_eq!(phone.brings_back().status, 403);
    assert!(phone.page().contains("data-free"));
}

#[test]
fn of_two_phones_the_first_gets_the_page() {
    let (gateway, _, created, mut computer) = on_computer();
    let code = computer.code();
    let [mut first, mut second] = [(); 2].map(|()| Browser::new(&gateway, &created));
    let pages = [&mut first, &mut second].map(|phone| text(phone.scans(&code).expect_status(200)));
    first.presses(&action(&pages[0])).expect_status(303);
    assert_late(second.presses(&action(&pages[1])));
    assert_late(second.scans(&code));
    assert_eq!((first.state(), second.get("").status), ("open".into(), 403));
}

#[test]
fn cross_site_forms_cannot_take_over_or_return_a_page() {
    let (gateway, _, created, mut computer) = on_computer();
    let mut phone = Browser::new(&gateway, &created);
    let page = text(phone.scans(&computer.code()).expect_status(200));
    let elsewhere = |browser: &mut Browser, path: &str| {
        for (origin, site) in [
            ("https://evil.example", None),
            ("https://evil.example", Some("cross-site")),
            ("null", Some("cross-site")),
            ("null", None),
        ] {
            let request = Request::post(path).header("Origin", origin);
            let request =
                site.into_iter().fold(request, |all, site| all.header("Sec-Fetch-Site", site));
            assert_eq!(browser.send(request).status, 403, "{path} {origin} {site:?}");
        }
    };
    elsewhere(&mut phone, &action(&page));
    assert_eq!(computer.state(), "open");
    phone.presses(&action(&page)).expect_status(303);
    let back = format!("{}/back", computer.path);
    elsewhere(&mut computer, &back);
    assert_eq!(computer.send(Request::get(&*back)).status, 405);
    assert_eq!(computer.state(), "moved");
}

#[test]
fn only_the_computer_can_bring_the_page_back() {
    let (gateway, _, created, mut computer) = on_computer();
    let mut phone = handed_over(&gateway, &created, &mut computer);
    let mut stranger = Browser::new(&gateway, &created);
    assert_eq!((phone.brings_back().status, stranger.brings_back().status), (403, 403));
    assert_eq!((phone.state(), computer.state()), ("open".into(), "moved".into()));
    let told = computer.post("/back").expect_status(200).json();
    assert_eq!(told["state"], "open");
}

#[test]
fn a_page_cannot_return_after_a_wallet_fetched_the_request() {
    let (gateway, _, created, mut computer) = by_reference();
    let mut phone = handed_over(&gateway, &created, &mut computer);
    let path = fetched::address(&gateway, &mut phone);
    gateway.http().send(&Request::get(path)).expect_status(200);
    assert_eq!((phone.state(), computer.state()), ("fetched".into(), "fetched".into()));
    let page = computer.page();
    assert!(page.contains("<title>Continue on your phone</title>"), "{page}");
    assert!(!page.contains("<form") && !page.contains("?code"), "{page}");
    let late = computer.brings_back();
    assert_eq!(late.status, 409);
    assert!(text(late).contains("<title>Continue on your phone</title>"));
    let late = computer.post("/back");
    assert_eq!((late.status, &late.json()["state"]), (409, &json!("fetched")));
    assert!(phone.page().contains("<title>Continue in your wallet</title>"));
}

#[test]
fn links_of_the_computer_end_with_the_handover() {
    links_end(by_reference());
}

/// The links of a session with `handover` turn in any case. Otherwise the old ones would stay
/// valid.
#[test]
fn links_of_the_computer_end_with_the_handover_with_static_codes() {
    let installation = installation().with("OID4VP_REQUEST_MODE", "jar");
    links_end(on_computer_of(still(installation.with("IDGATE_PAGE_TURNING_QR", "off"))));
}

fn links_end((gateway, _, created, mut computer): (Gateway, Tenant, Created, Browser)) {
    let followed = fetched::address(&gateway, &mut computer);
    let mut wallet = gateway.http();
    wallet.send(&Request::get(&*followed)).expect_status(200);
    assert_eq!(computer.state(), "fetched");
    let shown = fetched::address(&gateway, &mut computer);
    // The person continues nevertheless.
    let mut phone = handed_over(&gateway, &created, &mut computer);
    assert_eq!((phone.state(), computer.state()), ("open".into(), "moved".into()));
    for path in [&followed, &shown] {
        wallet.send(&Request::get(&**path)).expect_error(404, "not_found");
    }
    let path = fetched::address(&gateway, &mut phone);
    computer.brings_back().expect_status(303);
    wallet.send(&Request::get(path)).expect_error(404, "not_found");
    assert_eq!(computer.state(), "open");
}

#[test]
fn a_settled_session_cannot_be_handed_over_or_returned() {
    let (gateway, mut tenant, created, mut computer) = on_computer();
    let mut phone = Browser::new(&gateway, &created);
    let code = computer.code();
    let page = text(phone.scans(&code).expect_status(200));
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    assert_late(phone.presses(&action(&page)));
    assert_late(phone.scans(&code));
    assert_eq!(computer.state(), "done");

    let created = tenant.create(&request());
    let mut computer = Browser::new(&gateway, &created);
    computer.take();
    handed_over(&gateway, &created, &mut computer);
    tenant.post_answer(&created.id, &form(&sample_wallet(), &created)).expect_status(200);
    let late = computer.post("/back");
    assert_eq!((late.status, &late.json()["state"]), (409, &json!("finished")));
}

#[test]
fn a_session_in_verification_cannot_be_handed_over_or_returned() {
    for is_moved in [false, true] {
        let list = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/1", list.local_addr().unwrap());
        let fetches = installation().with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.1/32");
        let (gateway, mut tenant, created, mut computer) = on_computer_of(still(fetches));
        let mut phone = Browser::new(&gateway, &created);
        let page = text(phone.scans(&computer.code()).expect_status(200));
        if is_moved {
            phone.presses(&action(&page)).expect_status(303);
        }
        let holder = samples::holder_key(Curve::P256);
        let credential = samples::identity(&holder, gateway.installation.now_ms());
        let credential = credential.plain("status", status_claim(0, &uri));
        let wallet = Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)));
        let answer = answer_request(&created.id, &form(&wallet, &created));
        let mut wallet = gateway.http();
        std::thread::scope(|scope| {
            let answered = stores::spawn(scope, || wallet.try_send(&answer));
            let (mut asked, _) = list.accept().unwrap();
            assert!(asked.read(&mut [0; 64]).unwrap() > 0);
            assert_eq!(tenant.read(&created.id)["status"], "VERIFYING");
            if is_moved {
                let late = computer.post("/back");
                assert_eq!((late.status, &late.json()["state"]), (409, &json!("checking")));
                assert!(computer.page().contains("<title>Continue on your phone</title>"));
            } else {
                assert_late(phone.presses(&action(&page)));
            }
            drop((asked, list));
            drop(answered.join().unwrap());
        });
    }
}

#[test]
fn handover_is_rejected_without_its_prerequisites() {
    let refused = |tenant: &mut Tenant, request: &Value| {
        let refused = tenant.post_session(request).expect_status(400).json();
        assert_eq!(refused["error"], "invalid_request");
        refused["message"].as_str().unwrap().to_owned()
    };
    let why = refused(&mut Gateway::start().tenant(), &request());
    assert!(why.starts_with("handover: ") && why.contains("ask the operator for pages"), "{why}");
    let (_gateway, mut tenant, ..) = on_computer();
    let mut elsewhere = request();
    elsewhere["same_device"] = json!(false);
    let why = refused(&mut tenant, &elsewhere);
    assert!(why.starts_with("handover: is for answers on the same device"), "{why}");
}
