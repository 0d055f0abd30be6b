//! A web server on loopback for status lists and CRLs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use crate::server::eventually;

/// Serves what it was given; everything else is 404. Ends with the test process.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    base: String,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    pages: Mutex<Pages>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Pages {
    content: BTreeMap<String, (&'static str, Vec<u8>)>,
    asked: Vec<String>,
    held: BTreeSet<String>,
}

impl Host {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::<Shared>::default();
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = Arc::clone(&served);
                thread::spawn(move || answer(stream, &served));
            }
        });
        Self { base, shared }
    }

    /// The URI of a path, which begins with `/`.
    pub(crate) fn uri(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Puts content at a path.
    pub(crate) fn put(&self, path: &str, media_type: &'static str, content: Vec<u8>) -> String {
        self.shared.pages.lock().unwrap().content.insert(path.into(), (media_type, content));
        self.uri(path)
    }

    /// Leaves those who ask for this path without an answer until it is released.
    pub(crate) fn hold(&self, path: &str) {
        self.shared.pages.lock().unwrap().held.insert(path.into());
    }

    pub(crate) fn release(&self, path: &str) {
        self.shared.pages.lock().unwrap().held.remove(path);
        self.shared.released.notify_all();
    }

    /// How often a path was asked for.
    pub(crate) fn asked(&self, path: &str) -> usize {
        self.shared.pages.lock().unwrap().asked.iter().filter(|asked| *asked == path).count()
    }

    pub(crate) fn wait_until_asked(&self, path: &str, times: usize) {
        eventually("the host is asked", || self.asked(path) >= times);
    }
}

fn answer(mut stream: TcpStream, shared: &Shared) {
    let Ok(copy) = stream.try_clone() else { return };
    let mut lines = BufReader::new(copy).lines().map_while(Result::ok);
    let path = lines.next().and_then(|line| line.split(' ').nth(1).map(String::from));
    let path = path.unwrap_or_default();
    lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
    let mut pages = shared.pages.lock().unwrap();
    pages.asked.push(path.clone());
    let pages = shared.released.wait_while(pages, |pages| pages.held.contains(&path)).unwrap();
    let page = pages.content.get(&path).cloned();
    drop(pages);
    let (status, media_type, content) = match page {
        Some((media_type, content)) => ("200 OK", media_type, content),
        None => ("404 Not Found", "text/plain", Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        content.len()
    );
    // Whoever asked may be gone.
    let _ = stream.write_all(&[head.into_bytes(), content].concat());
}
