//! Interleaved windows of CPU time, and allocations of one run.

use cpu_time::ThreadTime;
use stats_alloc::Region;

use crate::ALLOCATOR;

/// A case to run in two ways: with idgate, and with the floor.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) backend: &'static str,
    pub(crate) idgate: Box<dyn Fn()>,
    pub(crate) floor: Box<dyn Fn()>,
}

/// One measured case.
pub(crate) struct Row {
    pub(crate) case: String,
    pub(crate) backend: &'static str,
    pub(crate) idgate_us: f64,
    floor_us: f64,
    allocs: usize,
    bytes: usize,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.idgate_us / self.floor_us
    }

    pub(crate) fn json(&self) -> String {
        let round = |value: f64| (value * 1000.0).round() / 1000.0;
        serde_json::json!({
            "case": self.case,
            "backend": self.backend,
            "idgate_us": round(self.idgate_us),
            "floor_us": round(self.floor_us),
            "ratio": round(self.ratio()),
            "allocs": self.allocs,
            "bytes": self.bytes,
        })
        .to_string()
    }

    pub(crate) fn text(&self) -> String {
        format!(
            "{:<34} {:>11} {:>10.1} {:>10.1} {:>6.3} {:>7} {:>9}",
            self.case,
            self.backend,
            self.idgate_us,
            self.floor_us,
            self.ratio(),
            self.allocs,
            self.bytes
        )
    }
}

pub(crate) fn measure(case: &Case, windows: usize) -> Row {
    let (allocs, bytes) = allocations(&case.idgate);
    let runs = calibrate(&case.idgate);
    let mut idgate = Vec::with_capacity(windows);
    let mut floor = Vec::with_capacity(windows);
    for _ in 0..windows {
        idgate.push(window(&case.idgate, runs));
        floor.push(window(&case.floor, runs));
    }
    Row {
        case: case.name.clone(),
        backend: case.backend,
        idgate_us: median(idgate),
        floor_us: median(floor),
        allocs,
        bytes,
    }
}

fn allocations(run: &dyn Fn()) -> (usize, usize) {
    run();
    let region = Region::new(ALLOCATOR);
    run();
    let change = region.change();
    (change.allocations + change.reallocations, change.bytes_allocated)
}

/// How many runs fill a window of 60 ms.
fn calibrate(run: &dyn Fn()) -> u32 {
    let start = ThreadTime::now();
    let mut runs = 0u32;
    while start.elapsed().as_millis() < 30 {
        run();
        runs += 1;
    }
    (runs * 2).max(3)
}

fn window(run: &dyn Fn(), runs: u32) -> f64 {
    let start = ThreadTime::now();
    for _ in 0..runs {
        run();
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(runs)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
