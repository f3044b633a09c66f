//! A cluster whose file lies outside the folders of presets.

use crate::hardware::Cluster;
use crate::scenario::file::{self, FileError};

use super::{Kind, Library};

/// The newest format of such a file that this version reads.
const FORMAT: u32 = 1;

impl Library {
    /// The cluster that a text describes. It gets an id that no preset has.
    pub fn cluster_from(&self, text: &str) -> Result<Cluster, FileError> {
        let (mut cluster, source) = file::read::<Cluster>(text, FORMAT)?;
        let problems = cluster.problems();
        if !problems.is_empty() {
            return Err(source.mistakes(&problems));
        }
        cluster.id = self.new_id(Kind::Cluster, &cluster.name);
        Ok(cluster)
    }
}
