//! What files cost: runs that are handed one and runs that leave one, each beside a run without, in turn.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use carboy_engine::{Artifacts, RunOptions, new_id};
use carboy_protocol::{FileSource, Job, Policy};
use carboy_store::RunFolders;
use serde_json::{Value, json};

use super::{Bench, JOB, PACE, Samples, succeeded};
use crate::failure::Failure;

/// How long the small file is that is handed in.
const SMALL: u64 = 1 << 10;
/// How long the large one is: with holes, so that it takes no room on the disk.
const LARGE: u64 = 2 << 30;
/// Reads what it was handed, a page at most: the time is not that of reading.
const READS: &str = "result = len(open('table.csv', 'rb').read(1024))";
/// Leaves a picture of an ordinary size.
const LEAVES: &str = "with open('plot.png', 'wb') as file:
    file.write(b'\\x89PNG\\r\\n\\x1a\\n' + b'picture ' * 2500)
result = sum(range(100))";

/// A private folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn make() -> std::io::Result<Folder> {
        let id = new_id().map_err(std::io::Error::other)?;
        let path = std::env::temp_dir().join(format!("carboy-bench-{id}"));
        std::fs::create_dir(&path)?;
        Ok(Folder(path))
    }

    /// A file of zeros that every jar's user may read.
    fn file(&self, name: &str, length: u64) -> std::io::Result<FileSource> {
        let path = self.0.join(name);
        let file = std::fs::File::create(&path)?;
        file.set_len(length)?;
        file.set_permissions(PermissionsExt::from_mode(0o644))?;
        let path = path.into_os_string().into_string();
        Ok(FileSource::Path(path.map_err(|_| std::io::Error::other("a path is not UTF-8"))?))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It lies with other temporary files if it cannot be removed.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// The rows: a name, and the job.
fn jobs(folder: &Folder) -> std::io::Result<Vec<(&'static str, Job)>> {
    let reads = |source| Job::new(READS).with_file("table.csv", source);
    let small = folder.file("small", SMALL)?;
    Ok(vec![
        ("plain", Job::new(JOB)),
        ("file_in", reads(small.clone())),
        ("bytes_in", reads(FileSource::Base64(vec![0; SMALL as usize]))),
        ("large_file_in", reads(folder.file("large", LARGE)?)),
        ("file_out", Job::new(LEAVES)),
        ("file_in_and_out", Job::new(LEAVES).with_file("table.csv", small)),
    ])
}

impl Bench {
    /// Each row in turn, paced so that jars stand. Files that are left are kept, as the Python package does.
    pub async fn files(&mut self) -> Result<Value, Failure> {
        let prepared = || {
            let folder = Folder::make()?;
            let jobs = jobs(&folder)?;
            let out = folder.0.join("out");
            let keeper = Arc::new(RunFolders::make(&out)?);
            Ok::<_, std::io::Error>((folder, jobs, out, keeper))
        };
        // The folder goes when everything else has.
        let (_folder, jobs, out, keeper) =
            prepared().map_err(Failure::os("make files to hand in"))?;
        let engine = self.engine(&[], 32)?;
        engine.stand(&Policy::default(), 16).await?;
        let mut samples = vec![vec![]; jobs.len()];
        for _ in 0..self.size.paced / 2 {
            for ((_, job), samples) in jobs.iter().zip(&mut samples) {
                let artifacts = Artifacts::Keep(keeper.clone());
                let options = RunOptions { artifacts, ..RunOptions::default() };
                let job = job.clone();
                let started = Instant::now();
                let outcome = engine.run_with(job, options).await?;
                samples.push(started.elapsed().as_secs_f64() * 1e3);
                succeeded(outcome.status)?;
                forget(&out, &outcome.id);
                tokio::time::sleep(PACE).await;
            }
        }
        engine.shutdown().await;
        let mut report = json!({});
        let mut plain = 0.0;
        for ((name, _), samples) in jobs.iter().zip(samples) {
            let samples = Samples::new(samples);
            self.keep(&format!("files.{name}"), &samples);
            let mut value = samples.summary();
            if *name == "plain" {
                plain = samples.quantile(0.5);
            } else {
                value["beyond_plain_ms"] = json!(samples.quantile(0.5) - plain);
            }
            report[name] = value;
        }
        Ok(report)
    }
}

/// Removes what was kept of a run, if anything was.
fn forget(out: &Path, run: &str) {
    std::fs::remove_dir_all(out.join(run)).ok();
}
