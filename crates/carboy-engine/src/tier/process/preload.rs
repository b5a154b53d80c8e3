//! What is known of the modules that are to be preloaded, and whom to tell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

/// A module that is to be preloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preload {
    /// Its name.
    pub module: String,
    /// Why it is imported in each jar, after sealing, instead of once in the zygote.
    pub late: Option<&'static str>,
    /// How long its import took in the last zygote that was started.
    pub took: Option<Duration>,
}

/// One module more is done: it is imported, or it is known that each jar imports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preloading {
    /// Which one.
    pub preload: Preload,
    /// How many are done, with this one.
    pub done: usize,
    /// How many there are.
    pub count: usize,
}

/// The modules to be preloaded, for all zygotes of an engine.
pub(super) struct Preloads {
    modules: Vec<String>,
    known: Mutex<Known>,
    /// Hears of each module once. Who does not listen misses something and holds up nobody.
    progress: Option<mpsc::Sender<Preloading>>,
}

#[derive(Default)]
struct Known {
    /// The modules that cannot be in a zygote, each with what it does.
    late: BTreeMap<String, &'static str>,
    /// How long the others took.
    took: BTreeMap<String, Duration>,
    told: BTreeSet<String>,
}

impl Known {
    fn preload(&self, module: &str) -> Preload {
        Preload {
            module: module.into(),
            late: self.late.get(module).copied(),
            took: self.took.get(module).copied(),
        }
    }
}

impl Preloads {
    pub fn new(modules: Vec<String>, progress: Option<mpsc::Sender<Preloading>>) -> Preloads {
        Preloads { modules, known: Mutex::default(), progress }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, in their order.
    pub fn list(&self) -> Vec<Preload> {
        let known = self.known();
        self.modules.iter().map(|module| known.preload(module)).collect()
    }

    /// Those that turned out to be none for a zygote.
    pub fn late(&self) -> Vec<String> {
        let late = self.list().into_iter().filter(|preload| preload.late.is_some());
        late.map(|preload| preload.module).collect()
    }

    /// A zygote imported a module.
    pub fn imported(&self, module: &str, took: Duration) {
        let mut known = self.known();
        known.took.insert(module.into(), took);
        self.tell(known, module);
    }

    /// A module cannot be in a zygote. False if that was known already.
    pub fn is_late(&self, module: &str, why: &'static str) -> bool {
        let mut known = self.known();
        let is_new = known.late.insert(module.into(), why).is_none();
        self.tell(known, module);
        is_new
    }

    fn tell(&self, mut known: MutexGuard<'_, Known>, module: &str) {
        if !known.told.insert(module.into()) {
            return;
        }
        let (done, count) = (known.told.len(), self.modules.len());
        let said = Preloading { preload: known.preload(module), done, count };
        if let Some(progress) = &self.progress {
            // Full or closed: nobody waits for it.
            progress.try_send(said).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_module_is_told_of_once_and_nobody_waits_for_who_hears() {
        let (sender, mut receiver) = mpsc::channel(2);
        let modules = ["a", "b", "c"].map(str::to_owned).to_vec();
        let preloads = Preloads::new(modules, Some(sender));
        let took = Duration::from_millis(5);
        preloads.imported("a", took);
        assert!(preloads.is_late("b", "it starts a thread"));
        assert!(!preloads.is_late("b", "it starts a thread"));
        // Another zygote imports again what can be in one, and there is no room to tell of the last.
        preloads.imported("a", took);
        preloads.imported("c", took);
        assert_eq!(preloads.late(), ["b"]);
        let first = receiver.try_recv().unwrap();
        assert_eq!((first.preload.took, first.done, first.count), (Some(took), 1, 3));
        let second = receiver.try_recv().unwrap();
        assert_eq!((second.preload.late, second.done), (Some("it starts a thread"), 2));
        assert!(receiver.try_recv().is_err());
    }
}
