//! The CPU time of a flow by stage. The gateway reports it for each request to a trace collector
//! (`idgate.cpu.*` in docs/tracing.md), which is this program. A second gateway without traces runs in
//! turns: the CPU time of its threads minus that of the stages on them is not covered by any stage.

mod collector;

use std::time::Duration;

use serde_json::{Map, json};

use self::collector::{Collector, Sums};
use super::flow::Profile;
use super::row::Row;
use super::{Driven, ROUNDS, ServerOptions, gateway};

/// The stages, with their threads and descriptions.
const STAGES: [(&str, Place, &str); 9] = [
    ("authenticate", Place::Runtime, "look-up of the API key"),
    ("make", Place::Runtime, "creation body to session and link"),
    ("sign", Place::Runtime, "Request Object"),
    ("verify", Place::Runtime, "answer to verdict"),
    ("seal", Place::Runtime, "sealing of stored values"),
    ("answer", Place::Runtime, "JSON of the answer"),
    ("request", Place::Runtime, "the rest of the use case"),
    ("read", Place::Reader, "rows read and opened"),
    ("write", Place::Writer, "rows written"),
];

/// The requests of a flow, with their column names.
const REQUESTS: [(&str, &str); 4] = [
    ("POST /v1/sessions", "create"),
    ("GET /v1/oid4vp/request/{id}", "fetch"),
    ("POST /v1/oid4vp/response/{id}", "answer"),
    ("GET /v1/sessions/{id}", "read"),
];

/// The time until the exporter has sent its queue: it collects for a second.
const EXPORTING: Duration = Duration::from_secs(2);

/// The kind of thread.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    Runtime,
    Reader,
    Writer,
}

impl Place {
    const ALL: [(Self, &str); 3] = [
        (Self::Writer, "commits and their queue"),
        (Self::Reader, "queues, wake-ups"),
        (Self::Runtime, "HTTP, sockets, scheduling"),
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Runtime => "runtime",
            Self::Reader => "readers",
            Self::Writer => "writer",
        }
    }

    /// Microseconds of its threads per flow.
    pub(super) fn us(self, row: &Row) -> f64 {
        let threads = row.by_thread().into_iter();
        threads.filter(|(name, _)| Self::of(name) == self).map(|(_, us)| us).sum()
    }

    fn of(thread: &str) -> Self {
        match thread {
            "store-writer" => Self::Writer,
            // Other threads of this kind read lists and loads.
            name if name.starts_with("store-") => Self::Reader,
            _ => Self::Runtime,
        }
    }
}

/// Prints a table for each profile.
///
/// # Errors
/// A gateway does not start, or gives an unexpected answer.
pub(super) async fn run(options: &ServerOptions, json: bool) -> Result<(), String> {
    for (profile, mode) in [(Profile::Inline, "inline"), (Profile::Jar, "jar")] {
        let measured = measure(options, profile, mode).await?;
        if json {
            println!("{}", measured.json(mode));
        } else {
            measured.print(mode);
        }
    }
    Ok(())
}

/// The sums of the stages, and the rows of both gateways.
struct Measured {
    sums: Sums,
    plain: Row,
    traced: Row,
}

async fn measure(
    options: &ServerOptions,
    profile: Profile,
    mode: &str,
) -> Result<Measured, String> {
    let collector = Collector::start().map_err(|error| error.to_string())?;
    let plain = vec![gateway::start(mode).await?];
    let mut plain = Driven::with(plain, profile, options.connections()).await?;
    let given = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.url),
        // A quarter of the traces, so that the measurement itself has little effect.
        ("OTEL_TRACES_SAMPLER", "traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
    ];
    let traced = vec![gateway::start_with(mode, &given).await?];
    let mut traced = Driven::with(traced, profile, options.connections()).await?;
    // Flows of the warm-up are not counted.
    tokio::time::sleep(EXPORTING).await;
    collector.take();
    let share = options.flows().div_ceil(ROUNDS);
    for _ in 0..ROUNDS {
        plain.round(share).await?;
        traced.round(share).await?;
        tokio::time::sleep(EXPORTING).await;
    }
    Ok(Measured { sums: collector.take(), plain: plain.finish()?, traced: traced.finish()? })
}

impl Measured {
    /// Microseconds of a stage in a request with this name.
    fn us(&self, request: &str, stage: &str) -> Option<f64> {
        let sum = self.sums.get(request)?;
        let ns = sum.stages.get(stage)?;
        Some(Duration::from_nanos(*ns).as_secs_f64() * 1e6 / f64::from(sum.requests))
    }

    /// The same for a flow.
    fn of_flow(&self, stage: &str) -> f64 {
        REQUESTS.iter().filter_map(|(request, _)| self.us(request, stage)).sum()
    }

    /// The time of a place's threads outside its stages, in the gateway without traces.
    fn rest(&self, place: Place) -> f64 {
        let stages = STAGES.iter().filter(|(_, at, _)| *at == place);
        place.us(&self.plain) - stages.map(|(stage, ..)| self.of_flow(stage)).sum::<f64>()
    }

    /// Each row with its columns. The last column is for the flow.
    fn rows(&self) -> Vec<(String, Vec<Option<f64>>, &'static str)> {
        let stage = |&(stage, _, what): &(&'static str, Place, &'static str)| {
            let columns = REQUESTS.iter().map(|(request, _)| self.us(request, stage));
            let all = std::iter::once(Some(self.of_flow(stage)).filter(|us| *us > 0.0));
            (stage.to_owned(), columns.chain(all).collect(), what)
        };
        let rest = |&(place, what): &(Place, &'static str)| {
            let name = format!("rest of {}", place.name());
            (name, vec![None, None, None, None, Some(self.rest(place))], what)
        };
        STAGES.iter().map(stage).chain(Place::ALL.iter().map(rest)).collect()
    }

    fn print(&self, mode: &str) {
        let names = REQUESTS.map(|(_, name)| format!("{name:>8}")).concat();
        println!("{mode:<16}{names}    flow      %   (us of CPU)");
        let all: f64 = self.plain.by_thread().iter().map(|it| it.1).sum();
        for (name, columns, what) in self.rows() {
            let Some(Some(flow)) = columns.last().copied() else { continue };
            let cell = |us: &Option<f64>| us.map_or("       -".into(), |us| format!("{us:>8.1}"));
            let cells = columns.iter().map(cell).collect::<String>();
            println!("{name:<16}{cells} {:>6.1}   {what}", flow / all * 100.0);
        }
        let (plain, traced) = (self.plain.cpu_us(), self.traced.cpu_us());
        println!("{:<48}{all:>8.1}  100.0   all threads, without traces", "all");
        println!("    the process: {plain:.1} without traces, {traced:.1} with traces\n");
    }

    fn json(&self, mode: &str) -> String {
        let round = |us: f64| (us * 100.0).round() / 100.0;
        let columns = REQUESTS.iter().map(|(_, name)| *name).chain(["flow"]);
        let row = |(stage, cells, _): (String, Vec<Option<f64>>, _)| {
            let cells = columns.clone().zip(cells);
            let cells = cells.filter_map(|(name, us)| Some((name.to_owned(), round(us?).into())));
            (stage, cells.collect::<Map<_, _>>().into())
        };
        json!({
            "case": format!("server_stages_{mode}"),
            "stages_us": self.rows().into_iter().map(row).collect::<Map<_, _>>(),
            "cpu_us_per_flow": round(self.plain.cpu_us()),
            "cpu_us_per_flow_traced": round(self.traced.cpu_us()),
        })
        .to_string()
    }
}
