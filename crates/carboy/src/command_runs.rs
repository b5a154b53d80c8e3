//! `carboy runs`: what remains of runs.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use carboy_protocol::quantity;
use carboy_store::{Head, Keep, Removed, Store, StoreError};

use crate::failure::{Failure, print, print_json};
use crate::guest_text::one_line;
use crate::paint::Paint;
use crate::runs::arguments::{DIFFERS, Prune, Runs, Verify, What};
use crate::runs::{export, list, replay, show};

pub async fn runs(arguments: Runs) -> Result<ExitCode, Failure> {
    arguments.check()?;
    let directory = arguments.directory()?;
    match arguments.what {
        None => list::list(&directory, &arguments.list),
        Some(What::List(list)) => list::list(&directory, &list),
        Some(What::Show(show)) => show::show(&directory, &show),
        Some(What::Replay(replay)) => replay::replay(&directory, replay).await,
        Some(What::Export(export)) => export::export(&directory, &export),
        Some(What::Verify(verify)) => self::verify(&directory, &verify),
        Some(What::Head(head)) => {
            let found = Store::open(directory)?.head()?;
            if head.json {
                print_json(&found)?;
            } else {
                print(&format!("{}:{}\n", found.seq, one_line(&found.hash)))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(What::Prune(prune)) => self::prune(&directory, &prune),
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

fn verify(directory: &Path, arguments: &Verify) -> Result<ExitCode, Failure> {
    let noted = arguments.head.as_deref().map(noted).transpose()?;
    let store = Store::open(directory)?;
    let report = store.verify(noted.as_ref())?;
    if arguments.json {
        print_json(&report)?;
    } else {
        let paint = Paint::stdout();
        let mut text = String::new();
        for wrong in &report.wrong {
            text.push_str(&format!(
                "{} record {}: {}\n",
                paint.red("wrong:"),
                wrong.seq,
                one_line(&wrong.what)
            ));
        }
        let word = if report.is_whole() { paint.green("whole") } else { paint.red("not whole") };
        let Head { seq, hash } = &report.head;
        let first = report.first.map_or("no record".into(), |first| format!("from record {first}"));
        text.push_str(&format!(
            "{word}: {} records, {first} to {seq}:{}\n",
            report.records,
            one_line(hash)
        ));
        if report.is_whole() && noted.is_none() {
            let note = "compare this end with one that was noted elsewhere, with --head: a chain that was \
                        written anew is whole too";
            text.push_str(&format!("{} {note}\n", paint.dim("note:")));
        }
        print(&text)?;
    }
    Ok(if report.is_whole() { ExitCode::SUCCESS } else { DIFFERS.into() })
}

fn noted(text: &str) -> Result<Head, Failure> {
    let parts = text.trim().split_once(':');
    let head =
        parts.and_then(|(seq, hash)| Some(Head { seq: seq.parse().ok()?, hash: hash.into() }));
    let is_hash = |head: &Head| {
        head.hash.len() == 64 && head.hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    head.filter(is_hash).ok_or_else(|| {
        Failure::usage(
            format!("{text:?} is not the end of a chain"),
            "pass what `carboy runs head` printed: a number, a colon and 64 hexadecimal digits",
        )
    })
}

fn prune(directory: &Path, arguments: &Prune) -> Result<ExitCode, Failure> {
    let bytes = arguments.keep_bytes.as_deref().map(|text| {
        quantity::parse(text).ok_or_else(|| {
            Failure::usage(
                format!("{text:?} is not a number of bytes"),
                "write 500MB, 2GiB or 1000000",
            )
        })
    });
    let day = Duration::from_secs(86_400);
    let keep = Keep { age: arguments.keep_days.map(|days| day * days), bytes: bytes.transpose()? };
    let removed = Store::prune(directory, keep, SystemTime::now())?;
    if arguments.json {
        print_json(&removed)?;
    } else {
        let files = match removed.files {
            0 => String::new(),
            1 => " and 1 file".into(),
            count => format!(" and {count} files"),
        };
        let Removed { records, remain, .. } = removed;
        print(&format!("{records} records{files} removed, {remain} records remain\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
