//! Targets of redirects, and the headers of the next request.

use super::resolution::{Script, scripted};
use super::*;
use crate::loopback::answer;

const REDIRECTS: [&str; 5] =
    ["301 Moved", "302 Found", "303 See", "307 Temporary Redirect", "308 Permanent Redirect"];

fn to(url: &str) -> String {
    format!("Location: {url}\r\n")
}

#[tokio::test]
async fn a_redirect_to_another_host_is_followed() {
    let (first, other) = (Loopback::start().await, Loopback::start().await);
    other.give(b"hello");
    let elsewhere = format!("http://localhost:{}/list", other.address().port());
    for status in REDIRECTS {
        first.give_with(status, &to(&elsewhere), b"moved");
        assert_eq!(get(&first.url()).await.unwrap(), "hello", "{status}");
    }
    assert_eq!((first.connections(), other.connections()), (5, 5));
}

#[tokio::test]
async fn three_redirects_are_followed_and_the_fourth_is_refused() {
    let server = Loopback::start().await;
    server.give_by(|head| match head.split(' ').nth(1) {
        Some("/list") => answer("302 Found", &to("/a/1"), b""),
        Some("/a/1") => answer("307 Temporary Redirect", &to("2"), b""),
        Some("/a/2") => answer("308 Permanent Redirect", &to("?last"), b""),
        _ => answer("200 OK", "", b"hello"),
    });
    assert_eq!(get(&server.url()).await.unwrap(), "hello");
    assert_eq!(server.connections(), 4);
    server.give_with("302 Found", &to("/list"), b"");
    assert_eq!(get(&server.url()).await.unwrap_err(), EgressError::TooManyRedirects);
    assert_eq!(server.connections(), 8);
}

#[tokio::test]
async fn a_redirect_without_a_usable_target_is_refused() {
    let server = Loopback::start().await;
    let refused = EgressError::RedirectRefused;
    for (headers, expected) in [
        (String::new(), refused),
        (to("http://"), refused),
        (to("file:///etc/passwd"), refused),
        (to("data:text/plain,x"), refused),
        (to("ftp://127.0.0.1/"), refused),
        (to("http://user@127.0.0.1/"), EgressError::InvalidUrl),
    ] {
        server.give_with("302 Found", &headers, b"");
        assert_eq!(get(&server.url()).await.unwrap_err(), expected, "{headers}");
    }
}

#[tokio::test]
async fn a_redirect_to_a_blocked_address_is_refused() {
    let (first, inside) = (Loopback::start().await, Loopback::start().await);
    let egress = egress(&["127.0.0.1"]);
    let port = inside.address().port();
    for location in [
        "http://169.254.169.254/latest/meta-data/".into(),
        "http://10.0.0.1/".into(),
        format!("http://127.0.0.2:{port}/"),
        format!("http://[::ffff:127.0.0.2]:{port}/"),
        format!("http://2130706434:{port}/"),
    ] {
        for status in REDIRECTS {
            first.give_with(status, &to(&location), b"");
            let refused = egress.get(&first.url(), "*/*", LIMIT).await.unwrap_err();
            assert_eq!(refused, EgressError::RedirectBlocked, "{location}");
        }
    }
    let avoiding = egress.avoiding(inside.address());
    first.give_with("302 Found", &to(&inside.url()), b"");
    let refused = avoiding.get(&first.url(), "*/*", LIMIT).await.unwrap_err();
    assert_eq!(refused, EgressError::RedirectBlocked, "the gateway itself");
    assert_eq!(inside.connections(), 0);
}

#[tokio::test]
async fn a_redirect_to_another_name_is_resolved_and_checked_again() {
    let server = Loopback::start().await;
    let port = server.address().port();
    server.give_with("302 Found", &to(&format!("http://other.example:{port}/")), b"");
    let url = format!("http://shop.example:{port}/");
    for (second, expected) in [
        (&["169.254.169.254"][..], EgressError::RedirectBlocked),
        (&["127.0.0.1", "10.0.0.1"], EgressError::RedirectBlocked),
        (&[], EgressError::DnsFailed),
    ] {
        let (script, before) = (Script::of(&[&["127.0.0.1"], second]), server.connections());
        let fetched = scripted(&script).get(&url, "*/*", LIMIT).await;
        assert_eq!(fetched.unwrap_err(), expected);
        assert_eq!((script.asked(), server.connections() - before), (2, 1));
    }
}

#[test]
fn no_redirect_leads_from_a_public_address_to_one_that_is_only_allowed() {
    let egress = egress(&["10.0.0.0/8"]);
    let of = |all: &[&str]| -> Vec<SocketAddr> {
        all.iter().map(|ip| (ip.parse::<IpAddr>().unwrap(), 443).into()).collect()
    };
    for (from, to, is_taken) in [
        (&["8.8.8.8"][..], &["1.1.1.1"][..], true),
        (&["10.0.0.1"], &["10.0.0.2"], true),
        (&["10.0.0.1"], &["8.8.8.8"], true),
        (&["8.8.8.8"], &["10.0.0.2"], false),
        (&["8.8.8.8"], &["1.1.1.1", "10.0.0.2"], false),
        (&["10.0.0.1", "8.8.8.8"], &["10.0.0.2"], false),
        (&["10.0.0.1"], &["192.168.0.1"], false),
    ] {
        let (from, to) = (of(from), of(to));
        let expected = if is_taken { Ok(to.clone()) } else { Err(EgressError::RedirectBlocked) };
        assert_eq!(egress.check_hop(&from, to), expected, "{from:?}");
    }
}

/// This machine may have a public address only in its own network.
#[tokio::test]
async fn a_public_host_cannot_redirect_into_an_allowed_private_network() {
    if faults::isolated("redirects::a_public_host_cannot_redirect_into_an_allowed_private_network")
    {
        return;
    }
    for command in ["link set lo up", "addr add 8.8.8.8/32 dev lo", "addr add 10.0.0.1/32 dev lo"] {
        let told = std::process::Command::new("ip").args(command.split(' ')).status();
        assert!(told.unwrap().success(), "{command}");
    }
    let (public, other) = (Loopback::at("8.8.8.8:0").await, Loopback::at("8.8.8.8:0").await);
    let (inside, deeper) = (Loopback::at("10.0.0.1:0").await, Loopback::start().await);
    let egress = egress(&["10.0.0.0/8", "127.0.0.0/8"]);
    let get = async |from: &Loopback| egress.get(&from.url(), "*/*", LIMIT).await;
    deeper.give(b"hello");
    inside.give_with("302 Found", &to(&deeper.url()), b"");
    assert_eq!(get(&inside).await.unwrap(), "hello", "inside alone");
    public.give_with("302 Found", &to(&inside.url()), b"");
    assert_eq!(get(&public).await.unwrap_err(), EgressError::RedirectBlocked);
    other.give_with("302 Found", &to(&public.url()), b"");
    assert_eq!(get(&other).await.unwrap_err(), EgressError::RedirectBlocked, "after two");
    assert_eq!((inside.connections(), deeper.connections()), (1, 1));
    // The other direction is harmless.
    public.give(b"outside");
    deeper.give_with("302 Found", &to(&public.url()), b"");
    assert_eq!(get(&deeper).await.unwrap(), "outside");
}

#[tokio::test]
async fn no_redirect_leads_from_https_to_http() {
    let (secure, plain) = (TlsLoopback::start().await, Loopback::start().await);
    plain.give(b"hello");
    secure.give_with("302 Found", &to(&plain.url()), b"");
    let allowed = vec![Cidr::parse("127.0.0.0/8").unwrap()];
    let egress = Egress::new(allowed, Some(secure.root.as_bytes())).unwrap();
    let refused = egress.get(&secure.url(), "*/*", LIMIT).await.unwrap_err();
    assert_eq!((refused, plain.connections()), (EgressError::RedirectRefused, 0));
    // Also not after a redirect from http to https, which is followed.
    plain.give_with("302 Found", &to(&secure.url()), b"");
    let refused = egress.get(&plain.url(), "*/*", LIMIT).await.unwrap_err();
    assert_eq!((refused, plain.connections()), (EgressError::RedirectRefused, 1));
    secure.give(b"hello");
    assert_eq!(egress.get(&plain.url(), "*/*", LIMIT).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_redirect_forwards_only_the_accept_header() {
    let (first, other) = (Loopback::start().await, Loopback::start().await);
    other.give(b"hello");
    let headers = format!(
        "{}Set-Cookie: a=b\r\nWWW-Authenticate: Basic\r\nETag: \"x\"\r\nLast-Modified: y\r\n",
        to(&other.url())
    );
    first.give_with("302 Found", &headers, b"");
    assert_eq!(get(&first.url()).await.unwrap(), "hello");
    let head = other.last_head().to_ascii_lowercase();
    let mut lines: Vec<&str> = head.trim_end().lines().collect();
    assert_eq!(lines.remove(0), "get /list http/1.1");
    lines.sort_unstable();
    let host = format!("host: {}", other.address());
    // Every request names its host and this program. Only the other two headers are forwarded.
    let expected = ["accept-encoding: gzip", "accept: text/plain", &*host, "user-agent: idgate"];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn a_trusted_list_follows_three_redirects_and_has_no_media_type() {
    let server = TlsLoopback::start().await;
    let allowed = vec![Cidr::parse("127.0.0.0/8").unwrap()];
    let egress = Egress::new(allowed, Some(server.root.as_bytes())).unwrap();
    let (url, room) = (server.url(), Room::of(0));
    server.give_with("302 Found", &to("/again"), b"");
    let refused = egress.fetch_list(&url, &room).await.unwrap_err();
    assert_eq!((refused, server.connections()), (EgressError::TooManyRedirects, 4));
    server.give_with("302 Found", &to(&url.replace("https", "http")), b"");
    let refused = egress.fetch_list(&url, &room).await.unwrap_err();
    assert_eq!(refused, EgressError::RedirectRefused);
    let refused = egress.fetch_list(&url.replace("https", "http"), &room).await.unwrap_err();
    assert_eq!((refused, server.connections()), (EgressError::InvalidUrl, 5));
    server.give(b"a list");
    assert_eq!(egress.fetch_list(&url, &room).await.unwrap().as_ref(), b"a list");
    assert!(!server.last_head().to_ascii_lowercase().contains("\naccept:"));
}
