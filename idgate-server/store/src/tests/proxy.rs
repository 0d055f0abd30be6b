//! A proxy between a gateway and its database that causes network faults.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

/// Everything goes through.
const PASSING: u8 = 0;
/// Every existing connection is closed, and so is every new one.
const CUT: u8 = 1;
/// No bytes get through, and no connection is closed.
const FROZEN: u8 = 2;
/// The next COMMIT gets through, and the connection is closed before its answer.
const LOSING: u8 = 3;
/// The same with the COMMIT after that.
const LOSING_LATER: u8 = 4;

/// How soon it reacts to a new mode.
const TICK: Duration = Duration::from_millis(5);

/// A way to the server at this socket. It does not set TCP_NODELAY: answers in several parts take
/// 40 ms, so transactions stay open long enough for most faults to hit one.
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

    /// Whether an answer was lost since.
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
    /// Copies incoming bytes until either side is gone.
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
                // reason: it checks for its next mode
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
            // Bytes that arrived just before the freeze wait as well.
            while self.mood.load(Ordering::SeqCst) == FROZEN {
                // reason: it checks for its next mode
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
