//! A web server on loopback for status lists and CRLs, which can be as strict as real ones.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use idgate_testkit::gzip::gzip;

use crate::server::eventually;

/// Serves the content that tests put there, and 404 otherwise. Ends with the test process.
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
    moved: BTreeMap<String, String>,
    /// Whether it compares `Accept` as a whole, and compresses every answer.
    is_particular: bool,
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

    /// From now on the host compares `Accept` as a whole with its media type, and answers 406 if
    /// they differ. It also compresses every answer, with a status other than 200.
    pub(crate) fn be_particular(&self) {
        self.shared.pages.lock().unwrap().is_particular = true;
    }

    /// Redirects requests for a path.
    pub(crate) fn redirect(&self, path: &str, to: &str) -> String {
        self.shared.pages.lock().unwrap().moved.insert(path.into(), to.into());
        self.uri(path)
    }

    /// Holds requests for this path until it is released.
    pub(crate) fn hold(&self, path: &str) {
        self.shared.pages.lock().unwrap().held.insert(path.into());
    }

    pub(crate) fn release(&self, path: &str) {
        self.shared.pages.lock().unwrap().held.remove(path);
        self.shared.released.notify_all();
    }

    /// How often a path was requested.
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
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let accept = head.iter().find_map(|line| line.strip_prefix("accept: ")).unwrap_or_default();
    let mut pages = shared.pages.lock().unwrap();
    pages.asked.push(path.clone());
    let pages = shared.released.wait_while(pages, |pages| pages.held.contains(&path)).unwrap();
    let page = pages.content.get(&path).cloned();
    let (moved, is_particular) = (pages.moved.get(&path).cloned(), pages.is_particular);
    drop(pages);
    let coded = "Content-Encoding: gzip\r\n";
    let (status, media_type, content, more) = match (page, moved) {
        (_, Some(to)) => ("302 Found", "text/plain", Vec::new(), format!("Location: {to}\r\n")),
        (Some((media_type, _)), _) if is_particular && accept != media_type => {
            ("406 Not Acceptable", "text/plain", Vec::new(), String::new())
        }
        (Some((media_type, content)), _) if is_particular => {
            ("203 Non-Authoritative Information", media_type, gzip(&content), coded.into())
        }
        (Some((media_type, content)), _) => ("200 OK", media_type, content, String::new()),
        (None, _) => ("404 Not Found", "text/plain", Vec::new(), String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n{more}\
         Connection: close\r\n\r\n",
        content.len()
    );
    // The client may be gone.
    let _ = stream.write_all(&[head.into_bytes(), content].concat());
}
