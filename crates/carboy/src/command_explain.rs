//! `carboy explain`.

use std::fmt::Display;
use std::path::Path;

use carboy_engine::Plan;
use carboy_jail::profile::Profile;
use carboy_jail::{JarDirectory, MountKind};

use crate::arguments::Explain;
use crate::failure::{Failure, print, print_json};
use crate::paint::Paint;

pub fn explain(arguments: Explain) -> Result<std::process::ExitCode, Failure> {
    let plan = match attempt(&arguments) {
        Err(failure) if arguments.json => return failure.report_json(),
        other => other?,
    };
    if arguments.json {
        print_json(&plan)?;
    } else {
        let text = describe(&plan, Paint::stdout());
        print(&text)?;
    }
    Ok(0.into())
}

fn attempt(arguments: &Explain) -> Result<Plan, Failure> {
    let policy = arguments.choice.policy()?;
    Ok(arguments.choice.engine()?.plan(&policy)?)
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
        self.text.push_str(&format!("  {name:<18} {value}\n"));
    }

    fn path(&mut self, path: &Path, remark: &str) {
        let remark = self.paint.dim(remark);
        self.text.push_str(&format!("  {} {remark}\n", path.display()));
    }
}

fn describe(plan: &Plan, paint: Paint) -> String {
    let mut page = Page { text: String::new(), paint };
    let limits = &plan.policy.limits;
    page.heading("policy");
    page.line("walls", plan.policy.walls.as_str());
    page.line("network", "none");
    for (name, value, unit) in [
        ("wall_ms", limits.wall_ms, "ms"),
        ("cpu_ms", limits.cpu_ms, "ms, counted in whole seconds"),
        ("memory_bytes", limits.memory_bytes, "bytes beyond the warm interpreter"),
        ("output_bytes", limits.output_bytes, "bytes"),
        ("result_bytes", limits.result_bytes, "bytes"),
        ("result_depth", limits.result_depth, "levels"),
        ("file_bytes", limits.file_bytes, "bytes"),
        ("files", limits.files, "files and directories"),
        ("open_files", limits.open_files, "at once"),
        ("threads", limits.threads, "at once"),
        ("processes", limits.processes, "in all"),
        ("denials", limits.denials, "refused calls"),
    ] {
        page.line(name, format!("{value} {unit}"));
    }
    page.heading("who");
    let identity = &plan.zygote.identity;
    page.line("on the host", format!("user {}, group {}", identity.outer_uid, identity.outer_gid));
    page.line("inside", format!("user {}, group {}", identity.inner_uid, identity.inner_gid));
    page.line("capabilities", "none");
    page.heading("can be read");
    if plan.zygote.mounts.is_empty() {
        for path in &plan.walls.landlock.readable {
            page.path(path, "by Landlock's rules, on the host's own tree");
        }
    }
    for mount in &plan.zygote.mounts {
        let remark = match mount.kind {
            MountKind::Directory => "with all below it, read-only",
            MountKind::File => "read-only",
            MountKind::Device => "device",
        };
        page.path(&mount.target, remark);
    }
    page.heading("can be written");
    match &plan.jar.directory {
        JarDirectory::Memory { bytes, inodes, temporary } => {
            let remark =
                format!("in memory, {bytes} bytes and {inodes} files for both, gone after the run");
            page.path(Path::new("/jar"), "the current directory");
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
    if let Ok(profile) = Profile::process(plan.policy.walls) {
        let allowed = profile.allowed();
        page.line("profile", &plan.walls.profile);
        page.line("allowed", format!("{} calls: {}", allowed.len(), allowed.join(" ")));
        let rest = profile.len() - allowed.len();
        page.line(
            "refused",
            format!("{rest} calls get an error, and are named in the outcome if plausible"),
        );
        page.line("all others", "end the run");
    }
    page.heading("kernel limits");
    for limit in &plan.jar.rlimits {
        page.line(&format!("{:?}", limit.resource), limit.value);
    }
    page.heading("interpreter");
    page.line("program", plan.zygote.program.display());
    for (name, value) in &plan.zygote.environment {
        page.line("environment", format!("{name}={value}"));
    }
    page.text
}
