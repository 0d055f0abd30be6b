//! The figures of one server under load.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::floor::Commit;
use super::flow::Profile;

/// The measured values, summed over the rounds.
pub(super) struct Row {
    profile: Profile,
    connections: usize,
    pub(super) flows: usize,
    pub(super) wall: Duration,
    pub(super) cpu: Duration,
    /// The same by the purpose of the threads.
    pub(super) threads: BTreeMap<String, Duration>,
    pub(super) latencies: Vec<Duration>,
    /// `None` if the server does not count them.
    pub(super) commits: Option<f64>,
    pub(super) rss_kib: u64,
    over: Option<Over>,
}

/// CPU per flow over that of each floor.
#[derive(Clone, Copy)]
struct Over {
    each: Option<f64>,
    group: Option<f64>,
}

/// Compares gateways on PostgreSQL with their floors in these rows.
pub(super) fn compare_shared(rows: &mut [Row]) {
    let is_gateway = |profile| matches!(profile, Profile::Shared(_));
    compare_with(rows, Profile::SharedFloor, is_gateway);
}

/// Compares the gateway with the floors of its profile in these rows.
pub(super) fn compare(rows: &mut [Row]) {
    compare_with(rows, Profile::Floor, |profile| profile == Profile::Inline);
    compare_with(rows, Profile::JarFloor, |profile| profile == Profile::Jar);
    compare_with(rows, Profile::CreateFloor, |profile| profile == Profile::Create);
}

fn compare_with(
    rows: &mut [Row],
    floor: fn(Commit) -> Profile,
    is_compared: impl Fn(Profile) -> bool,
) {
    let cpu = |commit| rows.iter().find(|row| row.profile == floor(commit)).map(Row::cpu_us);
    let (each, group) = (cpu(Commit::Each), cpu(Commit::Group));
    for row in rows.iter_mut().filter(|row| is_compared(row.profile)) {
        let over = |floor: Option<f64>| floor.map(|floor| row.cpu_us() / floor);
        row.over = Some(Over { each: over(each), group: over(group) });
    }
}

impl Row {
    pub(super) const HEADER: &str = "row                      flows  conns  us CPU/flow    x each   \
        x group   flows/s   p99 ms  sessions/commit  RSS MiB";

    pub(super) const fn new(profile: Profile, connections: usize) -> Self {
        Self {
            profile,
            connections,
            flows: 0,
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
            threads: BTreeMap::new(),
            latencies: Vec::new(),
            commits: None,
            rss_kib: 0,
            over: None,
        }
    }

    pub(super) fn json(&self) -> Value {
        let round = |value: f64| (value * 100.0).round() / 100.0;
        let mut row = json!({
            "case": self.profile.case(),
            "flows": self.flows,
            "connections": self.connections,
            "cpu_us_per_flow": round(self.cpu_us()),
            "cpu_us_per_flow_by_thread": self.by_thread().into_iter()
                .map(|(name, us)| (name.to_owned(), round(us).into())).collect::<Map<_, _>>(),
            "flows_per_second": round(self.per_second()),
            "p99_ms": round(self.p99_ms()),
            "sessions_per_commit": self.sessions_per_commit().map(round),
            "rss_mib": round(self.rss_mib()),
        });
        if let (Some(over), Some(row)) = (self.over, row.as_object_mut()) {
            for (name, ratio) in [("ratio_each", over.each), ("ratio_group", over.group)] {
                row.extend(ratio.map(|ratio| (name.to_owned(), round(ratio).into())));
            }
        }
        row
    }

    pub(super) fn text(&self) -> String {
        let or_dash = |value: Option<f64>, digits: usize| {
            value.map_or("-".into(), |value| format!("{value:.digits$}"))
        };
        format!(
            "{:<20} {:>9} {:>6} {:>12.1} {:>9} {:>9} {:>9.0} {:>8.1} {:>16} {:>8.1}",
            self.name(),
            self.flows,
            self.connections,
            self.cpu_us(),
            or_dash(self.over.and_then(|over| over.each), 2),
            or_dash(self.over.and_then(|over| over.group), 2),
            self.per_second(),
            self.p99_ms(),
            or_dash(self.sessions_per_commit(), 1),
            self.rss_mib()
        )
    }

    pub(super) const fn profile(&self) -> Profile {
        self.profile
    }

    pub(super) const fn connections(&self) -> usize {
        self.connections
    }

    fn name(&self) -> String {
        match self.profile {
            Profile::Floor(Commit::Each) => "floor, commit each".into(),
            Profile::Floor(Commit::Group) => "floor, group commit".into(),
            Profile::JarFloor(Commit::Each) => "jar floor, each".into(),
            Profile::JarFloor(Commit::Group) => "jar floor, group".into(),
            Profile::CreateFloor(Commit::Each) => "create floor, each".into(),
            Profile::CreateFloor(Commit::Group) => "create floor, group".into(),
            Profile::Inline => "inline".into(),
            Profile::Jar => "jar".into(),
            Profile::Create => "create alone".into(),
            Profile::SharedFloor(Commit::Each) => "PostgreSQL, each".into(),
            Profile::SharedFloor(Commit::Group) => "PostgreSQL, group".into(),
            Profile::Shared(1) => "PostgreSQL, 1 node".into(),
            Profile::Shared(nodes) => format!("PostgreSQL, {nodes} nodes"),
        }
    }

    /// The time of a gateway by kind of thread.
    pub(super) fn text_of_threads(&self) -> Option<String> {
        let is_floor = self.profile.is_floor();
        let all: Vec<_> =
            self.by_thread().iter().map(|(name, us)| format!("{name} {us:.1}")).collect();
        (!is_floor).then(|| format!("    us of {}: {}", self.name(), all.join(", ")))
    }

    /// Microseconds per flow, largest first.
    pub(super) fn by_thread(&self) -> Vec<(&str, f64)> {
        let per_flow = |used: &Duration| used.as_secs_f64() * 1e6 / count(self.flows);
        let mut all: Vec<_> =
            self.threads.iter().map(|(name, used)| (&**name, per_flow(used))).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    pub(super) fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / count(self.flows)
    }

    pub(super) fn per_second(&self) -> f64 {
        count(self.flows) / self.wall.as_secs_f64()
    }

    fn p99_ms(&self) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort();
        let at = sorted.len().saturating_mul(99) / 100;
        sorted.get(at).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
    }

    /// A session is written twice, at creation and at settlement. Creation alone writes it once.
    pub(super) fn sessions_per_commit(&self) -> Option<f64> {
        self.commits.map(|commits| count(self.flows) / commits)
    }

    fn rss_mib(&self) -> f64 {
        f64::from(u32::try_from(self.rss_kib).unwrap_or(u32::MAX)) / 1024.0
    }
}

pub(super) fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}
