//! The statements of a request, from the database server's log: each use case is one transaction or
//! one statement, and none sends more than before.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use super::nodes::Nodes;
use crate::at_rest::are_at_rest;
use crate::http::Request;
use crate::server::{Installation, Server, eventually};
use crate::tenant::{Created, Tenant, form, request_for, sample_wallet};

/// Statements of one connection between BEGIN and COMMIT, or one alone.
type Work = Vec<String>;

struct Logged {
    // Dropped first.
    server: Server,
    _installation: Installation,
    nodes: Nodes,
    /// Ids whose statements are counted: a node's own work names none of them.
    names: Vec<String>,
}

impl Logged {
    fn start() -> Option<Self> {
        let mut nodes = Nodes::start(1)?;
        for sql in [
            "ALTER SYSTEM SET log_line_prefix = '%p|'",
            "ALTER SYSTEM SET log_statement = 'all'",
            "SELECT pg_reload_conf()",
        ] {
            nodes.cluster.run(&nodes.url(), sql);
        }
        // Without a proxy, and without other nodes.
        nodes.nodes[0].server.take().unwrap().stop();
        let installation = Installation::on(&nodes.url()).on_machine(&nodes.machine);
        let server = installation.serve();
        nodes.machine.freeze();
        let names = vec![nodes.client.client_id.clone()];
        Some(Self { server, _installation: installation, nodes, names })
    }

    /// Waits until neither the gateway nor the database is doing anything.
    fn rest(&self) {
        self.server.rest();
        eventually("nothing is under way", || are_at_rest(&self.processes()));
    }

    /// The processes of the gateway and of the database now. Those of the database come and go: each
    /// autovacuum has its own.
    fn processes(&self) -> Vec<u32> {
        let of_database = self.nodes.cluster.processes().into_iter();
        of_database.map(|pid| pid.parse().unwrap()).chain([self.server.pid()]).collect()
    }

    /// Lets this time pass, and waits until everything that became due is done.
    fn pass(&self, time: Duration) {
        self.rest();
        self.server.pass(&self.nodes.machine, time);
        self.rest();
    }

    fn log(&self) -> String {
        fs::read_to_string(self.nodes.cluster.dir().join("log")).unwrap()
    }

    /// The statements that `ask` makes the gateway send.
    fn asked<T>(&mut self, ask: impl FnOnce(&mut Tenant) -> T) -> (T, Vec<Work>) {
        let api_key = self.nodes.client.api_key.clone();
        let mut tenant = Tenant { http: self.server.http(), api_key };
        self.rest();
        let before = self.log().len();
        let answer = ask(&mut tenant);
        // Including statements that no answer waits for.
        self.pass(Duration::from_millis(300));
        let log = self.log();
        (answer, works(log.get(before..).unwrap_or_default(), &self.names))
    }
}

/// Groups the lines of a log by connection and transaction.
fn works(log: &str, names: &[String]) -> Vec<Work> {
    let (mut open, mut done) = (BTreeMap::<&str, (Work, bool)>::new(), Vec::new());
    for line in log.lines() {
        let Some((pid, rest)) = line.split_once('|') else { continue };
        let (work, is_named) = open.entry(pid).or_default();
        if let Some(parameters) = rest.strip_prefix("DETAIL:  ") {
            *is_named |= names.iter().any(|name| parameters.contains(name.as_str()));
            if work.first().is_some_and(|first| begins(first)) {
                continue;
            }
        } else {
            let Some((_, sql)) = rest.strip_prefix("LOG:  ").and_then(|it| it.split_once(": "))
            else {
                continue;
            };
            // The parameters of a single statement follow it.
            if work.first().is_some_and(|first| !begins(first)) {
                finish(open.remove(pid), &mut done);
            }
            open.entry(pid).or_default().0.push(sql.to_owned());
            if !["COMMIT", "ROLLBACK"].contains(&sql) {
                continue;
            }
        }
        finish(open.remove(pid), &mut done);
    }
    open.into_values().for_each(|work| finish(Some(work), &mut done));
    done
}

fn finish(work: Option<(Work, bool)>, done: &mut Vec<Work>) {
    done.extend(work.filter(|(_, is_named)| *is_named).map(|(work, _)| work));
}

fn begins(sql: &str) -> bool {
    ["BEGIN", "START TRANSACTION"].iter().any(|word| sql.starts_with(word))
}

/// How many statements each transaction has apart from BEGIN and COMMIT, and how many single
/// statements there are.
fn count(works: &[Work]) -> (Vec<usize>, usize) {
    let (whole, alone): (Vec<&Work>, Vec<&Work>) = works.iter().partition(|work| begins(&work[0]));
    for work in &whole {
        assert_eq!(work.last().map(String::as_str), Some("COMMIT"), "{work:#?}");
    }
    (whole.iter().map(|work| work.len() - 2).collect(), alone.len())
}

#[test]
fn each_use_case_sends_the_expected_number_of_statements() {
    let Some(mut logged) = Logged::start() else { return };
    let request = request_for(&["given_name"]);
    // Statements are prepared and keys cached from the first request on.
    let (first, _) = logged.asked(|tenant| tenant.verified(&request, &sample_wallet()).id);
    logged.names.push(first);
    let (created, made) = logged.asked(|tenant| tenant.create(&request));
    expect("POST /v1/sessions", &made, (&[7], 0));
    logged.names.push(created.id.clone());
    let (_, read) = logged.asked(|tenant| tenant.read(&created.id));
    expect("GET /v1/sessions/{id}", &read, (&[], 1));
    let body = form(&sample_wallet(), &created);
    let (_, answered) =
        logged.asked(|tenant| tenant.post_answer(&created.id, &body).expect_status(200));
    expect("POST /v1/oid4vp/response/{id}", &answered, (&[9], 0));
    let (_, read) = logged.asked(|tenant| tenant.read(&created.id));
    expect("GET of a verified session", &read, (&[], 2));
    let (_, deleted) = logged.asked(|tenant| tenant.delete(&created.id).expect_status(204));
    expect("DELETE /v1/sessions/{id}", &deleted, (&[7], 0));
    let (made_once, made) = logged.asked(|tenant| once(tenant, &request));
    expect("POST under an Idempotency-Key", &made, (&[7], 1));
    logged.names.push(made_once.id);
    let (_, again) = logged.asked(|tenant| once(tenant, &request));
    expect("the same again", &again, (&[], 1));
}

/// Each notification wakes every node, so there is at least 20 ms between two of them.
#[test]
fn changes_in_quick_succession_are_announced_together() {
    const THREADS: usize = 4;
    // Fewer changes than fit into one notification.
    const EACH: usize = 5;
    let Some(logged) = Logged::start() else { return };
    let api_key = &logged.nodes.client.api_key;
    let (wallet, request) = (sample_wallet(), request_for(&["given_name"]));
    logged.pass(Duration::from_millis(25));
    let before = logged.log().len();
    let told = || logged.log()[before..].matches("SELECT pg_notify").count();
    for round in 1..=3 {
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let mut tenant =
                        Tenant { http: logged.server.http(), api_key: api_key.clone() };
                    for _ in 0..EACH {
                        tenant.verified(&request, &wallet);
                    }
                });
            }
        });
        // The first change is sent immediately; the others wait.
        logged.pass(Duration::from_millis(19));
        assert_eq!(told(), round);
        logged.pass(Duration::from_millis(2));
        assert_eq!(told(), round + 1);
    }
}

fn once(tenant: &mut Tenant, request: &serde_json::Value) -> Created {
    let post = Request::post("/v1/sessions").bearer(&tenant.api_key).json(request);
    let post = post.header("Idempotency-Key", "once");
    Created::of(tenant.http.send(&post).expect_status(201).json())
}

/// Expects transactions with these numbers of statements, and this number of single statements.
#[track_caller]
fn expect(what: &str, works: &[Work], (whole, alone): (&[usize], usize)) {
    let found = count(works);
    assert_eq!((&*found.0, found.1), (whole, alone), "{what}: {works:#?}");
}
