//! A web server on loopback for status lists and CRLs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Serves what it was given; everything else is 404. Ends with the test process.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    base: String,
    pages: Arc<Mutex<Pages>>,
}

#[derive(Debug, Default)]
struct Pages {
    content: BTreeMap<String, (&'static str, Vec<u8>)>,
    asked: Vec<String>,
    delay: Duration,
}

impl Host {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let pages = Arc::new(Mutex::new(Pages::default()));
        let served = Arc::clone(&pages);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = Arc::clone(&served);
                thread::spawn(move || answer(stream, &served));
            }
        });
        Self { base, pages }
    }

    /// The URI of a path, which begins with `/`.
    pub(crate) fn uri(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Puts content at a path.
    pub(crate) fn put(&self, path: &str, media_type: &'static str, content: Vec<u8>) -> String {
        self.pages.lock().unwrap().content.insert(path.into(), (media_type, content));
        self.uri(path)
    }

    /// Answers so much later from now on.
    pub(crate) fn take_time(&self, delay: Duration) {
        self.pages.lock().unwrap().delay = delay;
    }

    /// How often a path was asked for.
    pub(crate) fn asked(&self, path: &str) -> usize {
        self.pages.lock().unwrap().asked.iter().filter(|asked| *asked == path).count()
    }
}

fn answer(mut stream: TcpStream, pages: &Mutex<Pages>) {
    let Ok(copy) = stream.try_clone() else { return };
    let mut lines = BufReader::new(copy).lines().map_while(Result::ok);
    let path = lines.next().and_then(|line| line.split(' ').nth(1).map(String::from));
    let path = path.unwrap_or_default();
    lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
    let (page, delay) = {
        let mut pages = pages.lock().unwrap();
        pages.asked.push(path.clone());
        (pages.content.get(&path).cloned(), pages.delay)
    };
    thread::sleep(delay);
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
