//! Metrics for operators.

use std::collections::BTreeMap;

use super::*;

const HOUR: u64 = 3_600_000;

/// Within one percent.
pub(crate) fn assert_close(found: Option<u64>, exact: Option<u64>) {
    let (Some(found), Some(exact)) = (found, exact) else { return assert_eq!(found, exact) };
    assert!(found.abs_diff(exact) * 100 <= exact, "{found} for {exact}");
}

pub(super) async fn settled_live_sessions_are_counted_and_test_sessions_are_not<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.session(&fixture.live).await;
    fixture.verified(&fixture.test, NOW, "{}").await;
    assert_eq!(fixture.store().metrics_summary(720, NOW).wait().unwrap().outcomes.total(), 0);
    fixture.verified(&fixture.live, NOW.plus(250), "{}").await;
    let open = fixture.session(&fixture.live).await;
    let expired = open.expired(open.expires_at()).unwrap();
    fixture.store().commit(expired.clone(), None).await.unwrap();
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::LostRace);
    let summary = fixture.store().metrics_summary(1, NOW.plus(HOUR)).wait().unwrap();
    assert_eq!(summary.outcomes, Outcomes { verified: 1, failed: 0, expired: 1 });
    assert_close(summary.latency.percentile(95), Some(250));
    assert_eq!(summary.processing.percentile(95), Some(7));
    let both = Outcomes { verified: 1, failed: 0, expired: 1 };
    assert_eq!(summary.by_credential_type, BTreeMap::from([("vc+sd-jwt".to_owned(), both)]));
    assert_eq!(summary.by_error_code, BTreeMap::from([("session_expired".to_owned(), 1)]));
    let text = fixture.store().telemetry().text().unwrap();
    for line in [
        r#"idgate_sessions_total{format="vc+sd-jwt",livemode="true",status="CREATED"} 3"#,
        r#"idgate_sessions_total{format="vc+sd-jwt",livemode="true",status="EXPIRED"} 1"#,
        r#"idgate_sessions_total{format="vc+sd-jwt",livemode="false",status="VERIFIED"} 1"#,
        "idgate_verify_seconds_count 2",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

pub(super) async fn gauges_show_overdue_results_and_unsigned_audit_entries<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.verified(&fixture.live, NOW, "{}").await;
    let gauges = fixture.store().gauges(NOW.plus(31_000)).wait().unwrap();
    assert_eq!((gauges.claims_rows, gauges.purge_lag_ms), (1, 1000));
    assert_eq!(gauges.audit_open_ms, 31_000);
    fixture.store().purge_results(NOW.plus(31_000)).await.unwrap();
    fixture.store().sign_checkpoints(NOW, 10, NOW).await.unwrap();
    let gauges = fixture.store().gauges(NOW.plus(31_000)).wait().unwrap();
    assert_eq!((gauges.claims_rows, gauges.purge_lag_ms, gauges.audit_open_ms), (0, 0, 0));
}
