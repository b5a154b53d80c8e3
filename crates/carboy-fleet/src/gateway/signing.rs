//! A gateway's side of files that runs leave: which node may put what into the store.
//!
//! What a run left is written down in the store before its first file is signed for. So a run is counted once, whichever
//! gateway is asked, and a node that asks again with another list gets nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use carboy_protocol::Artifact;
use carboy_store::{Manifest, RunFiles};
use sha2::{Digest, Sha256};

use crate::files::{PATIENCE, SignAnswer, SignAsk, fault};
use crate::nodes::Address;

/// Questions that are answered at once, in all and of one node. What comes beyond them is asked again.
const AT_ONCE: usize = 64;
const OF_NODE: usize = 8;

/// Runs of which is remembered who won, and lists that are known to be written down.
const RUNS: usize = 16_384;
const LISTS: usize = 1024;

/// How old what is known of a tenant's bytes may be.
const FRESH: Duration = Duration::from_secs(10);

/// Other gateways that are kept in mind, and how long after its last word one is there.
const GATEWAYS: usize = 1024;
const THERE: Duration = Duration::from_secs(3);

/// Where files go.
#[derive(Clone, Debug)]
pub struct FilesConfig {
    /// The store.
    pub store: RunFiles,
    /// How many bytes each tenant may have there. One that is not named may have none.
    pub tenants: BTreeMap<String, u64>,
}

/// What a gateway knows of files on their way.
pub(super) struct Signing {
    config: FilesConfig,
    claims: Mutex<Claims>,
    usage: BTreeMap<String, Arc<tokio::sync::Mutex<Usage>>>,
    /// Digests of lists that are written down, by run.
    lists: Mutex<HashMap<String, [u8; 32]>>,
    /// Questions that are being answered, by the node that asks.
    places: Arc<Mutex<HashMap<u64, usize>>>,
    /// When other gateways were heard.
    heard: Mutex<HashMap<String, Duration>>,
}

/// Which node's outcome a caller got, by run; none while it is under way. The oldest is forgotten first.
#[derive(Default)]
struct Claims {
    runs: HashMap<String, (Duration, Option<Address>)>,
}

/// What a tenant has in the store.
#[derive(Default)]
struct Usage {
    listed: Option<Instant>,
    runs: BTreeMap<String, u64>,
    /// What this gateway signed for, and until when it may come.
    coming: Vec<(u64, String, u64)>,
}

impl Usage {
    /// What is there has come, and what nobody may bring any more does not come.
    fn forget(&mut self, now: u64) {
        let Usage { runs, coming, .. } = self;
        coming.retain(|(until, run, bytes)| {
            *until >= now && runs.get(run).copied().unwrap_or(0) < *bytes
        });
    }

    /// The sum, with what is on its way.
    fn bytes(&self) -> u64 {
        let there = |run: &str| self.runs.get(run).copied().unwrap_or(0);
        let coming = self.coming.iter().map(|(_, run, bytes)| bytes.saturating_sub(there(run)));
        self.runs.values().copied().chain(coming).fold(0, u64::saturating_add)
    }
}

impl Signing {
    pub fn new(config: FilesConfig) -> Signing {
        let usage = config.tenants.keys().map(|tenant| (tenant.clone(), Arc::default())).collect();
        let (claims, lists, places) = (Mutex::default(), Mutex::default(), Arc::default());
        Signing { config, claims, usage, lists, places, heard: Mutex::default() }
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lists(&self) -> MutexGuard<'_, HashMap<String, [u8; 32]>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many bytes of files a tenant may have in all.
    pub fn most(&self, tenant: &str) -> u64 {
        self.config.tenants.get(tenant).copied().unwrap_or(0)
    }

    /// Files of this run are wanted.
    pub fn claim(&self, run: &str, now: Duration) -> Claim<'_> {
        let mut claims = self.claims();
        if claims.runs.len() >= RUNS {
            claims.runs.retain(|_, (at, _)| now.saturating_sub(*at) < PATIENCE);
        }
        // Of one that is not remembered, its permit alone says that it was given.
        if claims.runs.len() < RUNS {
            claims.runs.insert(run.to_owned(), (now, None));
        }
        drop(claims);
        Claim { signing: self, run: run.to_owned(), is_won: false }
    }

    /// Which node's outcome the caller of this run got, if it has one; none if nothing is known of it.
    pub fn winner(&self, run: &str) -> Option<Option<Address>> {
        self.claims().runs.get(run).map(|(_, winner)| *winner)
    }

    /// A gateway said that it is there.
    pub fn hear(&self, gateway: String, now: Duration) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.len() >= GATEWAYS {
            heard.retain(|_, at| now.saturating_sub(*at) < THERE);
        }
        if heard.len() < GATEWAYS {
            heard.insert(gateway, now);
        }
    }

    /// Whether a gateway is there: then it answers for the runs that it gave.
    pub fn is_there(&self, gateway: &str, now: Duration) -> bool {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.get(gateway).is_some_and(|at| now.saturating_sub(*at) < THERE)
    }

    /// A place to answer a question of this node in, if there is one.
    pub fn place(&self, node: u64) -> Option<Place> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let own = places.get(&node).copied().unwrap_or(0);
        if own >= OF_NODE || places.values().sum::<usize>() >= AT_ONCE {
            return None;
        }
        places.insert(node, own + 1);
        Some(Place { places: self.places.clone(), node })
    }

    /// An address for a file, or why there is none. The permit was looked at.
    pub async fn address(&self, ask: &SignAsk, list: &[u8]) -> SignAnswer {
        let refused = |why: &str| SignAnswer::Refused { why: why.into() };
        let Ok(files) = serde_json::from_slice::<Vec<Artifact>>(list) else {
            return refused("the list of files cannot be read");
        };
        if let Some(why) = fault(&files, ask) {
            return refused(why);
        }
        let digest: [u8; 32] = Sha256::digest(list).into();
        let is_known = self.lists().get(&ask.run) == Some(&digest);
        if !is_known {
            match self.written_down(ask, &files).await {
                Ok(true) => {}
                Ok(false) => {
                    return refused("there is no room for it, or the run left other files");
                }
                // The store is away; the node has the file, and asks again.
                Err(_away) => return SignAnswer::Later {},
            }
            let mut lists = self.lists();
            if lists.len() >= LISTS {
                lists.clear();
            }
            lists.insert(ask.run.clone(), digest);
        }
        match self.config.store.put_address(&ask.tenant, &ask.run, &files[ask.number]) {
            Some(url) => SignAnswer::Put { url },
            None => refused("a path has no place in the store"),
        }
    }

    /// Writes down what a run left, unless somebody did. Whether just that is written down.
    async fn written_down(&self, ask: &SignAsk, files: &[Artifact]) -> std::io::Result<bool> {
        let SignAsk { tenant, run, .. } = ask;
        let Some(usage) = self.usage.get(tenant) else { return Ok(false) };
        // One after the other for each tenant, so that two do not take the same room.
        let mut usage = usage.lock().await;
        let store = &self.config.store;
        if let Some(known) = store.manifest(tenant, run).await? {
            return Ok(!known.refused && known.files == files);
        }
        let now = Instant::now();
        if usage.listed.is_none_or(|at| now.duration_since(at) >= FRESH) {
            usage.runs = store.bytes(tenant).await?;
            usage.listed = Some(now);
        }
        usage.forget(crate::files::now().as_secs());
        let bytes = files.iter().map(|file| file.bytes).fold(0, u64::saturating_add);
        let refused = usage.bytes().saturating_add(bytes) > self.most(tenant);
        let files = if refused { vec![] } else { files.to_vec() };
        let manifest = Manifest { files, refused };
        if !store.record(tenant, run, &manifest).await? {
            // Another gateway was asked at the same moment.
            return Ok(store.manifest(tenant, run).await? == Some(manifest) && !refused);
        }
        if !refused {
            usage.coming.push((ask.permit.until, run.clone(), bytes));
        }
        Ok(!refused)
    }
}

/// A place to answer a question of a node in, until it is dropped.
pub(super) struct Place {
    places: Arc<Mutex<HashMap<u64, usize>>>,
    node: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = places.get_mut(&self.node) {
            *own = own.saturating_sub(1);
        }
        places.retain(|_, own| *own > 0);
    }
}

/// A run whose files are wanted, until its caller has an outcome or gives up.
pub(super) struct Claim<'a> {
    signing: &'a Signing,
    run: String,
    is_won: bool,
}

impl Claim<'_> {
    /// Its outcome is that of this node.
    pub fn won(mut self, by: Address) {
        if let Some((_, winner)) = self.signing.claims().runs.get_mut(&self.run) {
            *winner = Some(by);
        }
        self.is_won = true;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if !self.is_won {
            self.signing.claims().runs.remove(&self.run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_its_way_counts_once() {
        let mut usage = Usage::default();
        usage.coming.push((7, "a".into(), 10));
        assert_eq!(usage.bytes(), 10);
        usage.runs.insert("a".into(), 4);
        usage.runs.insert("b".into(), 5);
        assert_eq!(usage.bytes(), 15, "some of it is there");
        usage.forget(7);
        assert_eq!(usage.bytes(), 15, "the rest may come");
        usage.forget(8);
        assert_eq!(usage.bytes(), 9, "nobody may bring the rest any more");
        usage.coming.push((7, "a".into(), 10));
        usage.runs.insert("a".into(), 10);
        assert_eq!(usage.bytes(), 15);
        usage.forget(7);
        assert!(usage.coming.is_empty() && usage.bytes() == 15);
    }
}
