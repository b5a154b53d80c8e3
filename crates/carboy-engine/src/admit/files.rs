//! Which files and directories a job may be given, and under which names.
//!
//! Everything of the host is opened here with the engine's own rights, once, and is known by its device and
//! inode numbers from then on. Opening with `O_PATH` waits for nobody and reads nothing.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use carboy_jail::{HostSource, MAX_MESSAGE};
use carboy_protocol::{FileSource, INPUT_FOLDERS, INPUT_ROOT, Job};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use crate::admit::filesystems;
use crate::error::{MISSING, RequestError};
use crate::tier::{Input, Inputs, Source};

/// The longest name or path, in bytes.
const MAX_PATH: usize = 4095;
/// The longest part of a name, in bytes.
const MAX_PART: usize = 255;
/// How many folders deep a name may lie.
const MAX_DEPTH: usize = 16;
/// All names and paths together, in bytes of JSON: they go to whoever hands them in, in one message, which has room
/// for what else is in it.
const MAX_TOLD: usize = MAX_MESSAGE - (32 << 10);

/// From which directories of the host files may be taken. `None` means from any.
pub(crate) type Zones = Option<Vec<PathBuf>>;

/// Takes the job's files and mounts, opened. `offered` are the folders that a jar has for them. Looks at the
/// disk, which may take its time.
pub(crate) fn take(
    files: BTreeMap<String, FileSource>,
    mounts: BTreeMap<String, String>,
    offered: &[&'static str],
    zones: &[Zones],
) -> Result<Inputs, RequestError> {
    let most = Job::MAX_FILES;
    if files.len() + mounts.len() > most {
        return Err(unusable("", format!("there are more than {most}")));
    }
    let mut inputs = Vec::new();
    let mut outside = Vec::new();
    for (name, source) in files {
        let below = check_name(&name).map_err(|why| unusable(&name, why))?;
        let source = match source {
            FileSource::Text(text) => Source::Bytes(text.into_bytes()),
            FileSource::Base64(bytes) => Source::Bytes(bytes),
            FileSource::Path(path) => open(&name, &path, Wanted::File)?,
            // A server puts the file there before the engine hears of it.
            FileSource::Sha256(_) => {
                return Err(unusable(&name, "only `carboy serve` has uploaded files"));
            }
        };
        inputs.push(Input { folder: INPUT_FOLDERS[0], below, source });
    }
    for (place, path) in mounts {
        let (folder, below) = check_place(&place).map_err(|why| unusable(&place, why))?;
        let source = open(&place, &path, Wanted::Either)?;
        inputs.push(Input { folder, below, source });
    }
    for input in &inputs {
        if let Source::Host { source, .. } = &input.source
            && !zones.iter().all(|zone| is_within(&source.path, zone))
        {
            outside.push(source.path.display().to_string());
        }
    }
    if !outside.is_empty() {
        return Err(RequestError::Zone { paths: outside });
    }
    inputs.sort_by(|one, next| (one.folder, &one.below).cmp(&(next.folder, &next.below)));
    let inputs = Inputs(inputs);
    check_together(&inputs, offered)?;
    filesystems::check(&inputs)?;
    Ok(inputs)
}

fn unusable(name: &str, why: impl Into<String>) -> RequestError {
    RequestError::File { name: shown(name), why: why.into() }
}

/// A name as it is shown.
fn shown(name: &str) -> String {
    name.chars().take(MAX_PART).flat_map(char::escape_debug).collect()
}

/// What holds for all of them together.
fn check_together(inputs: &Inputs, offered: &[&'static str]) -> Result<(), RequestError> {
    let full = |input: &Input| Path::new(input.folder).join(&input.below);
    for pair in inputs.0.windows(2) {
        let [one, next] = [full(&pair[0]), full(&pair[1])];
        if next.starts_with(&one) {
            let why = format!("{} would lie in it", next.display());
            return Err(unusable(&one.to_string_lossy(), why));
        }
    }
    if let Some(input) = inputs.0.iter().find(|input| !offered.contains(&input.folder)) {
        let why = format!("the interpreter's own files lie in {}", input.folder);
        return Err(unusable(&full(input).to_string_lossy(), why));
    }
    if inputs.bytes() > Job::MAX_FILE_BYTES as u64 {
        let why = format!("there are more than {} bytes; name a path instead", Job::MAX_FILE_BYTES);
        return Err(unusable("", why));
    }
    let told = (inputs.given(), inputs.links(|folder| folder.into()));
    let bytes = serde_json::to_vec(&told).map_err(|error| unusable("", error.to_string()))?.len();
    if bytes > MAX_TOLD {
        let why = format!(
            "all names and paths together have {bytes} bytes as JSON, at most {MAX_TOLD} are accepted; \
             hand in the directory that they lie in, as a mount"
        );
        return Err(unusable("", why));
    }
    Ok(())
}

/// A name below `/inputs`.
fn check_name(name: &str) -> Result<PathBuf, String> {
    if name.starts_with('/') {
        return Err("a file has a relative name; `mounts` has places".into());
    }
    let below = check_parts(name)?;
    let first = name.split('/').next().unwrap_or(name);
    if INPUT_FOLDERS.iter().any(|folder| folder[1..] == *first) {
        return Err(format!("`{first}` is the name of a folder in the working directory"));
    }
    Ok(below)
}

/// A folder for what is given, and what is below it.
fn check_place(place: &str) -> Result<(&'static str, PathBuf), String> {
    let whole =
        place.strip_prefix(INPUT_ROOT).filter(|rest| rest.starts_with('/')).unwrap_or(place);
    for folder in INPUT_FOLDERS {
        match whole.strip_prefix(folder) {
            Some("") => return Ok((folder, PathBuf::new())),
            Some(rest) if rest.starts_with('/') => return Ok((folder, check_parts(&rest[1..])?)),
            _ => {}
        }
    }
    Err(format!("a mount is at one of {}, or below", INPUT_FOLDERS.join(", ")))
}

/// A relative path of plain parts.
fn check_parts(name: &str) -> Result<PathBuf, String> {
    if name.len() > MAX_PATH || name.split('/').count() > MAX_DEPTH {
        return Err(format!("a name has at most {MAX_PATH} bytes and {MAX_DEPTH} parts"));
    }
    for part in name.split('/') {
        if part.is_empty() || part == "." || part == ".." {
            return Err("a name consists of plain parts: none is empty, `.` or `..`".into());
        }
        if part.len() > MAX_PART {
            return Err(format!("a part of a name has at most {MAX_PART} bytes"));
        }
        if part.chars().any(char::is_control) {
            return Err("a name has no control characters".into());
        }
    }
    Ok(name.into())
}

/// What a path may lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    File,
    Either,
}

/// Opens something of the host and finds out where it really lies.
fn open(name: &str, path: &str, wanted: Wanted) -> Result<Source, RequestError> {
    let wrong = |why: String| unusable(name, why);
    if !path.starts_with('/') || path.contains('\0') || path.len() > MAX_PATH {
        return Err(wrong(format!("{} is no absolute path", shown(path))));
    }
    let opened = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let held = opened.map_err(|errno| RequestError::Source {
        name: shown(name),
        why: format!("{} cannot be opened: {errno}", shown(path)),
        hint: MISSING,
    })?;
    let found = fstat(&held).map_err(|errno| wrong(errno.to_string()))?;
    let directory = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => false,
        FileType::Directory if wanted == Wanted::Either => true,
        FileType::Directory => {
            return Err(wrong(format!("{} is a directory; hand it in as a mount", shown(path))));
        }
        _ => return Err(wrong(format!("{} is no plain file", shown(path)))),
    };
    let path = real(&held).ok_or_else(|| wrong("its path is not UTF-8".into()))?;
    let source = HostSource {
        name: shown(name),
        path,
        directory,
        device: found.st_dev,
        inode: found.st_ino,
    };
    Ok(Source::Host { source, held })
}

/// Where an open file lies, through no link. If it is gone, whoever looks there will notice.
fn real(held: &OwnedFd) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let path = std::fs::read_link(format!("/proc/self/fd/{}", held.as_raw_fd())).ok()?;
    path.to_str()?;
    Some(path)
}

/// Whether a path lies in one of these directories.
fn is_within(path: &Path, zone: &Zones) -> bool {
    match zone {
        None => true,
        Some(folders) => {
            let real = folders.iter().filter_map(|folder| folder.canonicalize().ok());
            real.into_iter().any(|folder| path.starts_with(folder))
        }
    }
}
