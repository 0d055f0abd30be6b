//! `idgate-bench flow-floor`: the work that no gateway can avoid in a flow. HTTP, a durable insert, two
//! P-256 signatures, a durable update, a read. A yardstick, not a product: it has no API key, parses no
//! JSON, and writes neither audit entries nor notifications. With `--jar` it also signs a Request Object
//! and decrypts an answer.

mod jar;

use std::error::Error;
use std::iter::once;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use aws_lc_rs::rand::{self, SystemRandom};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use clap::{Args, ValueEnum};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rusqlite::Connection;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub(super) use self::jar::Jar;

/// The kind of floor, and its folder.
#[derive(Args)]
pub(crate) struct FloorOptions {
    /// The changes in a transaction
    #[arg(long, value_enum)]
    commit: Commit,
    /// With a Request Object and an encrypted answer
    #[arg(long)]
    jar: bool,
    /// The folder for the database
    #[arg(long)]
    folder: PathBuf,
}

/// The changes in a transaction.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Commit {
    /// One change
    Each,
    /// All queued changes, up to 64
    Group,
}

/// Serves until it is killed. Like the gateway, it prints its address on the first line.
///
/// # Errors
/// The database cannot be made in that folder, or there is no free port.
pub(crate) fn serve_floor(options: &FloorOptions) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let served = runtime.map_err(Failure::from).and_then(|runtime| {
        let floor = Floor::open(options)?;
        runtime.block_on(listen(Arc::new(floor)))
    });
    served.map_err(|error| error.to_string())
}

pub(super) type Failure = Box<dyn Error + Send + Sync>;

struct Floor {
    writes: mpsc::Sender<Write>,
    /// One for each reading thread.
    readers: [Mutex<Connection>; 2],
    created: AtomicUsize,
    signatures: [Signed; 2],
    jar: Option<Jar>,
}

/// A change that a request waits for.
struct Write {
    change: Change,
    done: oneshot::Sender<()>,
}

/// Each change has the id of its session.
enum Change {
    Create(String),
    Settle(String),
}

/// A constant signature: verifying it costs as much as any other.
pub(super) struct Signed {
    message: Vec<u8>,
    signature: Vec<u8>,
    public_key: Vec<u8>,
}

/// Pads a row, with its id and answer, to the length of a session in idgate: 1.2 KiB.
const RECORD: [u8; 1024] = [b'x'; 1024];

/// The answer for a settled session.
pub(super) const SETTLED: &str = r#"{"status":"VERIFIED","claims":{"given_name":"Erika","family_name":"Mustermann","birthdate":"1984-01-26"}}"#;

/// The address of the Request Object.
pub(super) const REQUEST_OBJECTS: &str = "/v1/oid4vp/request/";

/// An exchange without any work.
pub(super) const HELLO: &str = "/hello";

/// The lengths of signed data: an issuer's JWT with 30 digests, and the holder's key binding.
pub(super) const SIGNED_BYTES: [usize; 2] = [1600, 300];

async fn listen(floor: Arc<Floor>) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let floor = floor.clone();
        let service = service_fn(move |request| {
            let floor = floor.clone();
            async move { floor.answer(request).await }
        });
        // A failure closes the connection, so the measurement fails.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

impl Floor {
    fn open(options: &FloorOptions) -> Result<Self, Failure> {
        let path = options.folder.join("floor.db");
        let writer = connect(&path)?;
        writer.execute_batch(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, record BLOB, answer TEXT)",
        )?;
        let at_most = match options.commit {
            Commit::Each => 1,
            Commit::Group => 64,
        };
        let (writes, waiting) = mpsc::channel();
        thread::spawn(move || {
            if let Err(error) = write(writer, &waiting, at_most) {
                eprintln!("flow-floor: {error}");
            }
        });
        let [issuer, holder] = SIGNED_BYTES.map(Signed::new);
        Ok(Self {
            writes,
            readers: [Mutex::new(connect(&path)?), Mutex::new(connect(&path)?)],
            created: AtomicUsize::new(0),
            signatures: [issuer?, holder?],
            jar: options.jar.then(Jar::new).transpose()?,
        })
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Failure> {
        let (head, body) = request.into_parts();
        body.collect().await?;
        let path = head.uri.path();
        let id = path.rsplit('/').next().unwrap_or_default().to_owned();
        let (status, answer) = match (head.method, &*id) {
            (Method::POST, "sessions") => (StatusCode::CREATED, self.create().await?),
            (Method::POST, _) => (StatusCode::OK, self.settle(id).await?),
            (_, "metrics") => (StatusCode::NOT_FOUND, String::new()),
            (_, "hello") => (StatusCode::OK, "hello".to_owned()),
            _ if path.starts_with(REQUEST_OBJECTS) => (StatusCode::OK, self.request_object()),
            _ => (StatusCode::OK, self.read(&id)?),
        };
        let mut response = Response::new(Full::new(answer.into()));
        *response.status_mut() = status;
        Ok(response)
    }

    async fn create(&self) -> Result<String, Failure> {
        let id = self.new_id()?;
        let answer = format!(r#"{{"session_id":"{id}"}}"#);
        self.write(Change::Create(id)).await?;
        Ok(answer)
    }

    async fn settle(&self, id: String) -> Result<String, Failure> {
        if let Some(jar) = &self.jar {
            jar.open()?;
        }
        for signed in &self.signatures {
            signed.verify()?;
        }
        self.write(Change::Settle(id)).await?;
        Ok("{}".to_owned())
    }

    fn request_object(&self) -> String {
        self.jar.as_ref().map(Jar::request_object).unwrap_or_default()
    }

    fn read(&self, id: &str) -> Result<String, Failure> {
        let free = self.readers.iter().find_map(|reader| reader.try_lock().ok());
        let reader = free.ok_or("more threads than readers")?;
        let mut select = reader.prepare_cached("SELECT answer FROM sessions WHERE id = ?1")?;
        Ok(select.query_row([id], |row| row.get(0))?)
    }

    /// An id that cannot be guessed, and is the last in its index.
    fn new_id(&self) -> Result<String, Failure> {
        let mut random = [0; 8];
        rand::fill(&mut random)?;
        let created = self.created.fetch_add(1, Ordering::Relaxed);
        Ok(format!("{created:010x}{:016x}", u64::from_be_bytes(random)))
    }

    async fn write(&self, change: Change) -> Result<(), Failure> {
        let (done, wait) = oneshot::channel();
        self.writes.send(Write { change, done })?;
        Ok(wait.await?)
    }
}

impl Signed {
    pub(super) fn new(length: usize) -> Result<Self, Failure> {
        let message = vec![b'x'; length];
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)?;
        let signature = key.sign(&SystemRandom::new(), &message)?.as_ref().to_vec();
        Ok(Self { message, signature, public_key: key.public_key().as_ref().to_vec() })
    }

    pub(super) fn verify(&self) -> Result<(), Failure> {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &self.public_key);
        Ok(key.verify(&self.message, &self.signature)?)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?;
    Ok(connection)
}

/// Writes the changes that arrive, at most that many in a transaction.
fn write(
    mut connection: Connection,
    writes: &mpsc::Receiver<Write>,
    at_most: usize,
) -> rusqlite::Result<()> {
    while let Ok(first) = writes.recv() {
        let batch: Vec<_> = once(first).chain(writes.try_iter()).take(at_most).collect();
        let transaction = connection.transaction()?;
        for write in &batch {
            match &write.change {
                Change::Create(id) => transaction
                    .prepare_cached("INSERT INTO sessions (id, record) VALUES (?1, ?2)")?
                    .execute((id, RECORD))?,
                Change::Settle(id) => transaction
                    .prepare_cached("UPDATE sessions SET answer = ?2 WHERE id = ?1")?
                    .execute((id, SETTLED))?,
            };
        }
        transaction.commit()?;
        for write in batch {
            // An error means that the request is gone.
            let _ = write.done.send(());
        }
    }
    Ok(())
}
