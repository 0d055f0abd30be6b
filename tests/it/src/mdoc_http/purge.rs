//! Claims of an mdoc are gone 30 s after verification, as those of every format (decisions 8).

use std::path::PathBuf;
use std::time::Duration;

use super::desk::Desk;
use crate::disk;
use crate::mdoc_tamper::{VERIFIED, mdl_request};
use crate::server::{Installation, eventually};

#[test]
fn the_claims_of_an_mdoc_leave_every_file_in_time() {
    let mut desk = Desk::start(Installation::new().with_machine(), false, &["--revocation", "off"]);
    let created = desk.tenant.create(&mdl_request());
    let body = desk.scenario(&created).body();
    assert_eq!(desk.settle(&created, &body), VERIFIED);
    let directory = desk.gateway.installation.data_dir();
    let blobs = disk::sealed_results(&directory);
    let sealed: Vec<Vec<u8>> = blobs.iter().flat_map(|blob| disk::pieces(blob)).collect();
    assert!(!disk::files_with(&directory, &sealed).is_empty(), "the search finds nothing at all");
    assert_eq!(disk::files_with(&directory, &[b"Mustermann".to_vec()]), Vec::<PathBuf>::new());
    let machine = desk.gateway.installation.machine();
    machine.freeze();
    machine.jump(Duration::from_secs(32));
    eventually("no file has them", || disk::files_with(&directory, &sealed).is_empty());
    let session = desk.tenant.read(&created.id);
    assert_eq!(session["status"], VERIFIED);
    for member in ["claims", "verification_details"] {
        assert!(session.get(member).is_none(), "{member} is still there: {session}");
    }
}
