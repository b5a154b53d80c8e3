//! `carboy explain`.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use carboy_engine::Plan;
use carboy_jail::profile::Profile;
use carboy_jail::{GivenSource, JarDirectory, MountKind};
use carboy_protocol::{INPUT_ROOT, Job, LanguagePolicy, LimitName, Policy, Walls};

use crate::arguments::Explain;
use crate::failure::{Failure, print, print_json};
use crate::given::give;
use crate::guest_text::one_line;
use crate::paint::Paint;

pub fn explain(arguments: Explain) -> Result<std::process::ExitCode, Failure> {
    let job = give(Job::default().with_policy(arguments.choice.policy()?), &arguments.given)?;
    let engine = arguments.choice.engine()?;
    let plan = engine.plan_of(&job)?;
    if arguments.json {
        print_json(&plan)?;
    } else {
        let text = describe(&plan, engine.memory_budget(), Paint::stdout());
        print(&text)?;
    }
    Ok(0.into())
}

/// Lines of a name and a value, under headings.
struct Page {
    text: String,
    paint: Paint,
}

impl Page {
    fn heading(&mut self, words: &str) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        self.text.push_str(&format!("{gap}{}\n", self.paint.bold(words)));
    }

    fn line(&mut self, name: &str, value: impl Display) {
        // Names and paths that others chose are in both.
        let (name, value) = (one_line(name), one_line(&value.to_string()));
        self.text.push_str(&format!("  {name:<18} {value}\n"));
    }

    fn path(&mut self, path: &Path, remark: &str) {
        let path = one_line(&path.display().to_string());
        let remark = self.paint.dim(&one_line(remark));
        self.text.push_str(&format!("  {path} {remark}\n"));
    }
}

/// Because of what something can be read, as a remark.
fn because(plan: &Plan, path: &Path) -> String {
    let because = plan.because.get(path).into_iter().flatten();
    let because: Vec<String> = because.map(ToString::to_string).collect();
    if because.is_empty() { String::new() } else { format!(": {}", because.join(", ")) }
}

/// What the caller asked for, with every default.
fn describe_policy(page: &mut Page, policy: &Policy) {
    page.heading("policy");
    page.line("walls", policy.walls.as_str());
    if policy.landlock_abi > 0 {
        page.line("landlock", format!("version {} at least", policy.landlock_abi));
    }
    if policy.cgroup {
        page.line("cgroup", "must bound the jar");
    }
    page.line("network", "none");
    if let Some(folders) = &policy.inputs_from {
        let names: Vec<_> = folders.iter().map(|folder| folder.to_string_lossy()).collect();
        page.line("inputs from", if names.is_empty() { "nowhere".into() } else { names.join(" ") });
    }
    if !policy.session_files.is_shared() {
        page.line("session files", "roll back with memory");
    }
    page.line("results", if policy.strict { "must be JSON" } else { "are converted to JSON" });
    page.heading("limits");
    for name in LimitName::ALL {
        page.line(name.as_str(), name.row().allowing(policy.limits.get(*name)));
    }
    page.heading("language");
    let LanguagePolicy { profile, imports } = &policy.language;
    page.line("profile", format!("{}: {}", profile.as_str(), profile.words()));
    let modules = carboy_guard::modules(*profile);
    if !modules.is_empty() {
        page.line("modules", format!("{}: {}", modules.len(), modules.join(" ")));
    }
    if !imports.is_empty() {
        page.line("granted beyond", imports.join(" "));
    }
}

/// What the run is handed.
fn describe_given(page: &mut Page, plan: &Plan) {
    if plan.given.is_empty() {
        return;
    }
    page.heading("is handed in, read-only");
    // Where nothing can be mounted, it is found from the working directory alone.
    let from = if plan.policy.walls == Walls::Nested { "" } else { "/" };
    for one in &plan.given {
        let folder = one.folder.strip_prefix(INPUT_ROOT).unwrap_or(&one.folder);
        let folder = Path::new(from).join(folder);
        let place: PathBuf = folder.components().chain(one.below.components()).collect();
        let remark = match &one.source {
            GivenSource::Host(source) if source.directory => {
                format!("{}, with all below it", source.path.display())
            }
            GivenSource::Host(source) => source.path.display().to_string(),
            GivenSource::Bytes { length, .. } => format!("{length} bytes"),
        };
        page.path(&place, &remark);
    }
}

/// What tells code where it is, folder by folder.
fn describe_generated(page: &mut Page, plan: &Plan) {
    let all = plan.generated();
    if all.is_empty() {
        return;
    }
    page.heading("is generated, read-only, and tells of the jar");
    for top in all.iter().filter(|path| path.components().count() == 2) {
        let within = all.iter().filter_map(|path| path.strip_prefix(top).ok());
        let is_leaf = |path: &&Path| {
            let path = top.join(path);
            !all.iter().any(|other| *other != path && other.starts_with(&path))
        };
        let names: Vec<_> = within.filter(is_leaf).map(|path| path.to_string_lossy()).collect();
        page.line(&top.to_string_lossy(), names.join(" "));
    }
}

/// `budget`: what all runs together may come to use, and who says so.
fn describe(plan: &Plan, budget: (u64, &str), paint: Paint) -> String {
    let mut page = Page { text: String::new(), paint };
    describe_policy(&mut page, &plan.policy);
    page.heading("who");
    let identity = &plan.zygote.identity;
    page.line("on the host", format!("user {}, group {}", identity.outer_uid, identity.outer_gid));
    page.line("inside", format!("user {}, group {}", identity.inner_uid, identity.inner_gid));
    page.line("capabilities", "none");
    page.heading("can be read");
    if plan.zygote.mounts.is_empty() {
        for path in &plan.walls.landlock.readable {
            let because = because(plan, path);
            page.path(path, &format!("by Landlock's rules, on the host's own tree{because}"));
        }
    }
    for mount in &plan.zygote.mounts {
        let remark = match mount.kind {
            MountKind::Directory => "with all below it, read-only",
            MountKind::File => "read-only",
            MountKind::Device => "device",
        };
        page.path(&mount.target, &format!("{remark}{}", because(plan, &mount.target)));
    }
    for path in &plan.walls.landlock.listed {
        page.path(path, "only the names of its files");
    }
    for one in &plan.left_out {
        let by = one.named_by.display();
        page.path(&one.path, &format!("cannot, though {by} names it: {}", one.why));
    }
    describe_given(&mut page, plan);
    describe_generated(&mut page, plan);
    page.heading("can be written");
    match &plan.jar.directory {
        JarDirectory::Memory { bytes, inodes, temporary, .. } => {
            let remark =
                format!("in memory, {bytes} bytes and {inodes} files for all, gone after the run");
            page.path(Path::new("/jar"), "the current directory");
            page.path(Path::new("/dev/shm"), "for shared memory");
            page.path(temporary, &remark);
        }
        JarDirectory::Host { .. } => {
            page.path(
                Path::new("the current directory and TMPDIR"),
                "private, removed after the run",
            );
        }
    }
    page.heading("system calls");
    if let Ok(profile) = Profile::process(plan.policy.walls, plan.walls.landlock.abi) {
        let allowed = profile.allowed();
        page.line("profile", &plan.walls.profile);
        page.line("allowed", format!("{} calls: {}", allowed.len(), allowed.join(" ")));
        let rest = profile.len() - allowed.len();
        page.line(
            "refused",
            format!("{rest} calls get an error, and are named in the outcome if plausible"),
        );
        page.line("all others", "get an error and are named in the outcome");
    }
    page.heading("landlock");
    page.line("version", plan.walls.landlock.abi);
    for lack in &plan.walls.landlock.instead {
        page.line(&lack.right, format!("not before Linux {}; {}", lack.since, lack.held_by));
    }
    page.heading("kernel limits");
    for limit in &plan.jar.rlimits {
        page.line(&format!("{:?}", limit.resource), limit.value);
    }
    page.heading("memory of all runs together");
    page.line("budget", format!("{} MiB ({})", budget.0 >> 20, budget.1));
    page.heading("interpreter");
    page.line("program", plan.zygote.program.display());
    for (name, value) in &plan.zygote.environment {
        page.line("environment", format!("{name}={value}"));
    }
    page.text
}

#[cfg(test)]
mod tests {
    use carboy_protocol::LanguageProfile;

    use super::*;

    fn described(policy: &Policy) -> String {
        let mut page = Page { text: String::new(), paint: Paint::none() };
        describe_policy(&mut page, policy);
        page.text
    }

    #[test]
    fn every_limit_stands_in_the_explanation_with_its_value() {
        let mut policy = Policy::default();
        for (at, name) in LimitName::ALL.iter().enumerate() {
            policy.limits.set(*name, 1_234_500 + at as u64);
        }
        let text = described(&policy);
        for name in LimitName::ALL {
            let row = name.row();
            let line = format!("  {:<18} {}\n", row.field, row.allowing(policy.limits.get(*name)));
            assert!(text.contains(&line), "no {line:?} in {text}");
        }
    }

    #[test]
    fn the_language_stands_in_the_explanation() {
        let text = described(&Policy::default());
        assert!(text.contains("  profile            open: all of Python"), "{text}");
        assert!(!text.contains("modules"), "{text}");
        let mut policy =
            Policy { language: LanguagePolicy::of(LanguageProfile::Hook), ..Policy::default() };
        policy.language.imports = vec!["mypackage".into(), "os.path".into()];
        let text = described(&policy);
        for line in [
            "  profile            hook: small scripts that only compute",
            "  modules            8: collections datetime functools itertools json math random re\n",
            "  granted beyond     mypackage os.path\n",
        ] {
            assert!(text.contains(line), "no {line:?} in {text}");
        }
    }
}
