//! A recorded run once more, and what differs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use carboy_engine::{
    Artifacts, Config, Engine, Installation, Keeper, PoolConfig, RunOptions, Versions, Witness,
};
use carboy_protocol::{Artifact, ArtifactWish, Job, LeftOutReason, Outcome};
use carboy_store::{
    Describe, GivenFile, GivenFiles, Record, RunFacts, Store, result_sha256, sha256,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::arguments::{DIFFERS, Replay};
use super::words::{end_of, run_of};
use crate::command_run::input;
use crate::ends::end_word;
use crate::failure::{Failure, print, print_json};
use crate::guest_text::visible;
use crate::paint::Paint;

/// Something that is not as it was.
#[derive(Serialize)]
struct Difference {
    what: &'static str,
    recorded: Option<String>,
    now: Option<String>,
}

/// What came of a replay.
#[derive(Serialize)]
struct Replayed {
    /// Of the recorded run.
    id: String,
    /// Whether the code answered, printed and ended as it did.
    same: bool,
    /// What the code did otherwise.
    outcome: Vec<Difference>,
    /// What around it is otherwise.
    surroundings: Vec<Difference>,
    /// What came of it now.
    now: Outcome,
}

pub async fn replay(directory: &Path, arguments: Replay) -> Result<ExitCode, Failure> {
    let record = Store::open(directory)?.find(&arguments.id)?;
    let run = run_of(&record)?;
    let typed = arguments.input.as_deref().map(input).transpose()?;
    let job = job(&record, run, typed)?;
    let python = arguments.python.unwrap_or_else(|| run.versions.program.clone().into());
    let engine = Engine::new(Config {
        preload: run.versions.preload.clone(),
        // It was taken once; that it is newer than those tested is no reason not to.
        versions: Versions::Newer,
        pool: PoolConfig { ceiling: 0, ..PoolConfig::default() },
        ..Config::new(Installation::own(), python)
    })?;
    let plan = Describe::plan(&engine, &job.policy).map(sha256);
    let versions = carboy_store::described(&engine, &job.code);
    let files = Arc::new(GivenFiles::of(&job.files));
    let witness: Option<Arc<dyn Witness>> = Some(files.clone());
    let options = RunOptions { witness, artifacts: wanted(run), ..RunOptions::default() };
    let ran = engine.run_with(job, options).await;
    engine.shutdown().await;
    let now = ran?;
    let mut surroundings = Differences::default();
    surroundings.compare("plan", run.plan_sha256.clone(), plan);
    let was = &run.versions;
    surroundings.compare("carboy", Some(was.carboy.clone()), Some(versions.carboy));
    surroundings.compare("kernel", Some(was.kernel.clone()), Some(versions.kernel));
    surroundings.compare("machine", Some(was.machine.clone()), Some(versions.machine));
    surroundings.compare("interpreter", Some(was.python.clone()), Some(versions.python));
    surroundings.compare("packages", Some(listed(&was.packages)), Some(listed(&versions.packages)));
    let (then, today) = (was.environment_sha256.clone(), versions.environment_sha256);
    surroundings.compare("installed packages", then, today);
    let given = |files: &[GivenFile]| given(files, &run.files);
    surroundings.lists("files it was given", given(&run.files), given(&files.hashed().await));
    let outcome = outcome(&record, run, &now);
    let same = outcome.is_empty();
    let replayed =
        Replayed { id: run.id.clone(), same, outcome, surroundings: surroundings.0, now };
    if arguments.json {
        print_json(&replayed)?;
    } else {
        print(&describe(&replayed, Paint::stdout()))?;
    }
    Ok(if same { ExitCode::SUCCESS } else { DIFFERS.into() })
}

/// The job as it was, if everything of it is there.
fn job(record: &Record, run: &RunFacts, given: Option<Box<RawValue>>) -> Result<Job, Failure> {
    let missing = |what: &str, hint: &str| {
        Err(Failure::usage(format!("run {} cannot be replayed: {what}", run.id), hint))
    };
    let (Some(code), Some(rest)) = (&record.code, &record.job) else {
        return missing("its code is not recorded", "`carboy runs` lists the runs");
    };
    if let Some(tool) = rest.tools.first() {
        let what = format!("its code could call {}, a function of its caller's", tool.name);
        return missing(&what, "`carboy runs export` prints the code, for whoever has its tools");
    }
    let mut inputs = record.inputs.clone().unwrap_or_default();
    if let Some(given) = given {
        inputs.insert("context".into(), given);
    }
    for input in &run.inputs {
        let Some(value) = inputs.get(&input.name) else {
            let what = format!("the bytes of its input {} are not recorded", input.name);
            return missing(&what, "record with --record-inputs, or pass `context` with --input");
        };
        if sha256(value.get()) != input.sha256 {
            let what = format!("the input {} is not the one that it had", input.name);
            return missing(&what, "pass the very bytes: `carboy runs show` prints their digest");
        }
    }
    if let Some(file) = run.files.iter().find(|file| !rest.files.contains_key(&file.name)) {
        let what = format!("the bytes of the file {} are not recorded", file.name);
        return missing(&what, "record with --record-inputs");
    }
    let (files, mounts) = (rest.files.clone(), rest.mounts.clone());
    let frames = rest.frames.clone();
    Ok(Job { inputs, files, mounts, frames, ..Job::new(code).with_policy(rest.policy.clone()) })
}

fn listed(packages: &BTreeMap<String, String>) -> String {
    let names = packages.iter().map(|(name, version)| format!("{name} {version}"));
    names.collect::<Vec<_>>().join(", ")
}

/// What was wanted of the files that the run left: as much is wanted now, so that they can be compared.
fn wanted(run: &RunFacts) -> Artifacts {
    let is_hashed = run.artifacts.iter().any(|file| file.sha256.is_some());
    match run.artifacts_wanted {
        Some(ArtifactWish::None) => Artifacts::None,
        Some(ArtifactWish::Keep) => Artifacts::Keep(Arc::new(Hashed)),
        None if is_hashed => Artifacts::Keep(Arc::new(Hashed)),
        Some(ArtifactWish::List) | None => Artifacts::List,
    }
}

/// Wants the digests of files and nothing else of them.
#[derive(Debug)]
struct Hashed;

impl Keeper for Hashed {
    fn keep(&self, _run: &str, _file: &Artifact, _content: &mut dyn Read) -> std::io::Result<()> {
        Ok(())
    }
}

/// Files that a run was given, by what tells them apart: the digest where the record has one, and otherwise the
/// time of the last change, which says nothing about content that was hashed.
fn given(files: &[GivenFile], recorded: &[GivenFile]) -> Vec<String> {
    let hashed = recorded.iter().filter(|file| file.sha256.is_some());
    let hashed: BTreeSet<_> = hashed.map(|file| file.name.as_str()).collect();
    let words = |file: &GivenFile| {
        let size = file.bytes.map_or("unknown size".into(), |bytes| format!("{bytes} bytes"));
        let digest = file.sha256.as_deref().filter(|_| hashed.contains(file.name.as_str()));
        let mark = digest.or(file.modified.as_deref()).unwrap_or_default();
        format!("{} ({size}, {mark})", file.name)
    };
    files.iter().map(words).collect()
}

/// Files that a run left, by what tells them apart: the digest too, where the record has one.
fn left(files: &[Artifact], recorded: &[Artifact]) -> Vec<String> {
    let hashed = recorded.iter().filter(|file| file.sha256.is_some());
    let hashed: BTreeSet<_> = hashed.map(|file| file.path.as_str()).collect();
    let words = |file: &Artifact| {
        let digest = file.sha256.as_ref().filter(|_| hashed.contains(file.path.as_str()));
        let digest = digest.map(|digest| format!(", {digest}")).unwrap_or_default();
        format!("{} ({} bytes{digest})", file.path, file.bytes)
    };
    files.iter().map(words).collect()
}

#[derive(Default)]
struct Differences(Vec<Difference>);

impl Differences {
    fn compare(&mut self, what: &'static str, recorded: Option<String>, now: Option<String>) {
        if recorded != now {
            self.0.push(Difference { what, recorded, now });
        }
    }

    /// Of two lists, what is only in one of them.
    fn lists(&mut self, what: &'static str, recorded: Vec<String>, now: Vec<String>) {
        let only = |these: &[String], others: &[String]| {
            let others: BTreeSet<_> = others.iter().collect();
            let only: Vec<_> =
                these.iter().filter(|item| !others.contains(item)).cloned().collect();
            (!only.is_empty()).then(|| only.join(", "))
        };
        self.compare(what, only(&recorded, &now), only(&now, &recorded));
    }
}

/// What the code did otherwise.
fn outcome(record: &Record, run: &RunFacts, now: &Outcome) -> Vec<Difference> {
    let mut found = Differences::default();
    let then = record.outcome.as_deref();
    let limit = |outcome: &Outcome| {
        let limit = outcome.error.as_ref().and_then(|error| error.limit.as_ref());
        limit.map_or(String::new(), |limit| format!(" {}", limit.name.as_str()))
    };
    let end = |outcome: &Outcome| match &outcome.error {
        Some(error) if error.limit.is_none() => {
            format!("{} {}", end_word(outcome), error.type_name)
        }
        _ => format!("{}{}", end_word(outcome), limit(outcome)),
    };
    found.compare("end", Some(end_of(run)), Some(end(now)));
    found.compare("result sha256", run.result_sha256.clone(), result_sha256(now));
    let message = |outcome: &Outcome| outcome.error.as_ref().map(|error| error.message.clone());
    found.compare("error message", then.and_then(message), message(now));
    let output = |outcome: &Outcome| outcome.stdout.text.clone();
    found.compare("standard output", then.map(output), Some(output(now)));
    let errors = |outcome: &Outcome| outcome.stderr.text.clone();
    found.compare("standard error", then.map(errors), Some(errors(now)));
    let refused = |outcome: &Outcome| {
        let names: Vec<_> = outcome.denials.iter().map(|denial| denial.what.as_str()).collect();
        names.join(", ")
    };
    found.compare("denials", then.map(refused), Some(refused(now)));
    let left_out = then.iter().flat_map(|then| &then.artifacts_left_out);
    let unkept = left_out.filter(|out| out.reason == LeftOutReason::Store);
    let unkept: BTreeSet<_> = unkept.flat_map(|out| &out.paths).collect();
    // What could not be kept then was left all the same, and now there is nothing that could refuse it.
    let files: Vec<_> =
        now.artifacts.iter().filter(|file| !unkept.contains(&file.path)).cloned().collect();
    found.lists("files", left(&run.artifacts, &run.artifacts), left(&files, &run.artifacts));
    let shown = |outcome: &Outcome| {
        let kinds = outcome.displays.iter().map(|display| display.media_type.as_str());
        kinds.collect::<Vec<_>>().join(", ")
    };
    found.compare("displays", then.map(shown), Some(shown(now)));
    found.0
}

fn describe(replayed: &Replayed, paint: Paint) -> String {
    let mut text = String::new();
    let shown = |value: &Option<String>| {
        let value = visible(value.as_deref().unwrap_or("nothing")).replace(['\n', '\t'], " ");
        let cut: String = value.chars().take(200).collect();
        if cut.len() < value.len() { format!("{cut}…") } else { cut }
    };
    for (word, list) in [
        (paint.red("differs:"), &replayed.outcome),
        (paint.yellow("changed:"), &replayed.surroundings),
    ] {
        for Difference { what, recorded, now } in list {
            text.push_str(&format!("{word} {what}\n"));
            text.push_str(&format!("  {} {}\n", paint.dim("recorded:"), shown(recorded)));
            text.push_str(&format!("  {} {}\n", paint.dim("now:     "), shown(now)));
        }
    }
    let word = if replayed.same { paint.green("same") } else { paint.red("different") };
    text.push_str(&format!("{word}: {}\n", replayed.id));
    text
}
