//! What systemd is told (sd_notify(3)): a socket stands for it.

use std::collections::BTreeSet;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use crate::http::{Http, Request};
use crate::server::Installation;

/// systemd, as far as a service sees it.
struct Manager {
    socket: UnixDatagram,
    installation: Installation,
}

impl Manager {
    fn new() -> Self {
        let installation = Installation::new();
        let path = installation.data_dir().with_file_name("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let installation = installation.with("NOTIFY_SOCKET", path.to_str().unwrap());
        Self { socket, installation }
    }

    /// What is said until a word is, that word included.
    fn until(&self, word: &str) -> Vec<String> {
        let begun = Instant::now();
        let (mut said, mut datagram) = (Vec::new(), [0; 512]);
        while !said.iter().any(|line| line == word) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{word} is not among {said:?}");
            let Ok(length) = self.socket.recv(&mut datagram) else { continue };
            let text = String::from_utf8(datagram[..length].to_vec()).unwrap();
            said.extend(text.lines().map(str::to_owned));
        }
        said
    }
}

#[test]
fn systemd_is_told_when_the_gateway_serves_reloads_and_stops() {
    let manager = Manager::new();
    let server = manager.installation.serve();
    assert_eq!(manager.until("READY=1"), ["READY=1"], "nobody asked for a watchdog");
    Http::new(server.address).send(&Request::get("/readyz")).expect_status(200);
    server.signal("HUP");
    let said = manager.until("READY=1");
    let [reloading, time, ready] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!((&**reloading, &**ready), ("RELOADING=1", "READY=1"));
    let time: u64 = time.strip_prefix("MONOTONIC_USEC=").unwrap().parse().unwrap();
    assert!(time > 0);
    server.terminate();
    assert_eq!(manager.until("STOPPING=1"), ["STOPPING=1"]);
    assert_eq!(server.wait().0.code(), Some(0));
}

#[test]
fn systemd_hears_that_the_gateway_is_alive_twice_as_often_as_it_asks() {
    let mut manager = Manager::new();
    manager.installation.set("WATCHDOG_USEC", "400000");
    let server = manager.installation.serve();
    manager.until("WATCHDOG=1");
    let begun = Instant::now();
    let said: BTreeSet<String> = (0..10).flat_map(|_| manager.until("WATCHDOG=1")).collect();
    let took = begun.elapsed();
    assert!((Duration::from_secs(1)..Duration::from_secs(4)).contains(&took), "{took:?}");
    assert!(said.iter().all(|word| word == "WATCHDOG=1" || word == "READY=1"), "{said:?}");
    server.terminate();
    manager.until("STOPPING=1");
}

#[test]
fn a_service_manager_that_is_gone_stops_nobody() {
    let Manager { socket, installation } = Manager::new();
    drop(socket);
    let server = installation.serve();
    Http::new(server.address).send(&Request::get("/readyz")).expect_status(200);
    server.terminate();
    let (status, _) = server.wait();
    assert_eq!(status.code(), Some(0));
    assert!(installation.log().contains("NOTIFY_SOCKET"), "{}", installation.log());
}
