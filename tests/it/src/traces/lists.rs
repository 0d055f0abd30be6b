//! A host of one status list in which all credentials are valid. It records its requests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::status::{StatusJwt, StatusList};

use crate::tenant::now_ms;

/// Serves until the test process ends.
pub(super) struct Lists {
    pub(super) uri: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Lists {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/list-of-s3cret-name", listener.local_addr().unwrap());
        let list = StatusJwt::new(&StatusList::new(1, 64), &uri, now_ms() / 1000);
        let body = list.sign(&samples::issuer_key(Curve::P256));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = heads.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let head = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
                kept.lock().unwrap().push(head.collect::<Vec<_>>().join("\n"));
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/statuslist+jwt\r\n\
                     Content-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
        });
        Self { uri, heads }
    }

    /// The head of each request.
    pub(super) fn asked(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}
