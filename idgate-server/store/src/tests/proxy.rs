//! What stands between a gateway and its database, and does to their connection what networks do.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

/// Everything goes through.
const PASSING: u8 = 0;
/// Every connection is closed, and every new one, too.
const CUT: u8 = 1;
/// Nothing goes through, and nothing is closed.
const FROZEN: u8 = 2;
/// The next COMMIT goes through, and the connection is cut before its answer.
const LOSING: u8 = 3;
/// The same with the one after it.
const LOSING_LATER: u8 = 4;

/// How soon it does what it is told.
const TICK: Duration = Duration::from_millis(5);

/// A way to the server at this socket. It does not set TCP_NODELAY: answers in parts take 40 ms, and
/// transactions are open for so long that most faults fall into one.
pub(super) struct Proxy {
    pub(super) port: u16,
    mood: Arc<AtomicU8>,
}

impl Proxy {
    pub(super) fn to(socket: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mood = Arc::new(AtomicU8::new(PASSING));
        let (of_thread, socket) = (mood.clone(), socket.to_owned());
        std::thread::spawn(move || accept(&listener, &of_thread, &socket));
        Self { port, mood }
    }

    pub(super) fn pass(&self) {
        self.mood.store(PASSING, Ordering::SeqCst);
    }

    pub(super) fn cut(&self) {
        self.mood.store(CUT, Ordering::SeqCst);
    }

    pub(super) fn freeze(&self) {
        self.mood.store(FROZEN, Ordering::SeqCst);
    }

    pub(super) fn lose_the_next_commit(&self) {
        self.mood.store(LOSING, Ordering::SeqCst);
    }

    pub(super) fn lose_the_commit_after_the_next(&self) {
        self.mood.store(LOSING_LATER, Ordering::SeqCst);
    }

    /// Whether one was lost since.
    pub(super) fn has_lost_it(&self) -> bool {
        self.mood.load(Ordering::SeqCst) == PASSING
    }
}

fn accept(listener: &TcpListener, mood: &Arc<AtomicU8>, socket: &PathBuf) {
    for client in listener.incoming() {
        let client = client.unwrap();
        if mood.load(Ordering::SeqCst) == CUT {
            continue;
        }
        // The server may be down.
        let Ok(server) = UnixStream::connect(socket) else { continue };
        let line = Arc::new(Line { client, server, mood: mood.clone(), loses: false.into() });
        let back = line.clone();
        std::thread::spawn(move || line.carry(&line.client, &line.server, true));
        std::thread::spawn(move || back.carry(&back.server, &back.client, false));
    }
}

/// One connection.
struct Line {
    client: TcpStream,
    server: UnixStream,
    mood: Arc<AtomicU8>,
    /// Its next answer is lost.
    loses: AtomicBool,
}

impl Line {
    /// Carries what comes in until either side is gone.
    fn carry<R, W>(&self, mut from: &R, mut to: &W, asks: bool)
    where
        for<'a> &'a R: Read,
        for<'a> &'a W: Write,
    {
        let _ = self.client.set_read_timeout(Some(TICK));
        let _ = self.server.set_read_timeout(Some(TICK));
        let mut bytes = vec![0; 65_536];
        loop {
            let mood = self.mood.load(Ordering::SeqCst);
            if mood == CUT {
                return self.end();
            }
            if mood == FROZEN {
                // reason: it looks for its next mood
                std::thread::sleep(TICK);
                continue;
            }
            let read = match from.read(&mut bytes) {
                Ok(0) => return self.end(),
                Ok(read) => &bytes[..read],
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    continue;
                }
                Err(_) => return self.end(),
            };
            // Bytes that came in just before the freeze wait, too.
            while self.mood.load(Ordering::SeqCst) == FROZEN {
                // reason: it looks for its next mood
                std::thread::sleep(TICK);
            }
            if asks && read.windows(6).any(|window| window == b"COMMIT") {
                match mood {
                    LOSING => self.loses.store(true, Ordering::SeqCst),
                    LOSING_LATER => self.mood.store(LOSING, Ordering::SeqCst),
                    _ => {}
                }
            }
            if !asks && self.loses.load(Ordering::SeqCst) {
                self.mood.store(PASSING, Ordering::SeqCst);
                return self.end();
            }
            if to.write_all(read).is_err() {
                return self.end();
            }
        }
    }

    fn end(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }
}
