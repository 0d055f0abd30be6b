//! A status list host that can keep silent.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::status::{StatusJwt, StatusList};

use crate::server::eventually;
use crate::tenant::now_ms;

/// Every path is a list in which all credentials are valid. Ends with the test process.
#[derive(Clone)]
pub(super) struct Source {
    base: String,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    silent: bool,
    asked: usize,
    answered: usize,
}

impl Source {
    pub(super) fn start() -> Self {
        Self::start_at([127, 0, 0, 1])
    }

    fn start_at(ip: [u8; 4]) -> Self {
        let listener = TcpListener::bind(SocketAddr::from((ip, 0))).unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let gate = Arc::new(Gate::default());
        let source = Self { base, gate: gate.clone() };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let gate = gate.clone();
                thread::spawn(move || answer(stream, &gate));
            }
        });
        source
    }

    pub(super) fn silent_at(ip: [u8; 4]) -> Self {
        let source = Self::start_at(ip);
        source.keep_silent(true);
        source
    }

    pub(super) fn uri(&self, path: &str) -> String {
        format!("{}/{path}", self.base)
    }

    /// A list that was not requested yet, so it is not cached.
    pub(super) fn next_uri(&self) -> String {
        self.uri(&format!("list{}", self.asked()))
    }

    /// A list by a host name that has to be looked up.
    pub(super) fn uri_by_name(&self, path: &str) -> String {
        self.uri(path).replace("127.0.0.1", "localhost")
    }

    pub(super) fn keep_silent(&self, silent: bool) {
        self.gate.state.lock().unwrap().silent = silent;
        self.gate.changed.notify_all();
    }

    /// How often it was requested.
    pub(super) fn asked(&self) -> usize {
        self.gate.state.lock().unwrap().asked
    }

    pub(super) fn wait_until_asked(&self, times: usize) {
        eventually("the source is asked", || self.asked() >= times);
    }

    pub(super) fn wait_until_answered(&self, times: usize) {
        eventually("the source answers", || self.gate.state.lock().unwrap().answered >= times);
    }
}

fn answer(mut stream: TcpStream, gate: &Gate) {
    let Ok(copy) = stream.try_clone() else { return };
    let mut lines = BufReader::new(copy).lines().map_while(Result::ok);
    let path = lines.next().and_then(|line| line.split(' ').nth(1).map(String::from));
    let headers = lines.by_ref().take_while(|line| !line.is_empty());
    let host = headers.filter_map(|line| Some(line.strip_prefix("host: ")?.to_owned())).last();
    let mut state = gate.state.lock().unwrap();
    state.asked += 1;
    drop(gate.changed.wait_while(state, |state| state.silent));
    let uri = format!("http://{}{}", host.unwrap_or_default(), path.unwrap_or_default());
    // The gateway's clock may be behind: it does not move while a test checks.
    let list = StatusJwt::new(&StatusList::new(1, 64), &uri, now_ms() / 1000 - 3600);
    let body = list.sign(&samples::issuer_key(Curve::P256));
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/statuslist+jwt\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    // The client may be gone.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
    gate.state.lock().unwrap().answered += 1;
}
