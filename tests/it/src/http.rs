//! A small blocking HTTP/1.1 client, so that the tests see bytes instead of a framework's view of
//! them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};

use idgate_testkit::patience::patience;
use idgate_testkit::wallet::Body;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::contract;
use crate::machine::Machine;
use crate::tenant::now_ms;

/// A request before it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: &'static str,
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

/// An answer whose body was read to the end.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// A client with at most one connection, which it keeps as long as the server does.
#[derive(Debug)]
pub(crate) struct Http {
    address: SocketAddr,
    from: Option<Ipv4Addr>,
    connection: Option<BufReader<TcpStream>>,
    connects: usize,
    /// The server's machine, whose time the test may advance.
    machine: Option<Machine>,
    /// How far time had advanced when the connection was last used.
    used_at_ns: i64,
}

/// After a jump of this size a server may be about to close an idle connection: half of its limit.
/// Whether a request comes before or after that would be a matter of chance.
const MAY_END_NS: i64 = 5_000_000_000;

impl Request {
    pub(crate) fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), headers: Vec::new(), body: None }
    }

    pub(crate) fn get(target: impl Into<String>) -> Self {
        Self::new("GET", target)
    }

    pub(crate) fn delete(target: impl Into<String>) -> Self {
        Self::new("DELETE", target)
    }

    pub(crate) fn post(target: impl Into<String>) -> Self {
        Self::new("POST", target)
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn bearer(self, key: &str) -> Self {
        self.header("Authorization", format!("Bearer {key}"))
    }

    pub(crate) fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").bytes(body.to_string())
    }

    pub(crate) fn answer(self, body: &Body) -> Self {
        self.header("Content-Type", &*body.content_type).bytes(body.bytes.clone())
    }

    pub(crate) fn encode(&self, host: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {host}\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        [head.as_bytes(), self.body.as_deref().unwrap_or_default()].concat()
    }
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(have, _)| have.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{}: {error}: {}", self.status, String::from_utf8_lossy(&self.body))
        })
    }

    /// The `error` code of a body that has exactly `error` and `message`, both strings.
    pub(crate) fn error(&self) -> String {
        let body = self.json();
        let members = body.as_object().unwrap_or_else(|| panic!("{}: {body}", self.status));
        let names: Vec<&String> = members.keys().collect();
        assert_eq!(names, ["error", "message"], "{}: {body}", self.status);
        assert!(!self.message().is_empty(), "{body}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        body["error"].as_str().unwrap_or_else(|| panic!("{body}")).into()
    }

    pub(crate) fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or_else(|| panic!("no message")).into()
    }

    #[track_caller]
    pub(crate) fn expect_status(self, status: u16) -> Self {
        let body = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{body}");
        self
    }

    #[track_caller]
    pub(crate) fn expect_error(self, status: u16, code: &str) -> Self {
        let body = String::from_utf8_lossy(&self.body).into_owned();
        assert_eq!((self.status, self.error().as_str()), (status, code), "{body}");
        self
    }
}

impl Http {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let (from, connection, machine) = (None, None, None);
        Self { address, from, connection, connects: 0, machine, used_at_ns: 0 }
    }

    /// For a server on that machine.
    pub(crate) fn on(self, machine: Option<&Machine>) -> Self {
        Self { machine: machine.cloned(), ..self }
    }

    /// The server's real-time clock, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.machine.as_ref().map_or_else(now_ms, Machine::now_ms)
    }

    /// A client with an address other than this test's others.
    pub(crate) fn from(address: SocketAddr, from: Ipv4Addr) -> Self {
        Self { from: Some(from), ..Self::new(address) }
    }

    /// How often it had to connect.
    pub(crate) fn connects(&self) -> usize {
        self.connects
    }

    /// Sends a request and reads the answer. The test fails without one.
    #[track_caller]
    pub(crate) fn send(&mut self, request: &Request) -> Response {
        let sent = self.try_send(request);
        sent.unwrap_or_else(|error| panic!("{} {}: {error}", request.method, request.target))
    }

    /// The same for a server that may die during it. Nothing is sent twice. Every answer is
    /// compared with the OpenAPI description.
    pub(crate) fn try_send(&mut self, request: &Request) -> io::Result<Response> {
        let jumped_ns = self.machine.as_ref().map_or(0, Machine::jumped_ns);
        let may_end = jumped_ns - self.used_at_ns >= MAY_END_NS;
        self.used_at_ns = jumped_ns;
        let kept = self.connection.take().filter(|_| !may_end);
        let mut connection = match kept.filter(is_open) {
            Some(connection) => connection,
            None => {
                self.connects += 1;
                let connect = |from| connect_from(from, self.address);
                BufReader::new(self.from.map_or_else(|| self::connect(self.address), connect)?)
            }
        };
        connection.get_mut().write_all(&request.encode(self.address))?;
        let response = read_response(&mut connection, request.method)?;
        contract::check(request.method, &request.target, &response);
        let stays = response.header("connection").is_none_or(|value| value != "close");
        if stays && response.status != 101 {
            self.connection = Some(connection);
        }
        Ok(response)
    }
}

/// A request that was sent and not answered yet.
#[derive(Debug)]
pub(crate) struct Asked {
    connection: BufReader<TcpStream>,
    request: Request,
}

impl Asked {
    pub(crate) fn new(address: SocketAddr, request: Request) -> Self {
        let mut connection = BufReader::new(connect(address).unwrap());
        connection.get_mut().write_all(&request.encode(address)).unwrap();
        Self { connection, request }
    }

    pub(crate) fn is_answered(&self) -> bool {
        !is_open(&self.connection)
    }

    /// Waits for the answer.
    #[track_caller]
    pub(crate) fn answer(mut self) -> Response {
        let response = read_response(&mut self.connection, self.request.method).unwrap();
        contract::check(self.request.method, &self.request.target, &response);
        response
    }
}

/// Whether the connection is still open: the server closes idle ones.
fn is_open(connection: &BufReader<TcpStream>) -> bool {
    let stream = connection.get_ref();
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// A connection for bytes that no well-behaved client sends.
pub(crate) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    with_patience(TcpStream::connect(address)?)
}

/// The same from that address.
pub(crate) fn connect_from(from: Ipv4Addr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    socket.connect(&to.into())?;
    with_patience(socket.into())
}

fn with_patience(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(patience()))?;
    stream.set_write_timeout(Some(patience()))?;
    Ok(stream)
}

/// Sends `bytes`, closes the sending side, and reads everything that comes back.
pub(crate) fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(address).unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    read_to_close(&mut stream)
}

/// Everything until the server closes.
pub(crate) fn read_to_close(stream: &mut TcpStream) -> String {
    let mut received = Vec::new();
    // A reset after the answer counts as a close; a timeout does not.
    if let Err(error) = stream.read_to_end(&mut received) {
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "still open: {error}");
    }
    String::from_utf8_lossy(&received).into_owned()
}

/// Reads one answer to its end. Its body has a declared length, unless it is a stream.
pub(crate) fn read_response(from: &mut impl BufRead, method: &str) -> io::Result<Response> {
    let status_line = read_line(from)?;
    let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("{status_line:?}")))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(from)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut response = Response { status, headers, body: Vec::new() };
    if response.header("transfer-encoding") == Some("chunked") && method != "HEAD" {
        response.body = read_chunks(from)?;
    } else if method != "HEAD" && ![101, 204, 304].contains(&status) {
        let length = response.header("content-length").and_then(|length| length.parse().ok());
        let length = length.ok_or_else(|| io::Error::other("an answer without Content-Length"))?;
        response.body = vec![0; length];
        from.read_exact(&mut response.body)?;
    }
    Ok(response)
}

/// A chunked body, to its end (RFC 9112 7.1).
fn read_chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = usize::from_str_radix(&read_line(from)?, 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; size + 2];
        from.read_exact(&mut chunk)?;
        body.extend_from_slice(&chunk[..size]);
        if size == 0 {
            return Ok(body);
        }
    }
}

fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
