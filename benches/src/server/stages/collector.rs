//! A trace collector that keeps sums: the number of each request, and the CPU time of its stages.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message as _;

/// The prefix of the attribute names.
const CPU: &str = "idgate.cpu.";

/// The sums of one kind of request.
#[derive(Clone, Default)]
pub(super) struct Sum {
    pub(super) requests: u32,
    /// Nanoseconds by stage.
    pub(super) stages: BTreeMap<String, u64>,
}

/// By span names, for example `POST /v1/sessions`.
pub(super) type Sums = BTreeMap<String, Sum>;

/// It serves until this process ends.
pub(super) struct Collector {
    pub(super) url: String,
    sums: Arc<Mutex<Sums>>,
}

impl Collector {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let sums = Arc::<Mutex<Sums>>::default();
        let shared = sums.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sums = shared.clone();
                // The gateway opens another connection when this one ends.
                thread::spawn(move || serve(stream, &sums));
            }
        });
        Ok(Self { url, sums })
    }

    /// The sums since the last call.
    pub(super) fn take(&self) -> Sums {
        std::mem::take(&mut *lock(&self.sums))
    }
}

fn lock(sums: &Mutex<Sums>) -> MutexGuard<'_, Sums> {
    sums.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, sums: &Mutex<Sums>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let Some((name, value)) = line.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let message = ExportTraceServiceRequest::decode(&*body).map_err(io::Error::other)?;
        add(&mut lock(sums), message);
        stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
}

fn add(sums: &mut Sums, message: ExportTraceServiceRequest) {
    let scopes = message.resource_spans.into_iter().flat_map(|group| group.scope_spans);
    for span in scopes.flat_map(|scope| scope.spans) {
        let mut stages = span.attributes.iter().filter_map(stage).peekable();
        // Only the span of a whole request has these attributes.
        if stages.peek().is_none() {
            continue;
        }
        let sum = sums.entry(span.name.clone()).or_default();
        sum.requests = sum.requests.saturating_add(1);
        for (stage, ns) in stages {
            let all = sum.stages.entry(stage.to_owned()).or_default();
            *all = all.saturating_add(ns);
        }
    }
}

fn stage(attribute: &KeyValue) -> Option<(&str, u64)> {
    let stage = attribute.key.strip_prefix(CPU)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::IntValue(ns) => Some((stage, u64::try_from(*ns).ok()?)),
        _ => None,
    }
}
