//! The cost of hostile bytes. For every parser, the worst known inputs are built at a quarter, a
//! half and all of the accepted size. Two rules must hold: doubling the bytes costs at most 2.3
//! times as much, and an input costs at most three times as much as a good input of the same size.
//! Costs are counted, not timed, so every machine gives the same figures under any load. The
//! server's own tests check the routes without a key in the same way.
//!
//! A new parser is one more row: see [`Row`].

mod count;
mod encoded;
mod instructions;
mod rows;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use idgate_core::shell::json;
use idgate_testkit::costs::Costs;

use self::count::count;

/// Smaller differences in cost are ignored: they are a few calls and allocations. It is half the
/// cost of one signature.
const NOISE: u64 = 30_000;

/// Differences in size below this are ignored: they come from the bytes around an input.
const SMALL: usize = 4 * 1024;

/// Builds an input of about this many bytes.
type Generator = Box<dyn Fn(usize) -> Vec<u8>>;

/// Makes a parser read an input.
type Reading = Box<dyn FnMut(&[u8])>;

/// One parser.
struct Row {
    /// The name in messages.
    name: &'static str,
    /// The largest size that the parser accepts, or one that is large enough for the test.
    full: usize,
    read: Reading,
    /// A good input.
    valid: Generator,
    /// The worst known inputs.
    worst: Vec<(&'static str, Generator)>,
}

impl Row {
    fn costs(&mut self, inputs: &[Vec<u8>]) -> Costs {
        let read = &mut self.read;
        Costs(inputs.iter().map(|input| count(|| read(input))).collect())
    }

    /// The costs of its good inputs. They are read once before, so that one-time work of the first
    /// call is not counted.
    fn baseline(&mut self, valid: &[Vec<u8>]) -> Costs {
        self.costs(valid);
        self.costs(valid)
    }

    /// The faults of the row at these fractions of its size.
    fn check(mut self, parts: &[usize]) -> Found {
        let made = |make: &Generator| -> Vec<_> {
            parts.iter().map(|part| make(self.full / part)).collect()
        };
        let valid = made(&self.valid);
        let worst = std::mem::take(&mut self.worst);
        let worst: Vec<_> = worst.iter().map(|(title, make)| (*title, made(make))).collect();
        let baseline = self.baseline(&valid);
        let mut found = Found::default();
        found.show(&baseline.line(self.name, "good", &baseline));
        for (title, inputs) in worst {
            let costs = self.costs(&inputs);
            found.show(&costs.line(self.name, title, &baseline));
            let what = [unfair(&inputs, &valid), costs.excess(&baseline, NOISE)];
            found.is_wrong(self.name, title, what.into_iter().flatten());
        }
        found
    }
}

/// The findings about a row, or about several.
#[derive(Default)]
struct Found {
    /// Each line is one input.
    wrong: Vec<String>,
    table: String,
}

impl Found {
    fn show(&mut self, line: &str) {
        eprintln!("{line}");
        self.table.extend([line, "\n"]);
    }

    fn is_wrong(&mut self, row: &str, title: &str, what: impl IntoIterator<Item = String>) {
        self.wrong.extend(what.into_iter().map(|what| format!("{row}, {title}: {what}")));
    }
}

/// A good input must have the same size: shorter ones cost less and prove nothing.
fn unfair(inputs: &[Vec<u8>], valid: &[Vec<u8>]) -> Option<String> {
    let mut pairs = inputs.iter().map(Vec::len).zip(valid.iter().map(Vec::len));
    let (bad, good) = pairs.find(|(bad, good)| bad * 9 / 10 > good + SMALL)?;
    Some(format!("it has {bad} bytes, and the good input has {good}"))
}

/// Checks every row by its number, on one thread per processor. Each thread counts its own work.
fn check_all(check: impl Fn(usize) -> Found + Sync) {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Found::default()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= rows::TABLE.len() {
                break;
            }
            let found = check(at);
            let mut all = all.lock().unwrap();
            all.wrong.extend(found.wrong);
            all.table += &found.table;
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().unwrap().get() {
            scope.spawn(work);
        }
    });
    let Found { wrong, table } = all.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
}

#[test]
fn every_parser_is_linear_and_costs_at_most_three_times_a_good_input() {
    check_all(|at| rows::TABLE[at]().check(&[4, 2, 1]));
}

#[test]
fn counting_a_row_twice_gives_the_same_figures() {
    for row in rows::TABLE {
        let Row { name, full, mut read, valid, worst } = row();
        let some = worst.iter().step_by(5).map(|(title, make)| (*title, make(full / 4)));
        let inputs: Vec<_> = std::iter::once(("good", valid(full / 4))).chain(some).collect();
        read(&inputs[0].1);
        let mut all = || -> Vec<_> {
            let counted = inputs.iter().map(|(title, input)| (*title, count(|| read(input))));
            counted.collect()
        };
        assert_eq!(all(), all(), "{name}");
    }
}

/// A reader's loop that allocates nothing.
fn steps(count: usize) {
    for _ in 0..count / 64 {
        // Each white-space character is a step of the JSON reader.
        assert!(json::Tape::default().parse(&[b' '; 64]).is_err());
    }
}

/// A loop that only allocates.
fn allocations(count: usize) {
    for _ in 0..count / 32 {
        drop(std::hint::black_box(vec![0_u8; 16]));
    }
}

#[test]
fn the_harness_detects_quadratic_and_expensive_parsers() {
    fn row(read: Reading) -> Row {
        Row {
            name: "sample",
            full: 8192,
            read,
            valid: Box::new(|size| vec![0; size]),
            worst: vec![("ones", Box::new(|size| vec![1; size]))],
        }
    }
    let wrong = |read| row(read).check(&[4, 2, 1]).wrong.join("");
    for work in [steps, allocations] {
        let of = |times: fn(&[u8]) -> usize| -> Reading {
            Box::new(move |bytes| work(bytes.len() * times(bytes)))
        };
        assert_eq!(wrong(of(|_| 50)), "");
        let dear = wrong(of(|bytes| if bytes[0] == 0 { 50 } else { 200 }));
        assert!(dear.contains("times a good input"), "{dear}");
        let quadratic = wrong(of(|bytes| if bytes[0] == 0 { 400 } else { bytes.len() / 8 }));
        assert!(quadratic.contains("twice the bytes"), "{quadratic}");
    }
}
