//! Names with forbidden addresses. The rules are the same for fetches and for webhooks.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::address::corpus;
use crate::egress::resolve::Resolved;
use idgate_testkit::patience::until;

/// A resolver with scripted answers, which counts the look-ups.
pub(super) struct Script {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Script {
    pub(super) fn of(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let answers = Mutex::new(answers.iter().map(parse).collect());
        Arc::new(Self { answers, asked: AtomicUsize::new(0) })
    }

    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolve for Script {
    fn resolve<'a>(&'a self, _: &'a str, port: u16, _: Kept) -> Resolved<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or_default();
        Box::pin(async move { Ok(answer.into_iter().map(|ip| (ip, port).into()).collect()) })
    }
}

/// An `Egress` to public addresses and 127.0.0.1, with the names of `script`.
pub(super) fn scripted(script: &Arc<Script>) -> Egress {
    Egress { resolver: script.clone(), ..egress(&["127.0.0.1"]) }
}

async fn post(egress: &Egress, url: &str) -> Result<Answer, EgressError> {
    egress.post(Post { url, headers: &[], body: "{}" }).await
}

/// A server at 127.0.0.1, and a listener at the same port of 127.0.0.2.
async fn neighbours() -> (Loopback, TcpListener) {
    loop {
        let server = Loopback::start().await;
        // Another process may use that port there.
        if let Ok(inside) = TcpListener::bind(("127.0.0.2", server.address().port())).await {
            return (server, inside);
        }
    }
}

/// Whether nothing has connected to `listener`: its first connection is ours.
async fn is_untouched(listener: &TcpListener) -> bool {
    let ours = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (_, from) = listener.accept().await.unwrap();
    from == ours.local_addr().unwrap()
}

#[tokio::test]
async fn no_address_with_a_special_purpose_is_connected_to() {
    let all = egress(&[]);
    for (address, is_denied) in corpus() {
        assert_eq!(all.check(vec![(address, 443).into()]).is_err(), is_denied, "{address}");
        if !is_denied {
            continue;
        }
        let answer = address.to_string();
        let script = Script::of(&[&[&answer], &[&answer]]);
        let egress = Egress { resolver: script.clone(), ..all.sibling(Vec::new()) };
        let url = "https://shop.example/";
        let fetched = egress.get(url, "*/*", LIMIT).await;
        assert_eq!(fetched.unwrap_err(), EgressError::AddressBlocked, "{address}");
        assert_eq!(post(&egress, url).await, Err(EgressError::AddressBlocked), "{address}");
        assert_eq!(script.asked(), 2);
    }
}

#[tokio::test]
async fn a_dns_answer_with_a_private_address_is_refused() {
    let server = Loopback::start().await;
    server.give(b"hello");
    let url = format!("http://shop.example:{}/", server.address().port());
    for private in ["127.0.0.2", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.2"] {
        for answer in [["127.0.0.1", private], [private, "127.0.0.1"]] {
            let script = Script::of(&[&answer, &answer]);
            let egress = scripted(&script);
            let fetched = egress.get(&url, "*/*", LIMIT).await;
            assert_eq!(fetched.unwrap_err(), EgressError::AddressBlocked, "{private}");
            assert_eq!(post(&egress, &url).await, Err(EgressError::AddressBlocked), "{private}");
        }
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_is_resolved_once() {
    let (checked, inside) = neighbours().await;
    checked.give(b"hello");
    let port = checked.address().port();
    let url = format!("http://shop.example:{port}/");
    let answers: [&[&str]; 2] = [&["127.0.0.1"], &["127.0.0.2"]];
    let script = Script::of(&answers);
    let fetched = scripted(&script).get(&url, "*/*", LIMIT).await.unwrap();
    assert_eq!((fetched.as_ref(), script.asked()), (&b"hello"[..], 1));
    let script = Script::of(&answers);
    let answer = post(&scripted(&script), &url).await.unwrap();
    assert_eq!((answer.status, script.asked()), (200, 1));
    assert_eq!(checked.connections(), 2);
    assert!(is_untouched(&inside).await, "it connected to an address that was not checked");
}

/// A list is requested only over https: at the checked address, and with a certificate for the
/// name.
#[tokio::test]
async fn a_list_is_asked_for_at_the_address_that_was_checked_and_never_at_a_private_one() {
    let (checked, inside) = neighbours().await;
    let port = checked.address().port();
    let url = format!("https://lists.example:{port}/pid.json");
    let script = Script::of(&[&["127.0.0.1"], &["127.0.0.2"]]);
    // The server there has no TLS. It is enough that it was asked.
    let (egress, room) = (scripted(&script), Room::of(0));
    let is_asked = async || (script.asked(), checked.connections()) == (1, 1);
    tokio::select! {
        answer = egress.fetch_list(&url, &room) => panic!("answered: {:?}", answer.err()),
        () = until("it is asked", is_asked) => {}
    }
    let blocked: [&[&str]; 4] =
        [&["127.0.0.2"], &["127.0.0.1", "127.0.0.2"], &["10.0.0.1"], &["169.254.169.254"]];
    for answer in blocked {
        let script = Script::of(&[answer]);
        let fetched = scripted(&script).fetch_list(&url, &Room::of(0)).await;
        assert_eq!(fetched.err(), Some(EgressError::AddressBlocked), "{answer:?}");
    }
    assert_eq!(checked.connections(), 1);
    assert!(is_untouched(&inside).await, "it connected to an address that was not checked");
}

#[tokio::test]
async fn a_redirect_to_a_metadata_address_is_refused() {
    let server = Loopback::start().await;
    let url = format!("http://shop.example:{}/", server.address().port());
    for target in ["http://169.254.169.254/latest/meta-data/", "http://127.0.0.2/", "/other"] {
        for status in ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"] {
            server.give_with(status, &format!("Location: {target}\r\n"), b"");
            let script = Script::of(&[&["127.0.0.1"]]);
            let before = server.connections();
            let answer = post(&scripted(&script), &url).await.unwrap();
            assert_eq!(answer.status.to_string(), status[..3]);
            assert_eq!((script.asked(), server.connections() - before), (1, 1), "{target}");
            if target != "/other" {
                let script = Script::of(&[&["127.0.0.1"], &["169.254.169.254"]]);
                let fetched = scripted(&script).get(&url, "*/*", LIMIT).await;
                assert_eq!(fetched.unwrap_err(), EgressError::RedirectBlocked);
                assert_eq!(script.asked(), 1);
            }
        }
    }
}

#[tokio::test]
async fn a_redirect_on_the_same_host_is_checked_again() {
    let server = Loopback::start().await;
    server.give_with("302 Found", "Location: /other\r\n", b"");
    let url = format!("http://shop.example:{}/", server.address().port());
    let script = Script::of(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let fetched = scripted(&script).get(&url, "*/*", LIMIT).await;
    assert_eq!(fetched.unwrap_err(), EgressError::RedirectBlocked);
    assert_eq!((script.asked(), server.connections()), (2, 1));
}

#[tokio::test]
async fn odd_ports_of_public_hosts_are_not_posted_to() {
    for url in [
        "https://shop.example:22/",
        "https://shop.example:80/",
        "https://shop.example:8080/",
        "http://shop.example:8080/",
        "http://shop.example:25/",
    ] {
        let script = Script::of(&[&["8.8.8.8"]]);
        assert_eq!(post(&scripted(&script), url).await, Err(EgressError::AddressBlocked), "{url}");
    }
}

#[tokio::test]
async fn the_gateways_own_listener_is_not_posted_to() {
    let server = Loopback::start().await;
    let egress = egress(&["127.0.0.0/8"]).avoiding(server.address());
    assert_eq!(post(&egress, &server.url()).await, Err(EgressError::AddressBlocked));
    let sibling = egress.sibling(vec![Cidr::parse("127.0.0.0/8").unwrap()]);
    assert_eq!(post(&sibling, &server.url()).await, Err(EgressError::AddressBlocked));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_posted_message_arrives_unchanged() {
    let server = Loopback::start().await;
    server.give_with("202 Accepted", "Retry-After: 7\r\n", b"thank you");
    let url = format!("http://shop.example:{}/hook?a=b", server.address().port());
    let headers = [("X-Test", "yes".to_owned())];
    let script = Script::of(&[&["127.0.0.1"]]);
    let message = Post { url: &url, headers: &headers, body: "{}" };
    let answer = scripted(&script).post(message).await.unwrap();
    assert_eq!((answer.status, answer.retry_after.as_deref()), (202, Some("7")));
    let head = server.last_head().to_ascii_lowercase();
    let mut lines: Vec<&str> = head.trim_end().lines().collect();
    assert_eq!(lines.remove(0), "post /hook?a=b http/1.1");
    lines.sort_unstable();
    let host = format!("host: shop.example:{}", server.address().port());
    let agent = concat!("user-agent: idgate/", env!("CARGO_PKG_VERSION"));
    assert_eq!(lines, ["content-length: 2", &*host, agent, "x-test: yes"]);
}

#[tokio::test]
async fn only_a_little_of_a_receivers_answer_is_read() {
    let server = Loopback::start().await;
    let huge = vec![b'x'; 4 * 1024 * 1024];
    let url = format!("http://127.0.0.1:{}/", server.address().port());
    let egress = egress(&["127.0.0.1"]);
    for headers in ["", "Content-Encoding: gzip\r\n", "Transfer-Encoding: chunked\r\n"] {
        server.give_with("200 OK", headers, &huge);
        let answer = post(&egress, &url).await;
        // Two framings, or an invalid body: the status counts, or the answer is not HTTP.
        assert!(answer.as_ref().is_ok_and(|it| it.status == 200) || !headers.is_empty());
    }
    server.give_with("200 OK", &"X: y\r\n".repeat(10_000), b"");
    assert_eq!(post(&egress, &url).await, Err(EgressError::Broken));
    server.give_bytes(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n".to_vec());
    assert!(post(&egress, &url).await.is_ok_and(|answer| answer.status == 101));
    for junk in [&b""[..], b"hello", b"SSH-2.0-x\r\n"] {
        server.give_bytes(junk.to_vec());
        assert_eq!(post(&egress, &url).await, Err(EgressError::Broken));
    }
}

#[tokio::test]
async fn a_connection_gives_no_more_than_its_limit() {
    let server = Loopback::start().await;
    server.give(&[b'x'; 5000]);
    let stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    let mut capped = Capped::new(stream, 1000);
    capped.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut taken = Vec::new();
    assert!(capped.read_to_end(&mut taken).await.is_err());
    assert_eq!(taken.len(), 1000);
}
