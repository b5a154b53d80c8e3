//! What one run is given to read: opened, checked, and held until its jar has it.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use carboy_jail::{Given, GivenSource, HostSource, Link};
use carboy_protocol::{INPUT_FOLDERS, INPUT_ROOT};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::runner::Witness;

/// What one thing consists of.
#[derive(Debug)]
pub(crate) enum Source {
    /// Something of the host. The descriptor keeps its inode from being used for something else.
    Host { source: HostSource, held: OwnedFd },
    /// Bytes that came with the job.
    Bytes(Vec<u8>),
}

/// One thing, and where the code finds it.
#[derive(Debug)]
pub(crate) struct Input {
    /// One of [`INPUT_FOLDERS`].
    pub folder: &'static str,
    /// Below it; empty if it is the folder itself.
    pub below: PathBuf,
    pub source: Source,
}

/// Everything that a run is given, sorted by its place. Nothing lies in anything else.
#[derive(Debug)]
pub(crate) struct Inputs(pub Vec<Input>);

impl Inputs {
    /// The bytes that are not on the host.
    pub fn bytes(&self) -> u64 {
        let length = |input: &Input| match &input.source {
            Source::Bytes(bytes) => bytes.len() as u64,
            Source::Host { .. } => 0,
        };
        self.0.iter().map(length).sum()
    }

    /// Shows the files of the host that have names to somebody.
    pub fn show(&self, witness: &dyn Witness) {
        for input in self.0.iter().filter(|input| input.folder == INPUTS) {
            if let (Source::Host { source, held }, Some(name)) = (&input.source, input.below.to_str())
                // A mount has a place, and no name.
                && !source.name.starts_with('/')
            {
                witness.given(name, held.as_fd());
            }
        }
    }

    /// How it is told to whoever hands it in.
    pub fn given(&self) -> Vec<Given> {
        let mut start = 0;
        let one = |input: &Input| Given {
            // Not by the link that code goes through.
            folder: format!("{INPUT_ROOT}{}", input.folder).into(),
            below: input.below.clone(),
            source: match &input.source {
                Source::Host { source, .. } => GivenSource::Host(source.clone()),
                Source::Bytes(bytes) => {
                    let length = bytes.len() as u64;
                    start += length;
                    GivenSource::Bytes { start: start - length, length }
                }
            },
        };
        self.0.iter().map(one).collect()
    }

    /// Links by which the code finds it from its working directory: each folder, and each name in the
    /// first of them. `place` is where a folder lies.
    pub fn links(&self, place: impl Fn(&str) -> PathBuf) -> Vec<Link> {
        let mut links = BTreeSet::new();
        for input in &self.0 {
            links
                .insert((PathBuf::from(input.folder.trim_start_matches('/')), place(input.folder)));
            let first = input.below.components().next().map(|part| Path::new(part.as_os_str()));
            if let (INPUTS, Some(first)) = (input.folder, first) {
                links.insert((first.into(), place(INPUTS).join(first)));
            }
        }
        links.into_iter().map(|(path, target)| Link { path, target }).collect()
    }

    /// A file in memory with all bytes, one after the other; none if there are none.
    pub fn memory(&self) -> io::Result<Option<OwnedFd>> {
        if self.bytes() == 0 {
            return Ok(None);
        }
        let mut file = std::fs::File::from(memfd_create("carboy-inputs", MemfdFlags::CLOEXEC)?);
        for input in &self.0 {
            if let Source::Bytes(bytes) = &input.source {
                file.write_all(bytes)?;
            }
        }
        Ok(Some(file.into()))
    }
}

/// The folder of what is given by name.
const INPUTS: &str = INPUT_FOLDERS[0];
