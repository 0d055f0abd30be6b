//! Thousands of clients that send an incomplete request (decisions 17).

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::http::{Request, connect_from};
use crate::server::{Installation, eventually};
use crate::tenant::{Gateway, request_for};

const CONNECTIONS: usize = 5000;
const ADDRESSES: usize = 25;
/// When all of them are closed: 10 s for a head, and a margin.
const CLOSED_BY: Duration = Duration::from_secs(12);

#[test]
fn five_thousand_incomplete_requests_delay_no_one_and_end_within_12_s() {
    let gateway = Gateway::start_on(Installation::new().with_machine());
    gateway.installation.machine().freeze();
    let mut tenant = gateway.tenant();
    let count = CONNECTIONS.min(file_descriptors().saturating_sub(500));
    let idle: Vec<TcpStream> = (0..count).map(|n| half_open(n, gateway.server.address)).collect();
    // A healthy client is served while they are open.
    for _ in 0..20 {
        let created = tenant.create(&request_for(&["given_name"]));
        tenant.get(&created.id).expect_status(200);
        gateway.http().send(&Request::get("/healthz")).expect_status(200);
    }
    gateway.server.rest();
    gateway.installation.machine().jump(CLOSED_BY);
    eventually("all are closed", || !idle.iter().any(is_open));
    tenant.create(&request_for(&["given_name"]));
}

/// A connection from one of the addresses that never finishes its head.
fn half_open(n: usize, server: SocketAddr) -> TcpStream {
    let host = u8::try_from(n % ADDRESSES + 2).unwrap();
    let mut stream = connect_from(Ipv4Addr::new(127, 0, 0, host), server).unwrap();
    stream.write_all(b"POST /v1/sessions HTTP/1.1\r\nHost: g\r\nX-Half").unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

fn is_open(mut stream: &TcpStream) -> bool {
    let mut rest = [0; 1024];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

/// The limit of open files for this process, which the server inherits.
fn file_descriptors() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    line.split_whitespace().next().and_then(|soft| soft.parse().ok()).unwrap_or(usize::MAX)
}
