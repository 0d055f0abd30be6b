//! CPU time of a running server, as the kernel counts it thread by thread.

use std::fs;
use std::time::Duration;

use super::meter::Cost;
use super::routes::Generator;
use crate::http::{Http, Request};

/// Of which the cheapest counts.
const ROUNDS: usize = 4;
/// So often the server is looked at before it is taken to be quiet.
const LOOKS: usize = 100;

/// Sends, and looks at what it cost.
pub(super) struct Meter {
    pub(super) pid: u32,
    pub(super) http: Http,
}

impl Meter {
    /// What one request costs the server.
    pub(super) fn measure(
        &mut self,
        together: usize,
        size: usize,
        generate: &mut Generator,
    ) -> Cost {
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let requests: Vec<Request> = (0..together).map(|_| generate(size)).collect();
            let before = self.settled_ns();
            for request in &requests {
                // Some are answered before they are read whole, and the connection ends.
                if let Ok(response) = self.http.try_send(request) {
                    let status = response.status;
                    assert!(status < 500 && status != 429, "{status} was not to be measured");
                }
            }
            least = least.min((self.settled_ns() - before) / together as f64);
        }
        Cost { cpu_ns: least.max(1000.0), instructions: None }
    }

    /// CPU time of all threads, once what was begun is done: each sleeps, and none has run since the
    /// look before.
    fn settled_ns(&self) -> f64 {
        let mut before = f64::NAN;
        for _ in 0..LOOKS {
            let (spent, is_quiet) = self.look();
            if is_quiet && spent == before {
                return spent;
            }
            before = spent;
            std::thread::sleep(Duration::from_millis(2));
        }
        before
    }

    /// CPU time of all threads so far, and whether each sleeps.
    fn look(&self) -> (f64, bool) {
        let (mut spent, mut is_quiet) = (0.0, true);
        for task in fs::read_dir(format!("/proc/{}/task", self.pid)).unwrap().flatten() {
            let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let (times, stat) = (read("schedstat"), read("stat"));
            spent += times.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0);
            is_quiet &= stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('S'));
        }
        (spent, is_quiet)
    }
}
