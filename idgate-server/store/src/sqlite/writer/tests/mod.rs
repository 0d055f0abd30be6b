//! Groups, failures and the shutdown of the writing thread.

use std::sync::mpsc;

use crate::audit_chain::{AuditEvent, AuditStatus};
use crate::env::LeaseClock;
use crate::environment::Environment;
use crate::quotas::Quotas;
use crate::seal::InstanceKey;
use crate::sqlite::writer::*;
use crate::sqlite::{files, schema};

fn key() -> InstanceKey {
    InstanceKey::parse("BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=").unwrap()
}

fn env() -> (Arc<Env>, FirstKey) {
    let clock = (LeaseClock::Callers, String::new());
    let env = Env::new(&key(), Environment::Development, Quotas::default(), clock).unwrap();
    let first = FirstKey::new(None, &env.sealer, &env.audit);
    (Arc::new(env), first)
}

fn writer(dir: &tempfile::TempDir) -> Writer {
    let main = schema::open_main(dir.path(), &key()).unwrap();
    let claims = files::open_claims(dir.path()).unwrap();
    let (env, first) = env();
    Writer::start(main, claims, first, &env, Arc::new(Disk::of(dir.path()))).unwrap()
}

/// Blocks the thread until the sender is dropped, so that the following jobs form one group.
fn hold(writer: &Writer) -> mpsc::Sender<()> {
    let (release, held) = mpsc::channel::<()>();
    let (begun, began) = mpsc::channel();
    drop(writer.submit(move |_| {
        begun.send(()).unwrap();
        let _ = held.recv();
        Ok(())
    }));
    began.recv().unwrap();
    release
}

fn insert_result(batch: &mut Batch<'_>) -> Result<(), StoreError> {
    batch.claims()?.execute("INSERT INTO results VALUES ('ses_1', 1, x'00')", [])?;
    Ok(())
}

fn results(dir: &tempfile::TempDir) -> i64 {
    let claims = files::open_claims(dir.path()).unwrap();
    claims.query_row("SELECT count(*) FROM results", [], |row| row.get(0)).unwrap()
}

fn bump(batch: &mut Batch<'_>) -> Result<(), StoreError> {
    batch.main.execute("UPDATE trust_version SET version = version + 1", [])?;
    Ok(())
}

fn version(dir: &tempfile::TempDir) -> i64 {
    let main = schema::open_main(dir.path(), &key()).unwrap();
    main.query_row("SELECT version FROM trust_version", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn queued_jobs_are_committed_in_groups_of_64() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(&dir);
    let release = hold(&writer);
    let answers: Vec<_> = (0..128).map(|_| writer.submit(bump)).collect();
    drop(release);
    for answer in answers {
        answer.await.unwrap();
    }
    assert_eq!(writer.env.telemetry.commits(), 2, "one for each group: the first job only looked");
    assert_eq!(version(&dir), 129);
}

#[tokio::test]
async fn a_panicking_job_fails_alone_and_the_thread_continues() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(&dir);
    let before = version(&dir);
    let release = hold(&writer);
    let good = [writer.submit(bump), writer.submit(bump)];
    let bad = writer.submit::<()>(|batch| {
        bump(batch)?;
        panic!("on purpose")
    });
    drop(release);
    assert!(matches!(bad.await, Err(StoreError::Failed(_))));
    for answer in good {
        answer.await.unwrap();
    }
    writer.submit(bump).await.unwrap();
    assert_eq!(version(&dir), before + 3);
}

#[tokio::test]
async fn a_failing_job_is_undone_and_does_not_affect_its_group() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(&dir);
    let release = hold(&writer);
    let good = writer.submit(bump);
    let bad = writer.submit(|batch| {
        bump(batch)?;
        Err::<(), _>(StoreError::Failed("no".into()))
    });
    let also_good = writer.submit(bump);
    drop(release);
    good.await.unwrap();
    assert!(bad.await.is_err());
    also_good.await.unwrap();
    assert_eq!(version(&dir), 3);
}

#[tokio::test]
async fn jobs_next_to_a_failing_job_are_stored_and_counted_once() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(&dir);
    let release = hold(&writer);
    let audited = |text: Option<&'static str>| {
        writer.submit(move |batch| {
            let now = idgate_core::UnixMillis(1);
            batch.audit("cli_1", AuditEvent::of_client(AuditStatus::ApiKeyCreated, now))?;
            bump(batch)?;
            text.map_or(Ok(()), |text| Err(StoreError::Failed(text.into())))
        })
    };
    let (first, failing, last) = (audited(None), audited(Some("no")), audited(None));
    drop(release);
    first.await.unwrap();
    assert!(matches!(failing.await, Err(StoreError::Failed(text)) if text == "no"));
    last.await.unwrap();
    drop(writer);
    assert_eq!(version(&dir), 3);
    let main = schema::open_main(dir.path(), &key()).unwrap();
    let count = |sql: &str| main.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM audit_entries"), 2);
    assert_eq!(count("SELECT seq FROM audit_heads"), 2);
    assert_eq!(count("SELECT entries FROM audit_total"), 2);
}

#[tokio::test]
async fn an_altered_total_stops_only_audited_changes() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(&dir);
    let alter = "INSERT OR REPLACE INTO audit_total VALUES (1, 7, zeroblob(32))";
    schema::open_main(dir.path(), &key()).unwrap().execute(alter, []).unwrap();
    let release = hold(&writer);
    let plain = writer.submit(bump);
    let audited = writer.submit(|batch| {
        let now = idgate_core::UnixMillis(1);
        batch.audit("cli_1", AuditEvent::of_client(AuditStatus::ApiKeyCreated, now))?;
        bump(batch)
    });
    drop(release);
    plain.await.unwrap();
    let Err(StoreError::Failed(text)) = audited.await else { panic!("stored") };
    assert!(text.contains("idgate audit verify"), "{text}");
    assert_eq!(version(&dir), 2);
}

#[tokio::test]
async fn when_the_main_commit_fails_every_job_fails_and_no_result_stays() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(&dir);
    let release = hold(&writer);
    let good = writer.submit(bump);
    let result = writer.submit(insert_result);
    let fatal = writer.submit(|batch| {
        batch.main.execute_batch(
            "PRAGMA defer_foreign_keys = ON;
             INSERT INTO webhook_endpoints (client_id, livemode, url, host, created_at, secret)
                 VALUES ('cli_none', 1, '', '', 0, x'00');",
        )?;
        Ok(())
    });
    drop(release);
    assert!(good.await.is_err() && result.await.is_err() && fatal.await.is_err());
    writer.submit(bump).await.unwrap();
    assert_eq!((version(&dir), results(&dir)), (2, 0));
}

#[tokio::test]
async fn if_the_results_cannot_be_committed_nothing_is() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(&dir);
    let release = hold(&writer);
    let good = writer.submit(bump);
    let fatal = writer.submit(|batch| {
        insert_result(batch)?;
        // Ends the transaction behind the writer's back: its COMMIT must fail.
        batch.claims()?.execute_batch("ROLLBACK")?;
        Ok(())
    });
    drop(release);
    assert!(good.await.is_err() && fatal.await.is_err());
    assert_eq!((version(&dir), results(&dir)), (1, 0));
}

#[tokio::test]
async fn a_client_can_only_fill_its_own_share_of_the_queue() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(&dir);
    let release = hold(&writer);
    let of = |client: usize| LaneKey::of(client);
    let mut answers: Vec<_> = (0..QUEUE.per_lane).map(|_| writer.submit_for(of(1), bump)).collect();
    // Its own share is full, unlike those of another client and of the gateway.
    assert!(matches!(writer.submit_for(of(1), bump).await, Err(StoreError::Busy)));
    for n in QUEUE.per_lane..QUEUE.in_all {
        answers.push(writer.submit_for(of(2 + n % 10), bump));
    }
    assert!(matches!(writer.submit_for(of(99), bump).await, Err(StoreError::Busy)));
    answers.push(writer.submit(bump));
    drop(release);
    for answer in answers {
        answer.await.unwrap();
    }
}

fn writing(dir: &tempfile::TempDir, main: Connection) -> Writing {
    let claims = files::open_claims(dir.path()).unwrap();
    let (env, first) = env();
    Writing::new(main, claims, first, env, Arc::new(Disk::of(dir.path())))
}

/// The outcome of a group of one job, for its caller and for the jobs behind it.
fn run_one(writing: &mut Writing) -> (Result<(), StoreError>, Result<(), StoreError>) {
    let (reply, mut answer) = oneshot::channel();
    let behind = writing.run_group(vec![Box::new(Task::new(bump, false, reply))]);
    (answer.try_recv().unwrap(), behind)
}

#[test]
fn a_transaction_left_open_is_rolled_back_before_the_next_group() {
    let dir = tempfile::tempdir().unwrap();
    let mut writing = writing(&dir, schema::open_main(dir.path(), &key()).unwrap());
    writing.main.execute_batch("BEGIN; UPDATE trust_version SET version = 99").unwrap();
    writing.claims.execute_batch("BEGIN; INSERT INTO results VALUES ('ses_1', 1, x'00')").unwrap();
    let (answer, behind) = run_one(&mut writing);
    assert!(answer.is_ok() && behind.is_ok());
    drop(writing);
    assert_eq!((version(&dir), results(&dir)), (2, 0));
}

#[test]
fn only_a_locked_database_fails_the_jobs_behind_a_group() {
    let dir = tempfile::tempdir().unwrap();
    let mut held = writing(&dir, schema::open_main(dir.path(), &key()).unwrap());
    held.main.busy_timeout(Duration::ZERO).unwrap();
    let other = Connection::open(files::main_path(dir.path())).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (answer, behind) = run_one(&mut held);
    assert!(matches!(answer, Err(StoreError::Unavailable(_))));
    assert!(matches!(behind, Err(StoreError::Unavailable(_))));
    let garbage = dir.path().join("garbage");
    std::fs::write(&garbage, [0x2a; 8192]).unwrap();
    let mut damaged = writing(&dir, Connection::open(garbage).unwrap());
    let (answer, behind) = run_one(&mut damaged);
    assert!(matches!(answer, Err(StoreError::Damaged(_))) && behind.is_ok());
}

#[test]
fn queued_jobs_are_written_before_the_writer_ends() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(&dir);
    for _ in 0..10 {
        drop(writer.submit(bump));
    }
    drop(writer);
    assert_eq!(version(&dir), 11);
}
