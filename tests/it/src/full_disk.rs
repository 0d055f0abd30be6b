//! A full disk: a small file system of its own, which only root can mount. Acknowledged data stays,
//! claims are erased in time, and the gateway reports that it is not ready.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use idgate_testkit::patience::eventually_some;

use crate::disk;
use crate::http::{Request, Response};
use crate::mdoc_tamper::{Authority, ISSUER_ID};
use crate::server::{Installation, Server, eventually};
use crate::tenant::{Created, Gateway, Tenant, now_ms, request_for, sample_wallet, wallet_with};
use crate::trusted_lists::{import, mdl_list, token};

/// Room for the reserve and the databases, and little else.
const SIZE: &str = "size=28m,mode=0700";
const SENTINEL: &str = "Sentinel-Q7f3xZ";

/// A gateway whose data directory is a separate file system.
struct Small {
    // Dropped in this order: the server, its file system, the directory.
    server: Option<Server>,
    tenant: Tenant,
    volume: Volume,
    installation: Installation,
}

/// A mounted file system.
struct Volume(PathBuf);

impl Volume {
    /// `None`: this user may not mount.
    fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", SIZE, "idgate-test"]).arg(&at);
        mount.output().is_ok_and(|output| output.status.success()).then_some(Self(at))
    }

    /// Takes every remaining byte.
    fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.filler()).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        while file.write_all(&[0]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

impl Small {
    fn start() -> Option<Self> {
        let installation = Installation::new().with_machine();
        let Some(volume) = Volume::mount(installation.data_dir()) else {
            eprintln!("skipped: only root can make a disk full");
            return None;
        };
        let Gateway { server, client, installation } = Gateway::start_on(installation);
        let tenant = Tenant { http: server.http(), api_key: client.api_key };
        let small = Self { server: Some(server), tenant, volume, installation };
        assert!(small.volume.0.join("reserve").exists());
        Some(small)
    }

    fn readyz(&mut self) -> Response {
        self.tenant.http.send(&Request::get("/readyz"))
    }

    /// A verified session, and the bytes of its result on disk.
    fn verified(&mut self) -> (Created, Vec<Vec<u8>>) {
        let wallet = wallet_with(&[("given_name", SENTINEL)]);
        let created = self.tenant.verified(&request_for(&["given_name"]), &wallet);
        let session = self.tenant.read(&created.id);
        assert_eq!(session["claims"]["pid"]["given_name"], SENTINEL);
        let sealed = disk::sealed_results(&self.volume.0);
        assert!(!sealed.is_empty());
        (created, sealed.iter().flat_map(|blob| disk::pieces(blob)).collect())
    }

    /// Fills the disk until nothing can be written.
    fn fill(&mut self) {
        self.volume.fill();
        let refused = eventually_some("the disk is full", || {
            let answer = self.tenant.post_session(&request_for(&["given_name"]));
            (answer.status != 201).then_some(answer)
        });
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
        refused.expect_error(503, "temporarily_unavailable");
        let ready = self.readyz().expect_status(503).json();
        assert_eq!((&ready["ready"], &ready["store"]), (&false.into(), &false.into()), "{ready}");
    }

    fn restart(&mut self) {
        let server = self.installation.serve();
        self.tenant.http = server.http();
        self.server = Some(server);
    }

    /// Checks that everything resumes once there is room.
    fn recovers(&mut self) {
        self.volume.make_room();
        eventually("it is ready again", || self.readyz().status == 200);
        self.tenant.verified(&request_for(&["given_name"]), &sample_wallet());
        assert!(self.volume.0.join("reserve").exists());
    }
}

/// The databases and logs that contain one of these values.
fn files_with(directory: &Path, sealed: &[Vec<u8>]) -> Vec<PathBuf> {
    let mut found = disk::files_with(directory, sealed);
    found.retain(|path| !path.ends_with("filler"));
    found
}

#[test]
fn on_a_full_disk_claims_are_erased_reads_work_and_readiness_fails() {
    let Some(mut small) = Small::start() else { return };
    // The clock stands still, so the claims stay however long it takes to fill the disk.
    small.installation.machine().freeze();
    assert_eq!(small.readyz().status, 200);
    let (kept, sealed) = small.verified();
    let (deleted, ..) = small.verified();
    small.fill();
    // Acknowledged data is there, and can be read and deleted.
    assert_eq!(small.tenant.read(&kept.id)["status"], "VERIFIED");
    small.tenant.delete(&deleted.id).expect_status(204);
    small.tenant.get(&deleted.id).expect_error(404, "not_found");
    let metrics = small.installation.run_json(&["admin-token", "list", "--json"]);
    assert!(metrics.is_object());
    small.installation.machine().jump(Duration::from_secs(32));
    eventually("no file has them", || files_with(&small.volume.0, &sealed).is_empty());
    let session = small.tenant.read(&kept.id);
    assert!(session["status"] == "VERIFIED" && session.get("claims").is_none(), "{session}");
    assert_eq!(small.readyz().status, 503);
    small.installation.machine().thaw();
    small.recovers();
}

/// Neither certificates nor the number of the new list are stored.
#[test]
fn on_a_full_disk_the_trusted_list_in_force_stays() {
    let Some(mut small) = Small::start() else { return };
    let lists = Installation::in_directory();
    let root = Authority::new(now_ms()).root.der;
    let first = lists.file("first.jwt", token(&mdl_list(7, &[&root])));
    let next = lists.file("next.jwt", token(&mdl_list(8, &[])));
    let take =
        |small: &Small, file: &Path| import(&small.installation, file.to_str().unwrap(), &[]).code;
    let show = |small: &Small| {
        let shown = small.installation.run_json(&["trust", "show", ISSUER_ID, "--json"]);
        let list = &shown["trusted_list"];
        (list["sequence"].as_u64(), list["providers"].as_array().map(Vec::len))
    };
    assert_eq!(take(&small, &first), 0);
    small.fill();
    // Also take the room that was released in between.
    small.volume.fill();
    assert_eq!(take(&small, &next), 1);
    assert_eq!(show(&small), (Some(7), Some(1)));
    small.volume.make_room();
    assert_eq!(take(&small, &first), 0, "8 was not seen");
    assert_eq!(take(&small, &next), 0);
    assert_eq!(show(&small), (Some(8), Some(0)));
}

#[test]
fn a_gateway_started_on_a_full_disk_erases_and_serves_reads() {
    let Some(mut small) = Small::start() else { return };
    // The clock stands still, as in the test above.
    small.installation.machine().freeze();
    let (created, sealed) = small.verified();
    small.fill();
    small.server.take().unwrap().kill();
    // Also take the room that was released in between.
    small.volume.fill();
    assert!(!files_with(&small.volume.0, &sealed).is_empty(), "the search finds it");
    small.installation.machine().jump(Duration::from_secs(31));
    small.restart();
    assert_eq!(files_with(&small.volume.0, &sealed), Vec::<PathBuf>::new());
    let session = small.tenant.read(&created.id);
    assert!(session["status"] == "VERIFIED" && session.get("claims").is_none(), "{session}");
    assert_eq!(small.readyz().status, 503);
    let refused = small.tenant.post_session(&request_for(&["given_name"]));
    refused.expect_error(503, "temporarily_unavailable");
    small.installation.machine().thaw();
    small.recovers();
}
