//! Notifications to systemd (sd_notify(3)); a socket takes systemd's place.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use idgate_testkit::patience::patience;

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
        let path = installation.unused_data_dir().with_file_name("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(patience())).unwrap();
        let installation = installation.with("NOTIFY_SOCKET", path.to_str().unwrap());
        Self { socket, installation }
    }

    /// All notifications up to and including this one.
    fn until(&self, word: &str) -> Vec<String> {
        let (mut said, mut datagram) = (Vec::new(), [0; 512]);
        while !said.iter().any(|line| line == word) {
            let received = self.socket.recv(&mut datagram);
            let length = received.unwrap_or_else(|_| panic!("{word} is not among {said:?}"));
            let text = String::from_utf8(datagram[..length].to_vec()).unwrap();
            said.extend(text.lines().map(str::to_owned));
        }
        said
    }

    /// All notifications that were not read yet.
    fn so_far(&self) -> Vec<String> {
        self.socket.set_nonblocking(true).unwrap();
        let (mut said, mut datagram) = (Vec::new(), [0; 512]);
        while let Ok(length) = self.socket.recv(&mut datagram) {
            let text = String::from_utf8(datagram[..length].to_vec()).unwrap();
            said.extend(text.lines().map(str::to_owned));
        }
        self.socket.set_nonblocking(false).unwrap();
        said
    }
}

#[test]
fn systemd_is_told_when_the_gateway_serves_reloads_and_stops() {
    let manager = Manager::new();
    let server = manager.installation.serve();
    assert_eq!(manager.until("READY=1"), ["READY=1"], "no watchdog was requested");
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
fn watchdog_pings_are_twice_as_frequent_as_required() {
    let Manager { socket, installation } = Manager::new();
    let mut manager = Manager { socket, installation: installation.with_machine() };
    manager.installation.set("WATCHDOG_USEC", "400000");
    let machine = manager.installation.machine();
    machine.freeze();
    let server = manager.installation.serve();
    let mut said = manager.until("READY=1");
    // Immediately, and then every 200 ms.
    for _ in 0..21 {
        server.pass(machine, Duration::from_millis(100));
        said.extend(manager.so_far());
    }
    server.terminate();
    said.extend(manager.until("STOPPING=1"));
    let alive = said.iter().filter(|word| *word == "WATCHDOG=1").count();
    assert_eq!(alive, 11, "{said:?}");
    let others: Vec<_> = said.iter().filter(|word| *word != "WATCHDOG=1").collect();
    assert_eq!(others, ["READY=1", "STOPPING=1"]);
}

#[test]
fn a_missing_service_manager_does_not_stop_the_gateway() {
    let Manager { socket, installation } = Manager::new();
    drop(socket);
    let server = installation.serve();
    Http::new(server.address).send(&Request::get("/readyz")).expect_status(200);
    server.terminate();
    let (status, _) = server.wait();
    assert_eq!(status.code(), Some(0));
    assert!(installation.log().contains("NOTIFY_SOCKET"), "{}", installation.log());
}
