//! Several gateways on one database.

use super::*;
use crate::stores;

/// The older node would show the page to the computer, with the way back.
#[test]
fn an_older_node_disables_handover() {
    let Some((cluster, url)) = stores::cluster().zip(stores::migrated()) else { return };
    let installation = Installation::on(&url).with("IDGATE_PAGE", "on");
    let (gateway, _, created, mut computer) =
        on_computer_of(Gateway::trusting(installation, &sample_trust()));
    let mut phone = Browser::new(&gateway, &created);
    cluster.run(
        &url,
        "INSERT INTO nodes (id, version, started_at, beat_at) \
         SELECT 'older', split_part(version, ' ', 1) || ' ' || split_part(version, ' ', 2), \
         started_at, beat_at + 86400000 FROM nodes LIMIT 1",
    );
    let later = retaken(&mut computer, &mut phone).expect_status(503);
    assert!(later.header("set-cookie").is_none() && later.header("retry-after").is_some());
    assert_eq!(computer.state(), "open");
    // Once it is gone, the button works.
    cluster.run(&url, "DELETE FROM nodes WHERE id = 'older'");
    retaken(&mut computer, &mut phone).expect_status(303);
    assert_eq!(computer.state(), "moved");
}

/// Opens a code and presses its button. If the code turned in between, tries the next one.
fn retaken(computer: &mut Browser, phone: &mut Browser) -> Response {
    loop {
        let opened = phone.scans(&computer.code());
        if opened.status == 200 {
            return phone.presses(&action(&text(opened)));
        }
        assert_eq!(opened.status, 404);
    }
}

/// The pages of phones that opened the same code in time.
fn opened(computer: &mut Browser, phones: &mut [Browser; 2]) -> [String; 2] {
    loop {
        let code = computer.code();
        let opened = phones.each_mut().map(|phone| phone.scans(&code));
        if opened.iter().all(|one| one.status == 200) {
            return opened.map(text);
        }
    }
}

#[test]
fn a_page_is_handed_over_once_across_all_nodes() {
    let Some(url) = stores::migrated() else { return };
    let at = |url: &str| {
        let installation = Installation::on(url).with("IDGATE_PAGE", "on");
        installation.with("IDGATE_BASE_URL", "http://localhost:1")
    };
    let mut first = Gateway::trusting(at(&url), &sample_trust());
    "http://localhost:1".clone_into(&mut first.server.base_url);
    let second = at(&url);
    let second = second.serve();
    let mut tenant = first.tenant();
    let created = tenant.create(&request());
    let mut computer = Browser::new(&first, &created);
    computer.take();
    for _ in 0..4 {
        let mut phones = [(); 2].map(|()| Browser::new(&first, &created));
        phones[1].http = second.http();
        let pages = opened(&mut computer, &mut phones);
        let [here, there] = &mut phones;
        let taken = std::thread::scope(|scope| {
            let there = stores::spawn(scope, || there.presses(&action(&pages[1])).status);
            [here.presses(&action(&pages[0])).status, there.join().unwrap()]
        });
        assert_eq!(taken.iter().filter(|status| **status == 303).count(), 1, "{taken:?}");
        assert!(taken.iter().all(|status| [303, 404, 409].contains(status)), "{taken:?}");
        // The other node sees it immediately.
        let mut elsewhere =
            Browser { http: second.http(), path: computer.path.clone(), cookie: None };
        elsewhere.cookie.clone_from(&computer.cookie);
        assert_eq!((computer.state(), elsewhere.state()), ("moved".into(), "moved".into()));
        elsewhere.brings_back().expect_status(303);
        assert_eq!((computer.state(), elsewhere.state()), ("open".into(), "open".into()));
        for phone in &mut phones {
            assert_eq!(phone.get("").status, 403);
        }
    }
}
