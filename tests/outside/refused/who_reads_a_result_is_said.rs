//! E0061: a browser proves by its response code that it may read.
pub fn read(session: &idgate_core::Session, now: idgate_core::UnixMillis) {
    let _ = session.result(now);
}
