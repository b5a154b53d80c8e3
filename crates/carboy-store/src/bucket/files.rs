//! The files that runs left, in a bucket: where each is, and what is known of them.
//!
//! A run's manifest is written before its first file, and says which files it has: their paths, sizes and digests. What
//! is not in it is not signed for and not shown.

use std::collections::{BTreeMap, HashSet};
use std::io;

use bytes::Bytes;
use carboy_protocol::Artifact;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Bucket;
use super::client::Answer;
use super::sign::hex;

/// The longest manifest.
const MANIFEST: usize = 1 << 20;

/// The longest key that stores take.
const KEY: usize = 1024;

/// What a run left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its files, each with its digest.
    pub files: Vec<Artifact>,
    /// There was no room for them: the tenant has as much as it may have.
    #[serde(default)]
    pub refused: bool,
}

/// The files of runs in a bucket. Clones share it.
#[derive(Clone, Debug)]
pub struct RunFiles(Bucket);

impl RunFiles {
    /// Those in this bucket.
    pub fn new(bucket: Bucket) -> RunFiles {
        RunFiles(bucket)
    }

    /// What a run of a tenant left; none if nobody said so yet.
    pub async fn manifest(&self, tenant: &str, run: &str) -> io::Result<Option<Manifest>> {
        let Some(key) = manifest_key(tenant, run) else { return Ok(None) };
        let Some(answer) = self.0.get(&key, None).await? else { return Ok(None) };
        let text = answer.whole(MANIFEST).await?;
        Ok(Some(serde_json::from_slice(&text).map_err(io::Error::other)?))
    }

    /// Says what a run left, once. `false` if somebody did before, as far as the store can tell.
    pub async fn record(&self, tenant: &str, run: &str, manifest: &Manifest) -> io::Result<bool> {
        let key = manifest_key(tenant, run).ok_or(io::ErrorKind::InvalidInput)?;
        let text = serde_json::to_vec(manifest).map_err(io::Error::other)?;
        self.0.create(&key, text.into()).await
    }

    /// An address under which this file can be put, for a minute; none if it has no place in a bucket.
    pub fn put_address(&self, tenant: &str, run: &str, file: &Artifact) -> Option<String> {
        let key = file_key(tenant, run, &file.path)?;
        self.0.put_address(&key, file.bytes, file.sha256.as_deref()?)
    }

    /// Whether a file of this name has a place in a bucket.
    pub fn has_place(tenant: &str, run: &str, path: &str) -> bool {
        file_key(tenant, run, path).is_some()
    }

    /// The paths of a run's files that are there.
    pub async fn there(&self, tenant: &str, run: &str) -> io::Result<HashSet<String>> {
        let Some(prefix) = file_key(tenant, run, "x") else { return Ok(HashSet::new()) };
        let prefix = &prefix[..prefix.len() - 1];
        let keys = self.0.list(prefix).await?;
        let paths = keys.iter().filter_map(|(key, _)| key.strip_prefix(prefix).map(Into::into));
        Ok(paths.collect())
    }

    /// How many bytes each run of a tenant has there.
    pub async fn bytes(&self, tenant: &str) -> io::Result<BTreeMap<String, u64>> {
        let mut runs = BTreeMap::new();
        if !is_word(tenant) {
            return Ok(runs);
        }
        let prefix = format!("t/{tenant}/r/");
        for (key, bytes) in self.0.list(&prefix).await? {
            let rest = key.strip_prefix(&prefix).unwrap_or_default();
            // Manifests are small, and not the tenant's.
            if let Some((run, _)) = rest.split_once('/') {
                *runs.entry(run.to_owned()).or_default() += bytes;
            }
        }
        Ok(runs)
    }

    /// The content of a file from one byte on, so many; none if it is not there.
    pub async fn open(
        &self,
        tenant: &str,
        run: &str,
        file: &Artifact,
        (from, count): (u64, u64),
    ) -> io::Result<Option<StoredContent>> {
        let Some(key) = file_key(tenant, run, &file.path) else { return Ok(None) };
        let is_whole = count == file.bytes;
        let part = (!is_whole).then_some((from, count));
        let Some(answer) = self.0.get(&key, part).await? else { return Ok(None) };
        let wanted = file.sha256.clone().filter(|_| is_whole);
        let judged = wanted.map(|wanted| (Sha256::new(), wanted));
        Ok(Some(StoredContent { answer, left: count, judged }))
    }
}

/// The content of a file, as it comes from the store.
pub struct StoredContent {
    answer: Answer,
    left: u64,
    /// What the whole of it must have the digest of: who put it there may have been taken over.
    judged: Option<(Sha256, String)>,
}

impl StoredContent {
    /// The next piece; none at the end. An error if it is not what the manifest says.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let wrong = || io::Error::other("the store has something else than the run left");
        match self.answer.piece().await? {
            Some(piece) => {
                self.left = self.left.checked_sub(piece.len() as u64).ok_or_else(wrong)?;
                if let Some((digest, wanted)) = &mut self.judged {
                    digest.update(&piece);
                    // Before its last piece is passed on.
                    if self.left == 0 && hex(&digest.clone().finalize()) != *wanted {
                        return Err(wrong());
                    }
                }
                Ok(Some(piece))
            }
            None if self.left == 0 => Ok(None),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl std::fmt::Debug for StoredContent {
    fn fmt(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        form.debug_struct("StoredContent").field("left", &self.left).finish_non_exhaustive()
    }
}

/// A name of a tenant or a run, which stands between slashes.
fn is_word(name: &str) -> bool {
    let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=64).contains(&name.len())
        && name.bytes().all(usable)
        && !name.bytes().all(|byte| byte == b'.')
}

fn manifest_key(tenant: &str, run: &str) -> Option<String> {
    let is_run = is_word(run) && !run.contains('.');
    (is_word(tenant) && is_run).then(|| format!("t/{tenant}/r/{run}.json"))
}

/// Where a file is. A path that could mean another place has none.
fn file_key(tenant: &str, run: &str, path: &str) -> Option<String> {
    let is_plain = |part: &str| !["", ".", ".."].contains(&part);
    let is_path = path.split('/').all(is_plain) && !path.chars().any(|letter| letter.is_control());
    let is_run = is_word(run) && !run.contains('.');
    let key = format!("t/{tenant}/r/{run}/{path}");
    (is_word(tenant) && is_run && is_path && key.len() <= KEY).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_place_below_its_run() {
        let key = |path| file_key("acme", "0a", path);
        assert_eq!(key("out/a b.txt").as_deref(), Some("t/acme/r/0a/out/a b.txt"));
        let long = "x".repeat(KEY);
        for wrong in
            ["", "/etc/x", "..", "../other/a", "a/../../b", "a//b", "a/", "./a", "a\nb", &long]
        {
            assert_eq!(key(wrong), None, "{wrong}");
        }
        for (tenant, run) in
            [("..", "0a"), ("a/b", "0a"), ("", "0a"), ("acme", ".."), ("acme", "0a.json")]
        {
            assert_eq!(file_key(tenant, run, "a"), None, "{tenant} {run}");
            assert_eq!(manifest_key(tenant, run), None, "{tenant} {run}");
        }
        assert_eq!(manifest_key("a.b", "0a").as_deref(), Some("t/a.b/r/0a.json"));
    }
}
