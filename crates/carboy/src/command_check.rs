//! `carboy check`: what the guard says of a program, without running it.

use carboy_engine::RequestError;
use carboy_guard::{Report, Violation, check, with_plain_newlines};
use carboy_protocol::{ExitCode, LanguagePolicy, LanguageProfile};
use serde_json::json;

use crate::arguments::Check;
use crate::command_run::read_script;
use crate::failure::{Failure, print, print_json};
use crate::guest_text::one_line;
use crate::paint::Paint;
use crate::policy_file;

pub fn check_file(arguments: &Check) -> Result<std::process::ExitCode, Failure> {
    let mut language = match &arguments.policy {
        Some(file) => {
            let policy = policy_file::read(file)?;
            policy.validate().map_err(RequestError::Policy)?;
            policy.language
        }
        None => LanguagePolicy::of(LanguageProfile::Agent),
    };
    if let Some(profile) = arguments.profile {
        language.profile = profile.into();
    }
    let source = read_script(&arguments.file)?;
    let report = check(&source, &language, arguments.python_version);
    let name = match arguments.file.to_str() {
        Some("-") => "<stdin>".into(),
        _ => arguments.file.display().to_string(),
    };
    if arguments.json {
        print_json(&json!({
            "profile": language.profile,
            "clean": report.is_clean(),
            "violations": report.violations,
            "more": report.more,
        }))?;
    } else {
        print(&page(&report, &source, &name, language.profile, Paint::stdout()))?;
    }
    let code = if report.is_clean() { ExitCode::Ok } else { ExitCode::Rejected };
    Ok((code as u8).into())
}

/// The report for a person: each violation with its line.
fn page(
    report: &Report,
    source: &str,
    name: &str,
    profile: LanguageProfile,
    paint: Paint,
) -> String {
    let profile = profile.as_str();
    if report.is_clean() {
        return format!("{} {} ({profile})\n", paint.green("clean"), one_line(name));
    }
    let source = with_plain_newlines(source);
    let lines: Vec<&str> = source.split('\n').collect();
    let mut page: String =
        report.violations.iter().map(|violation| one(violation, &lines, name, &paint)).collect();
    let count = report.violations.len() + report.more;
    let noun = if count == 1 { "violation" } else { "violations" };
    if report.more > 0 {
        page += &format!("... and {} more\n\n", report.more);
    }
    page + &format!("{} {} ({profile}): {count} {noun}\n", paint.red("refused"), one_line(name))
}

/// How much of a line is shown.
const WIDTH: usize = 100;

fn one(violation: &Violation, lines: &[&str], name: &str, paint: &Paint) -> String {
    let (line, column) = (violation.line, violation.column);
    let rule = format!("error[{}]:", violation.rule.id());
    let text = lines.get(line as usize - 1).copied().unwrap_or_default();
    // A long line is shown around its place.
    let skipped = if column as usize > WIDTH { column as usize - WIDTH / 2 } else { 0 };
    let shown: String = text.chars().skip(skipped).take(WIDTH).collect();
    let prefix: String = shown.chars().take(column as usize - 1 - skipped).collect();
    let plain = |text: &str| one_line(&text.replace('\t', " "));
    let before = " ".repeat(plain(&prefix).chars().count());
    let shown = plain(&shown);
    let length = (violation.end_column - column) as usize;
    let length = length.min((WIDTH + 1).saturating_sub(before.len())).max(1);
    let carets = paint.red(&"^".repeat(length));
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    let bar = paint.dim("|");
    format!(
        "{} {}\n{margin}{} {}:{line}:{column}\n{margin} {bar}\n{} {bar} {shown}\n{margin} {bar} {before}{carets}\n{margin} {} {}\n\n",
        paint.red(&rule),
        one_line(&violation.message),
        paint.dim("-->"),
        one_line(name),
        paint.dim(&number),
        paint.cyan("instead:"),
        one_line(&violation.instead),
    )
}
