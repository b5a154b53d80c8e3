//! What the guard says, as an outcome says it.

use carboy_guard::{Report, Rule, Violation};
use carboy_protocol::{
    Denial, FromJar, GuardFrame, GuestError, Isolation, Job, Kind, LanguagePolicy, LanguageProfile,
    Layer, Layers, Outcome, Output, Policy, Status, Usage, Walls,
};

use crate::facts::Ending;

/// The language of a job: what its policy grants, and the module of its tools.
pub(crate) fn language(policy: &Policy, job: &Job) -> LanguagePolicy {
    let mut language = policy.language.clone();
    if language.profile != LanguageProfile::Open && !job.tools.is_empty() {
        language.imports.push("tools".into());
    }
    language
}

/// What a jar is told, under a profile that grants less than everything.
pub(crate) fn frame(language: LanguagePolicy, report: Report) -> Option<GuardFrame> {
    (language.profile != LanguageProfile::Open).then_some(GuardFrame {
        profile: language.profile,
        imports: language.imports,
        own: report.guarded.own,
        code: report.guarded.edited,
    })
}

/// The outcome of a job that the guard refused. Nothing was started.
pub(crate) fn rejected(id: String, walls: Walls, report: &Report) -> Outcome {
    let first = report.violations.first();
    let count = report.violations.len() + report.more;
    let is_syntax = first.is_some_and(|first| first.rule == Rule::Syntax);
    let mut message = first.map_or(String::new(), |first| first.message.clone());
    if count > 1 {
        message += &format!(" (and {} more, see denials)", count - 1);
    }
    let error = GuestError {
        kind: Kind::Rejected,
        type_name: if is_syntax { "SyntaxError" } else { "GuardError" }.into(),
        message,
        traceback: None,
        line: first.map(|first| first.line),
        limit: None,
        exit: None,
        hint: first.map(|first| first.instead.clone()),
        operator_hint: None,
    };
    Outcome {
        id,
        status: Status::Error,
        result: None,
        result_type: None,
        result_text: None,
        result_note: None,
        displays: vec![],
        display_note: None,
        error: Some(error),
        stdout: Output::default(),
        stderr: Output::default(),
        denials: report.violations.iter().map(denial).collect(),
        probes: vec![],
        usage: Usage::default(),
        isolation: Isolation { tier: "none".into(), walls, layers: Layers::default() },
        tool_calls: vec![],
        artifacts: vec![],
        artifacts_left_out: vec![],
    }
}

fn denial(violation: &Violation) -> Denial {
    Denial {
        layer: Layer::Guard,
        what: violation.rule.id().into(),
        count: 1,
        line: Some(violation.line),
        hint: format!("{}; write instead: {}", violation.message, violation.instead),
        message: Some(violation.message.clone()),
        instead: Some(violation.instead.clone()),
    }
}

/// What the runtime half of the guard refused, in its own words: it is part of the jar, so this is
/// the one denial that no kernel vouches for.
pub(crate) fn refused_in_run(ending: &Ending) -> Option<Denial> {
    let Ending::Said(FromJar::Failed(failure)) = ending else { return None };
    let refusal = failure.refusal.as_ref()?;
    let rule = Rule::from_id(&refusal.rule)?;
    Some(Denial {
        layer: Layer::Guard,
        what: rule.id().into(),
        count: 1,
        line: failure.line,
        hint: failure.message.clone(),
        message: Some(refusal.message.clone()),
        instead: Some(refusal.instead.clone()),
    })
}
