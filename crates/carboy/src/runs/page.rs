//! A recorded run as a page that needs nothing else: what the page of any run has, and where the record stands.

use carboy_protocol::{Display, MediaType, base64};
use carboy_store::{Record, RunFacts, Store};
use serde_json::value::to_raw_value;

use super::words::{end_of, given_words};
use crate::failure::Failure;
use crate::page::run::Page;

/// The whole page.
pub fn page(store: &Store, record: &Record, run: &RunFacts) -> Result<String, Failure> {
    let time = record.facts.time.get(..19).unwrap_or(&record.facts.time).replace('T', " ");
    let tenant =
        if run.tenant.is_empty() { String::new() } else { format!(", for {}", run.tenant) };
    let (pictures, missing) = pictures(store, run)?;
    let mut about = about(record, run);
    about.extend(missing.into_iter().map(|words| ("not shown", words)));
    let page = Page {
        title: format!("run {}", run.id.get(..12).unwrap_or(&run.id)),
        end: (run.status.as_str(), end_of(run)),
        remark: format!("{time} UTC{tenant}"),
        code: record.code.as_deref(),
        outcome: record.outcome.as_deref(),
        failure: run.failure.as_ref().map(|failure| failure.message.as_str()),
        pictures,
        about,
    };
    Ok(page.html())
}

/// The most bytes of pictures on a page.
const MOST_PICTURES: u64 = 32 << 20;

/// The pictures among the files that it left, if their content was kept, and why others are not there.
fn pictures(store: &Store, run: &RunFacts) -> Result<(Vec<Display>, Vec<String>), Failure> {
    let (mut found, mut missing, mut room) = (Vec::new(), Vec::new(), MOST_PICTURES);
    for file in run.artifacts.iter().filter(|_| run.artifacts_kept) {
        let is_it = |kind: &&MediaType| file.media_type.as_deref() == Some(kind.as_str());
        let kinds = [MediaType::Png, MediaType::Jpeg, MediaType::Gif, MediaType::Svg];
        let Some(media_type) = kinds.iter().find(is_it) else { continue };
        let why = match store.content(file, room) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) if file.bytes > room => Err("the page has no room for it"),
            Ok(None) => Err("its content is missing or was altered"),
            Err(_) => Err("its content cannot be read: `carboy runs verify` says why"),
        };
        let bytes = match why {
            Ok(bytes) => bytes,
            Err(why) => {
                missing.push(format!("{}: {why}", file.path));
                continue;
            }
        };
        room -= bytes.len() as u64;
        let text = match media_type {
            MediaType::Svg => String::from_utf8_lossy(&bytes).into_owned(),
            _ => base64::encode(&bytes),
        };
        let data = to_raw_value(&text).map_err(std::io::Error::other);
        let data = data.map_err(Failure::os("write a picture"))?;
        found.push(Display { media_type: *media_type, data });
    }
    Ok((found, missing))
}

/// What it ran on, and with what.
fn about(record: &Record, run: &RunFacts) -> Vec<(&'static str, String)> {
    let mut rows = vec![("id", run.id.clone())];
    for file in &run.files {
        rows.push(("given file", given_words(file)));
    }
    for (place, path) in record.job.iter().flat_map(|job| &job.mounts) {
        rows.push(("mount", format!("{place} from {path}")));
    }
    for input in &run.inputs {
        let (name, bytes, sha256) = (&input.name, input.bytes, &input.sha256);
        rows.push(("input", format!("{name}, {bytes} bytes, sha256 {sha256}")));
    }
    let versions = &run.versions;
    rows.push(("interpreter", format!("CPython {}", versions.python)));
    let names = versions.packages.iter().map(|(name, version)| format!("{name} {version}"));
    let names = names.collect::<Vec<_>>().join(", ");
    if !names.is_empty() {
        rows.push(("packages", names));
    }
    let (carboy, kernel, machine) = (&versions.carboy, &versions.kernel, &versions.machine);
    rows.push(("carboy", format!("{carboy} on Linux {kernel} {machine}")));
    for (name, digest) in [
        ("code sha256", Some(&run.code_sha256)),
        ("plan sha256", run.plan_sha256.as_ref()),
        ("result sha256", run.result_sha256.as_ref()),
    ] {
        if let Some(digest) = digest {
            rows.push((name, digest.clone()));
        }
    }
    rows.push(("record", format!("{}:{}", record.facts.seq, record.hash)));
    rows
}
