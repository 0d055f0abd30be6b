//! The sums of settled sessions equal a count of all of them.

use std::collections::BTreeMap;

use idgate_core::Status;

use super::*;
use crate::Outcomes;
use crate::conformance::metrics::assert_close;
use crate::metrics::Measured;

const HOUR: u64 = 3_600_000;
const CODES: [&str; 4] = ["nonce_mismatch", "wallet_error", "claim_missing", "credential_expired"];
const TYPES: [&[&str]; 4] = [
    &["vc+sd-jwt"],
    &["mso_mdoc:org.iso.18013.5.1.mDL"],
    &["mso_mdoc:eu.europa.ec.eudi.pid.1", "vc+sd-jwt"],
    &["mso_mdoc:org.iso.23220.photoid.1"],
];

/// A small generator (splitmix64): the same sessions in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    /// A session that settled up to 800 hours before `last`.
    fn session(&mut self, last: i64) -> Measured {
        let status =
            self.of(&[Status::Verified, Status::Verified, Status::Failed, Status::Expired]);
        let answered = status != Status::Expired;
        let latency = 10_u64.pow(u32::try_from(self.below(7)).unwrap());
        Measured {
            livemode: self.below(5) > 0,
            status,
            format: "mixed",
            error_code: match status {
                Status::Verified => None,
                Status::Expired => Some("session_expired"),
                _ => Some(self.of(&CODES)),
            },
            processing_us: answered.then(|| 150 + self.below(4000)),
            hour: last - i64::try_from(self.below(800)).unwrap(),
            latency_ms: answered.then(|| self.below(latency)),
            types: self.of(&TYPES).iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

/// The nearest rank.
fn percentile(mut values: Vec<u64>, percent: usize) -> Option<u64> {
    values.sort_unstable();
    values.get((values.len() * percent).div_ceil(100).max(1) - 1).copied()
}

#[tokio::test]
async fn sums_of_10_000_random_sessions_equal_a_count_and_percentiles_are_within_1_percent() {
    let fixture = Fixture::new();
    let last = i64::try_from(NOW.0 / HOUR).unwrap();
    let mut random = Random(7);
    let sessions: Vec<Measured> = (0..10_000).map(|_| random.session(last)).collect();
    for group in sessions.chunks(500) {
        let writes: Vec<_> = group
            .iter()
            .cloned()
            .map(|session| {
                fixture.store().sqlite().writer.submit(move |batch| {
                    batch.measure(session.clone());
                    Ok(())
                })
            })
            .collect();
        for write in writes {
            write.await.unwrap();
        }
    }
    for window in [1, 2, 24, 100, 719, 720] {
        let first = last - i64::try_from(window).unwrap();
        let counted: Vec<&Measured> =
            sessions.iter().filter(|s| s.livemode && s.hour >= first && s.hour <= last).collect();
        let summary = fixture.store().metrics_summary(window, NOW).wait().unwrap();
        let of = |status| counted.iter().filter(|s| s.status == status).count() as u64;
        let outcomes = Outcomes {
            verified: of(Status::Verified),
            failed: of(Status::Failed),
            expired: of(Status::Expired),
        };
        assert_eq!(summary.outcomes, outcomes, "{window} hours");
        assert_eq!(outcomes.total(), counted.len() as u64);
        let (mut types, mut codes) = (BTreeMap::new(), BTreeMap::new());
        for session in &counted {
            for name in &session.types {
                let sums: &mut Outcomes = types.entry(name.clone()).or_default();
                match session.status {
                    Status::Verified => sums.verified += 1,
                    Status::Failed => sums.failed += 1,
                    _ => sums.expired += 1,
                }
            }
            if let Some(code) = session.error_code {
                *codes.entry(code.to_owned()).or_insert(0_u64) += 1;
            }
        }
        assert_eq!(summary.by_credential_type, types);
        assert_eq!(summary.by_error_code, codes);
        for percent in [50, 95] {
            let latencies = counted.iter().filter_map(|s| s.latency_ms).collect();
            let exact = percentile(latencies, percent);
            assert_close(summary.latency.percentile(percent as u64), exact);
            let processing = counted.iter().filter_map(|s| s.processing_us).collect();
            let exact = percentile(processing, percent);
            assert_close(summary.processing.percentile(percent as u64), exact);
        }
    }
}

#[tokio::test]
async fn damaged_metrics_do_not_delay_settlements_and_fail_their_reader() {
    let fixture = Fixture::new();
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    main.execute_batch("ALTER TABLE metrics_types RENAME TO elsewhere").unwrap();
    let session = fixture.verified(&fixture.live, NOW, "{}").await;
    assert!(fixture.store().metrics_summary(24, NOW).wait().is_err());
    assert!(fixture.store().session(session.id()).wait().unwrap().unwrap().settled_at().is_some());
    main.execute_batch("ALTER TABLE elsewhere RENAME TO metrics_types").unwrap();
    assert_eq!(fixture.store().metrics_summary(24, NOW).wait().unwrap().outcomes.total(), 0);
    fixture.verified(&fixture.live, NOW, "{}").await;
    assert_eq!(fixture.store().metrics_summary(24, NOW).wait().unwrap().outcomes.total(), 1);
}

#[tokio::test]
async fn old_metric_hours_are_removed_and_types_are_bounded() {
    let fixture = Fixture::new();
    let mut random = Random(1);
    let mut add = async |hour: i64, name: String| {
        let session = Measured {
            livemode: true,
            status: Status::Verified,
            error_code: None,
            hour,
            types: vec![name],
            ..random.session(hour)
        };
        let write = fixture.store().sqlite().writer.submit(move |batch| {
            batch.measure(session.clone());
            Ok(())
        });
        write.await.unwrap();
    };
    for n in 0..1002 {
        add(1000, format!("mso_mdoc:{n}")).await;
    }
    add(1000, "mso_mdoc:7".into()).await;
    let at = |hour: u64| UnixMillis(hour * HOUR);
    let types = fixture.store().metrics_summary(1, at(1000)).wait().unwrap().by_credential_type;
    assert_eq!(types.len(), 1001);
    assert_eq!((types["other"].verified, types["mso_mdoc:7"].verified), (2, 2));
    add(1000 + 722, "vc+sd-jwt".into()).await;
    assert_eq!(fixture.store().metrics_summary(1, at(1000)).wait().unwrap().outcomes.total(), 1003);
    add(1000 + 723, "vc+sd-jwt".into()).await;
    let gone = fixture.store().metrics_summary(1, at(1000)).wait().unwrap();
    assert_eq!((gone.outcomes.total(), gone.by_credential_type.len()), (0, 0));
}

#[tokio::test]
async fn the_logs_of_both_files_are_measured() {
    let fixture = Fixture::new();
    fixture.verified(&fixture.live, NOW, "{}").await;
    assert!(fixture.store().gauges(NOW).wait().unwrap().wal_bytes > 0);
}
