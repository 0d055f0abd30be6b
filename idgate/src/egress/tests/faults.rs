//! Faults of this machine are distinguished from faults of others.

use std::process::Command;

use super::*;
use crate::egress::resolve::Resolved;

/// Set in the process with its own network.
const ISOLATED: &str = "IDGATE_TEST_ISOLATED";

/// A resolver with these addresses for every name; without any it fails.
struct Names(&'static [&'static str]);

impl Resolve for Names {
    fn resolve<'a>(&'a self, _: &'a str, port: u16, _: Kept) -> Resolved<'a> {
        Box::pin(async move {
            match self.0 {
                [] => Err(io::Error::other("failed to lookup address information")),
                all => {
                    Ok(all.iter().map(|ip| (ip.parse::<IpAddr>().unwrap(), port).into()).collect())
                }
            }
        })
    }
}

fn knowing(addresses: &'static [&'static str]) -> Egress {
    let descriptors: &'static Shortage = Box::leak(Box::new(Shortage::none()));
    Egress { resolver: Arc::new(Names(addresses)), descriptors, ..egress(&["127.0.0.0/8"]) }
}

async fn failure(egress: &Egress, url: &str) -> EgressError {
    egress.get(url, "*/*", LIMIT).await.unwrap_err()
}

#[tokio::test]
async fn a_name_without_address_soon_after_a_shortage_of_descriptors_is_an_own_fault() {
    let egress = knowing(&[]);
    assert_eq!(failure(&egress, "https://a.example/").await, EgressError::DnsFailed);
    egress.descriptors.note();
    assert_eq!(failure(&egress, "https://a.example/").await, EgressError::OwnFault);
    // A resolved name is asked, whatever shortage there was.
    let found = Egress { descriptors: egress.descriptors, ..knowing(&["127.0.0.1"]) };
    assert_eq!(failure(&found, "http://a.example:1/").await, EgressError::ConnectFailed);
}

/// Runs only the test with this name, in a process without any network. `false`: this is that
/// process.
pub(super) fn isolated(test: &str) -> bool {
    if std::env::var_os(ISOLATED).is_some() {
        return false;
    }
    let name = format!("egress::tests::{test}");
    let mut command = Command::new("unshare");
    command.args(["--net", "--"]).arg(std::env::current_exe().unwrap());
    let ran = command.args(["--exact", &name, "--nocapture"]).env(ISOLATED, "1").output();
    match ran {
        Ok(ran) if ran.status.success() => {
            assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "{ran:?}");
        }
        Ok(ran) if !String::from_utf8_lossy(&ran.stderr).contains("unshare: ") => panic!("{ran:?}"),
        _ => eprintln!("skipped: only root has networks of its own"),
    }
    true
}

#[tokio::test]
async fn a_missing_route_is_an_own_fault() {
    if isolated("faults::a_missing_route_is_an_own_fault") {
        return;
    }
    let url = "https://a.example/";
    for (addresses, expected) in [
        (&["8.8.8.8"][..], EgressError::OwnFault),
        (&["2606:4700::1111", "8.8.8.8"], EgressError::OwnFault),
        // Many machines have no IPv6, and cannot reach hosts that have only IPv6.
        (&["2606:4700::1111"], EgressError::ConnectFailed),
    ] {
        assert_eq!(failure(&knowing(addresses), url).await, expected, "{addresses:?}");
    }
}

#[tokio::test]
async fn a_missing_local_port_is_an_own_fault() {
    if isolated("faults::a_missing_local_port_is_an_own_fault") {
        return;
    }
    assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "50000 50000").unwrap();
    let source = Loopback::start().await;
    source.give(b"hello");
    let egress = knowing(&["127.0.0.1"]);
    let url = format!("http://a.example:{}/", source.address().port());
    // The source itself uses the only port.
    assert_eq!(failure(&egress, &url).await, EgressError::OwnFault);
    // An address that refuses the connection does not change that.
    let egress = Egress { resolver: Arc::new(Names(&["127.0.0.2", "127.0.0.1"])), ..egress };
    assert_eq!(failure(&egress, &url).await, EgressError::OwnFault);
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "50000 60000").unwrap();
    assert_eq!(egress.get(&url, "*/*", LIMIT).await.unwrap(), "hello");
}
