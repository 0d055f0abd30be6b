//! What a stranger's bytes cost. For every parser, and for every route that needs no key, the worst
//! inputs that are known are made at a quarter, a half and the whole of the size that is taken. Of
//! each it must hold: twice the bytes cost at most 2.3 times as much, and never more than three times
//! what a good input of the same size costs. Costs are CPU time, so that other load does not count,
//! and good inputs are measured in the same run, so that the machine does not either.
//!
//! A new parser is one more row: see [`Row`].

mod encoded;
mod meter;
mod process;
mod routes;
mod rows;

use std::fmt::Write as _;
use std::time::Duration;

use self::meter::{Cost, measure};

/// Twice the bytes, at most so many times the cost.
const GROWTH: f64 = 2.3;
/// At most so many times the cost of a good input.
const RATIO: f64 = 3.0;
/// What costs less is not told apart: a call, an allocation, a look at the clock.
const NOISE_NS: f64 = 30_000.0;
/// A cost that seems too high is measured again: a neighbour may have emptied the caches.
const ATTEMPTS: usize = 4;

/// A neighbour keeps on for a while: longer before each attempt.
fn pause(attempt: usize) {
    std::thread::sleep(Duration::from_millis(100) * attempt as u32);
}

/// So many bytes more or less are of no account: what stands around an input.
const SMALL: usize = 4 * 1024;

/// Makes an input of about so many bytes.
type Generator = Box<dyn Fn(usize) -> Vec<u8>>;

/// Has a parser read an input.
type Reading = Box<dyn FnMut(&[u8])>;

/// One parser.
struct Row {
    /// As in messages.
    name: &'static str,
    /// The largest size that it takes, or that says enough.
    full: usize,
    read: Reading,
    /// A good input.
    valid: Generator,
    /// The worst ones.
    worst: Vec<(&'static str, Generator)>,
}

/// What an input cost at a quarter, a half and the whole of the size.
struct Costs([Cost; 3]);

impl Costs {
    /// At each size what is less.
    fn take_lesser(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            if other.cpu_ns < own.cpu_ns {
                *own = *other;
            }
        }
    }
}

impl Row {
    fn sizes(&self) -> [usize; 3] {
        [self.full / 4, self.full / 2, self.full]
    }

    fn costs(&mut self, inputs: &[Vec<u8>; 3]) -> Costs {
        let read = &mut self.read;
        Costs(inputs.each_ref().map(|input| measure(|| read(input))))
    }

    /// What is wrong with it; each line is one input.
    fn check(&mut self, table: &mut String) -> Vec<String> {
        let sizes = self.sizes();
        let valid = sizes.map(&self.valid);
        let mut baseline = self.costs(&valid);
        show(table, self.name, "good", &baseline, &baseline);
        let mut wrong = Vec::new();
        for (title, generate) in std::mem::take(&mut self.worst) {
            let inputs = sizes.map(&generate);
            wrong.extend(
                unfair(&inputs, &valid).map(|what| format!("{}, {title}: {what}", self.name)),
            );
            let mut costs = self.costs(&inputs);
            for attempt in 1..ATTEMPTS {
                if excess(&costs, &baseline).is_none() {
                    break;
                }
                pause(attempt);
                // The clock of a thread counts too much at times, and never too little.
                costs.take_lesser(&self.costs(&inputs));
                baseline.take_lesser(&self.costs(&valid));
            }
            show(table, self.name, title, &costs, &baseline);
            let found = excess(&costs, &baseline);
            wrong.extend(found.map(|what| format!("{}, {title}: {what}", self.name)));
        }
        wrong
    }
}

/// A good input is one of the same size: what is shorter costs less, and says nothing.
fn unfair(inputs: &[Vec<u8>; 3], valid: &[Vec<u8>; 3]) -> Option<String> {
    let mut pairs = inputs.iter().map(Vec::len).zip(valid.iter().map(Vec::len));
    let (bad, good) = pairs.find(|(bad, good)| bad * 9 / 10 > good + SMALL)?;
    Some(format!("it has {bad} bytes, and the good input has {good}"))
}

/// What the costs of an input are too high for.
fn excess(costs: &Costs, valid: &Costs) -> Option<String> {
    // What is far below a good input is at the mercy of caches.
    for (pair, good) in costs.0.windows(2).zip(&valid.0[1..]) {
        if let [half, whole] = pair
            && let Some(times) = whole.exceeds(half, GROWTH, good.cpu_ns / 10.0)
        {
            return Some(format!("twice the bytes cost {times:.1} times as much"));
        }
    }
    let parts = ["a quarter", "half", "the whole"];
    for ((cost, valid), part) in costs.0.iter().zip(&valid.0).zip(parts) {
        if let Some(times) = cost.exceeds(valid, RATIO, 0.0) {
            return Some(format!("at {part} of the size, {times:.1} times a good input"));
        }
    }
    None
}

fn show(table: &mut String, name: &str, title: &str, costs: &Costs, valid: &Costs) {
    let [quarter, half, whole] = costs.0.map(|cost| cost.cpu_ns / 1000.0);
    let times = costs.0[2].cpu_ns / valid.0[2].cpu_ns;
    let line =
        format!("{name:16} {title:48} {quarter:>8.0} {half:>8.0} {whole:>8.0} µs {times:>6.2}");
    eprintln!("{line}");
    let _ = writeln!(table, "{line}");
}

/// A debug build is slow where it is ours and fast in the C of the cryptographic library, which good
/// inputs keep busy: it says nothing about either bound. `IDGATE_COST` has it measured all the same.
fn is_measured() -> bool {
    let measured = !cfg!(debug_assertions) || std::env::var_os("IDGATE_COST").is_some();
    if !measured {
        eprintln!("skipped: costs are those of a release build (or set IDGATE_COST)");
    }
    measured
}

/// Checks every row, and shows what was measured.
fn check(rows: Vec<Row>) {
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for mut row in rows {
        wrong.extend(row.check(&mut table));
    }
    eprintln!("instructions: {}", meter::instructions());
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
}

#[test]
fn every_parser_is_linear_and_costs_at_most_three_times_a_good_input() {
    if is_measured() {
        check(rows::table());
    }
}

#[test]
fn every_open_route_is_linear_and_costs_at_most_three_times_a_good_request() {
    if is_measured() {
        routes::check();
    }
}

#[test]
fn the_harness_finds_what_is_quadratic_and_what_is_dear() {
    if !is_measured() {
        return;
    }
    fn row(read: fn(&[u8])) -> Row {
        Row {
            name: "sample",
            full: 4096,
            read: Box::new(read),
            valid: Box::new(|size| vec![0; size]),
            worst: vec![("ones", Box::new(|size| vec![1; size]))],
        }
    }
    fn work(bytes: &[u8], each: usize) {
        for byte in bytes {
            let sum = (0..each).fold(u64::from(*byte), |sum, n| sum.rotate_left(3) ^ n as u64);
            std::hint::black_box(sum);
        }
    }
    let wrong = |read: fn(&[u8])| row(read).check(&mut String::new()).join("");
    assert_eq!(wrong(|bytes| work(bytes, 100)), "");
    let dear = wrong(|bytes| work(bytes, if bytes.first() == Some(&0) { 100 } else { 2000 }));
    assert!(dear.contains("times a good input"), "{dear}");
    let quadratic = |bytes: &[u8]| {
        work(bytes, if bytes.first() == Some(&0) { 400 } else { bytes.len() / 8 });
    };
    let quadratic = wrong(quadratic);
    assert!(quadratic.contains("twice the bytes"), "{quadratic}");
}
