//! Files of this machine that a script may read, as they are named on the command line.

use std::path::{Path, PathBuf};

use carboy_protocol::{DataFormat, DataKind, FileSource, Job};
use clap::Args;

use crate::failure::Failure;

/// Files of this machine that a script may read.
#[derive(Args)]
pub struct Given {
    /// A file that the script can read, as NAME and as /inputs/NAME; NAME is the file's own if it is left
    /// out. May be given more than once
    #[arg(long = "file", value_name = "[NAME=]PATH")]
    pub files: Vec<String>,
    /// A directory, or a file, that the script can read at PLACE, such as /data. May be given more than once
    #[arg(long = "mount", value_name = "PLACE=PATH")]
    pub mounts: Vec<String>,
    /// A CSV, JSONL, Parquet or Arrow file that the script finds as the variable NAME: a frame of the library that
    /// it imports, or of this KIND, such as polars.DataFrame. The end of its name tells its format, or FORMAT
    /// does, such as csv. May be given more than once
    #[arg(long = "frame", value_name = "[KIND:][FORMAT:]NAME=PATH")]
    pub frames: Vec<String>,
}

/// The job with these files and mounts.
pub fn give(mut job: Job, given: &Given) -> Result<Job, Failure> {
    let twice = |name: &str| {
        Failure::usage(
            format!("{name} is given twice"),
            "give each file and mount a name of its own",
        )
    };
    for text in &given.files {
        let (name, path) = file(text)?;
        if job.files.contains_key(&name) {
            return Err(twice(&name));
        }
        job = job.with_file(name, FileSource::Path(absolute(&path)?));
    }
    for text in &given.mounts {
        let (place, path) = text.split_once('=').ok_or_else(|| {
            Failure::usage(
                format!("the mount {text} has no place"),
                "name the place and the directory, for example --mount /data=./data",
            )
        })?;
        if job.mounts.contains_key(place) {
            return Err(twice(place));
        }
        job = job.with_mount(place, absolute(Path::new(path))?);
    }
    for text in &given.frames {
        let Frame { kind, format, name, path } = frame(text)?;
        if job.frames.contains_key(name) {
            return Err(twice(name));
        }
        job = job.with_frame(name, absolute(Path::new(path))?);
        if let Some(frame) = job.frames.get_mut(name) {
            (frame.kind, frame.format) = (kind, format);
        }
    }
    Ok(job)
}

/// A frame as it is named.
struct Frame<'a> {
    kind: Option<DataKind>,
    format: Option<DataFormat>,
    name: &'a str,
    path: &'a str,
}

/// What is said of a frame, and where its file is.
fn frame(text: &str) -> Result<Frame<'_>, Failure> {
    let (left, path) = text.split_once('=').ok_or_else(|| {
        Failure::usage(
            format!("the frame {text} has no name"),
            "name the variable and the file, for example --frame sales=sales.parquet",
        )
    })?;
    let mut words: Vec<_> = left.split(':').collect();
    let name = words.pop().unwrap_or_default();
    let mut frame = Frame { kind: None, format: None, name, path };
    for word in words {
        match (DataKind::of(word), DataFormat::named(word)) {
            (Some(kind), _) if frame.kind.is_none() => frame.kind = Some(kind),
            (_, Some(format)) if frame.format.is_none() => frame.format = Some(format),
            (None, None) => {
                let kinds = DataKind::NAMES.map(|(name, _)| name).join(", ");
                let formats = DataFormat::NAMES.map(|(name, _)| name).join(", ");
                return Err(Failure::usage(
                    format!("{word} is no kind of frame"),
                    format!(
                        "name one of {kinds}, a format ({formats}), or none: --frame {name}={path}"
                    ),
                ));
            }
            _ => {
                return Err(Failure::usage(
                    format!("the frame {name} has more than one kind or format"),
                    format!("name one of each at most: --frame pandas.DataFrame:csv:{name}={path}"),
                ));
            }
        }
    }
    Ok(frame)
}

/// The name of a file, and where it is. A path that is there as it stands has no name in front of it.
fn file(text: &str) -> Result<(String, PathBuf), Failure> {
    if let Some((name, path)) = text.split_once('=')
        && !Path::new(text).exists()
    {
        return Ok((name.into(), path.into()));
    }
    let name = Path::new(text).file_name().and_then(|name| name.to_str()).ok_or_else(|| {
        Failure::usage(
            format!("the file {text} has no name"),
            "name a file, for example --file sales.csv, or --file sales.csv=/srv/sales-2026.csv",
        )
    })?;
    Ok((name.into(), text.into()))
}

/// A path as the engine wants it.
fn absolute(path: &Path) -> Result<String, Failure> {
    if path.as_os_str().is_empty() {
        return Err(Failure::usage(
            "a path is empty",
            "name a file of this machine behind the =, for example --file sales.csv=/srv/sales.csv",
        ));
    }
    let absolute = std::path::absolute(path).map_err(Failure::os("find the current directory"))?;
    absolute.into_os_string().into_string().map_err(|path| {
        Failure::usage(
            format!("the path {} is not UTF-8", path.display()),
            "rename it, or hand in a link to it",
        )
    })
}
