//! Files that tenants uploaded, each known by the digest of its content to the tenant that sent it.
//!
//! They are on the disk, bounded in number, bytes and time, of each tenant and of all. The one that was used longest
//! ago makes room for another of the same tenant, never for another tenant's. A file that a run is given stays until
//! the run is over.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::shares::{Share, Shares};
use super::upload_folder::UploadFolder;

/// How many files a tenant has, and all together.
const FILES: usize = 256;
const FILES_OF_ALL: usize = 4096;

/// How many a tenant sends at once, and all together. Each takes a thread.
const SENT: usize = 4;
const SENT_OF_ALL: usize = 32;

/// How long a file is kept that nobody uses.
pub(super) const TIME: Duration = Duration::from_secs(3600);

/// Why there is no place for a file.
#[derive(Debug)]
pub(super) enum NoPlace {
    /// It is larger than all that the tenant may have, in bytes.
    Large(u64),
    /// The tenant sends as many as it may.
    Many,
    /// What is there is in use, or other tenants have it.
    Full,
    /// The disk does not work.
    Disk(io::Error),
}

impl From<io::Error> for NoPlace {
    fn from(error: io::Error) -> NoPlace {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => NoPlace::Full,
            _ => NoPlace::Disk(error),
        }
    }
}

/// One uploaded file. It is removed when nobody keeps or uses it any more.
pub(super) struct Uploaded {
    pub sha256: String,
    pub bytes: u64,
    path: PathBuf,
    /// The file is in it.
    _folder: Arc<UploadFolder>,
    _held: [Share; 3],
}

impl Uploaded {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }
}

impl Drop for Uploaded {
    fn drop(&mut self) {
        remove_file(std::mem::take(&mut self.path));
    }
}

/// Removes a file. A large one takes its time, so nobody who serves others waits for it. What cannot be removed goes
/// with the folder.
fn remove_file(path: PathBuf) {
    let remove = move || drop(std::fs::remove_file(path));
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(remove)),
        Err(_) => remove(),
    }
}

struct Known {
    file: Arc<Uploaded>,
    used: Instant,
}

/// The uploaded files of all tenants.
pub(super) struct Uploads {
    /// Whether whoever runs jobs can open files in the folder.
    pub is_shared: bool,
    folder: Mutex<Option<Arc<UploadFolder>>>,
    room: Arc<Shares>,
    places: Arc<Shares>,
    sending: Arc<Shares>,
    tenants: Vec<Tenant>,
}

struct Tenant {
    most_bytes: u64,
    /// The same, with what is under way or still in use.
    bytes: Arc<Shares>,
    /// The one that was used longest ago first.
    known: Mutex<VecDeque<Known>>,
    /// How many it sends.
    sending: Arc<()>,
}

fn count(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Uploads {
    /// Places for so many bytes of each tenant, and of all. `folder` is one that whoever runs jobs can open files of.
    pub fn new(
        folder: Option<Arc<UploadFolder>>,
        of_all: u64,
        bytes: impl Iterator<Item = u64>,
    ) -> Uploads {
        let tenant = |most_bytes| Tenant {
            most_bytes,
            bytes: Shares::new(count(most_bytes), 1, count(most_bytes)),
            known: Mutex::default(),
            sending: Arc::default(),
        };
        let tenants: Vec<_> = bytes.map(tenant).collect();
        let each = tenants.len();
        let most = tenants.iter().map(|tenant| tenant.most_bytes).max().unwrap_or(0).min(of_all);
        Uploads {
            is_shared: folder.is_some(),
            folder: Mutex::new(folder),
            room: Shares::new(count(of_all), each, count(most)),
            places: Shares::new(FILES_OF_ALL.max(2 * each), each, FILES),
            sending: Shares::new(SENT_OF_ALL.max(2 * each), each, SENT),
            tenants,
        }
    }

    fn folder(&self) -> io::Result<Arc<UploadFolder>> {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        match &*folder {
            Some(folder) => Ok(folder.clone()),
            None => Ok(folder.insert(Arc::new(UploadFolder::make()?)).clone()),
        }
    }

    fn known(&self, tenant: usize) -> MutexGuard<'_, VecDeque<Known>> {
        self.tenants[tenant].known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tenant's file with this digest, which is used now.
    pub fn find(&self, tenant: usize, sha256: &str) -> Option<Arc<Uploaded>> {
        find(&mut self.known(tenant), sha256)
    }

    /// The tenant's files, each with how long it is still kept if nobody uses it.
    pub fn list(&self, tenant: usize) -> Vec<(Arc<Uploaded>, Duration)> {
        let left = |one: &Known| TIME.checked_sub(one.used.elapsed());
        let known = self.known(tenant);
        known.iter().rev().filter_map(|one| Some((one.file.clone(), left(one)?))).collect()
    }

    /// Forgets a file. Runs that have it keep it.
    pub fn remove(&self, tenant: usize, sha256: &str) -> bool {
        let mut known = self.known(tenant);
        let at = known.iter().position(|one| one.file.sha256 == sha256);
        let removed = at.and_then(|at| known.remove(at));
        drop(known);
        removed.is_some_and(|one| one.used.elapsed() <= TIME)
    }

    /// Removes what was used too long ago. It may take its time.
    pub fn forget(&self) {
        for tenant in 0..self.tenants.len() {
            let mut known = self.known(tenant);
            let mut gone = vec![];
            while known.front().is_some_and(|oldest| oldest.used.elapsed() > TIME) {
                gone.extend(known.pop_front());
            }
            drop(known);
            // Without the lock: removing a file may take its time.
            drop(gone);
        }
    }

    /// A place for a file that is about to come, of which so many bytes are announced. Uses the disk.
    pub fn begin(&self, tenant: usize, announced: u64) -> Result<Upload, NoPlace> {
        let of_tenant = &self.tenants[tenant];
        // Counted with the lock: several may begin at once.
        let mut known = self.known(tenant);
        if Arc::strong_count(&of_tenant.sending) > SENT {
            return Err(NoPlace::Many);
        }
        let sending =
            (of_tenant.sending.clone(), self.sending.take(tenant, 1).ok_or(NoPlace::Many)?);
        let mut gone = vec![];
        while known.len() >= FILES {
            gone.extend(known.pop_front());
        }
        let place = loop {
            match self.places.take(tenant, 1) {
                Some(place) => break place,
                None => drop(known.pop_front().ok_or(NoPlace::Full)?),
            }
        };
        drop((known, gone));
        let own = of_tenant.bytes.take(0, 0).ok_or(NoPlace::Full)?;
        let room = self.room.take(tenant, 0).ok_or(NoPlace::Full)?;
        let folder = self.folder()?;
        let (path, file) = folder.file()?;
        let mut upload = Upload {
            partial: Partial { path, is_kept: false },
            file: Some(file),
            folder,
            own,
            room,
            place,
            reserved: 0,
            _sending: sending,
        };
        self.reserve(tenant, &mut upload, announced)?;
        Ok(upload)
    }

    /// Makes sure that there is room for so many bytes of a file.
    pub fn reserve(&self, tenant: usize, upload: &mut Upload, bytes: u64) -> Result<(), NoPlace> {
        let Tenant { most_bytes: most, bytes: own, .. } = &self.tenants[tenant];
        let most = *most;
        if bytes > most {
            return Err(NoPlace::Large(most));
        }
        let Some(more) = bytes.checked_sub(upload.reserved).filter(|more| *more > 0) else {
            return Ok(());
        };
        let mut known = self.known(tenant);
        loop {
            if let Some(own) = own.take(0, count(more))
                && upload.room.grow(count(more)).is_some()
            {
                upload.own.merge(own);
                upload.reserved = bytes;
                return Ok(());
            }
            drop(known.pop_front().ok_or(NoPlace::Full)?);
        }
    }

    /// Keeps a file that is whole, or the one with the same content that there is. Whether it is new.
    pub fn keep(&self, tenant: usize, upload: Upload, sha256: String) -> (Arc<Uploaded>, bool) {
        // Looked for and kept with one lock: the same content may come twice at once.
        let mut known = self.known(tenant);
        if let Some(same) = find(&mut known, &sha256) {
            return (same, false);
        }
        let Upload { mut partial, folder, own, room, place, reserved, .. } = upload;
        partial.is_kept = true;
        let path = std::mem::take(&mut partial.path);
        let held = [own, room, place];
        let file = Uploaded { sha256, bytes: reserved, path, _folder: folder, _held: held };
        let file = Arc::new(file);
        known.push_back(Known { file: file.clone(), used: Instant::now() });
        (file, true)
    }
}

/// The file with this digest among those that are known, which is used now.
fn find(known: &mut VecDeque<Known>, sha256: &str) -> Option<Arc<Uploaded>> {
    let at = known.iter().position(|one| one.file.sha256 == sha256)?;
    let mut found = known.remove(at)?;
    if found.used.elapsed() > TIME {
        return None;
    }
    found.used = Instant::now();
    let file = found.file.clone();
    known.push_back(found);
    Some(file)
}

/// A file that is not whole is removed.
struct Partial {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_kept {
            remove_file(std::mem::take(&mut self.path));
        }
    }
}

/// A file that is coming.
pub(super) struct Upload {
    partial: Partial,
    /// None when a writer has it.
    file: Option<File>,
    folder: Arc<UploadFolder>,
    own: Share,
    room: Share,
    place: Share,
    reserved: u64,
    _sending: (Arc<()>, Share),
}

impl Upload {
    /// Who writes it. There is one.
    pub fn writer(&mut self) -> io::Result<Writer> {
        let file = self.file.take().ok_or(io::ErrorKind::NotFound)?;
        Ok(Writer { file, digest: Sha256::new() })
    }
}

/// Writes a file, and knows what came of it.
pub(super) struct Writer {
    file: File,
    digest: Sha256,
}

impl Writer {
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.file.write_all(bytes)
    }

    /// The digest of all of it, in hexadecimal.
    pub fn end(self) -> String {
        self.digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload(uploads: &Uploads, tenant: usize, content: &str) -> Result<Arc<Uploaded>, NoPlace> {
        let mut upload = uploads.begin(tenant, 0)?;
        let mut writer = upload.writer()?;
        uploads.reserve(tenant, &mut upload, content.len() as u64)?;
        writer.write(content.as_bytes())?;
        Ok(uploads.keep(tenant, upload, writer.end()).0)
    }

    fn read(file: &Uploaded) -> String {
        std::fs::read_to_string(file.path()).expect("a file")
    }

    #[test]
    fn a_file_is_known_by_its_digest_to_its_tenant() {
        let uploads = Uploads::new(None, 1000, [100, 100].into_iter());
        let file = upload(&uploads, 0, "one").expect("room");
        let digest = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
        assert_eq!((file.sha256.as_str(), file.bytes, read(&file).as_str()), (digest, 3, "one"));
        assert!(uploads.find(0, digest).is_some() && uploads.find(1, digest).is_none());
        assert!(!uploads.remove(1, digest));
        // The same content is there once.
        let again = upload(&uploads, 0, "one").expect("room");
        assert!(Arc::ptr_eq(&file, &again) && uploads.list(0).len() == 1);
        assert!(uploads.remove(0, digest) && uploads.find(0, digest).is_none());
        // Whoever has it keeps it.
        assert_eq!(read(&file), "one");
        let path = file.path().to_owned();
        drop((file, again));
        assert!(!path.exists());
    }

    #[test]
    fn the_one_used_longest_ago_makes_room() {
        let uploads = Uploads::new(None, 1000, [10, 10].into_iter());
        let (first, _) = (upload(&uploads, 0, "aaaa").expect("room"), upload(&uploads, 0, "bbbb"));
        assert!(uploads.find(0, &first.sha256).is_some());
        upload(&uploads, 0, "cccc").expect("room");
        let names: Vec<_> = uploads.list(0).iter().map(|(file, _)| read(file)).collect();
        assert_eq!(names, ["cccc", "aaaa"]);
        assert!(matches!(upload(&uploads, 0, "12345678901"), Err(NoPlace::Large(10))));
        assert_eq!(uploads.list(1).len(), 0);
    }

    #[test]
    fn all_tenants_together_have_so_many_bytes_and_files_under_way() {
        let uploads = Uploads::new(None, 30, [20, 20].into_iter());
        for text in ["12345", "23456", "34567", "45678", "56789"] {
            upload(&uploads, 0, text).ok();
        }
        upload(&uploads, 1, "1234567").expect("what it is due");
        let all: u64 = (0..2).flat_map(|one| uploads.list(one)).map(|(file, _)| file.bytes).sum();
        assert!(all <= 30, "{all}");
        let under_way: Vec<_> = (0..SENT).map(|_| uploads.begin(0, 0).expect("room")).collect();
        assert!(matches!(uploads.begin(0, 0), Err(NoPlace::Many)));
        assert!(uploads.begin(1, 0).is_ok());
        drop(under_way);
        assert!(uploads.begin(0, 0).is_ok());
    }
}
