//! What tests do to a PostgreSQL of theirs besides using it.

use super::cluster::Cluster;

impl Cluster {
    /// Runs statements in the database at `url`; gives what they print, without headings.
    #[track_caller]
    pub(crate) fn run(&self, url: &str, sql: &str) -> String {
        let mut command = self.tool("psql");
        command.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{sql}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}
