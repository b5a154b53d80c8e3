//! Code that calls back: the caller's functions, from inside a jar.

use std::time::Duration;

use carboy_engine::{Answer, Call, RequestError, RunError, RunOptions, ToolHost};
use carboy_protocol::{
    CallStatus, Job, Kind, LanguagePolicy, LanguageProfile, LimitName, Outcome, Policy, Tool,
    ToolFault, ToolFaultKind,
};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::support::*;

type Answered = Result<Option<Box<RawValue>>, ToolFault>;

fn raw(text: impl Into<String>) -> Box<RawValue> {
    RawValue::from_string(text.into()).unwrap()
}

/// What `search` and `look` answer: what they were called with.
fn echo(call: &Call) -> Answered {
    Ok(Some(raw(format!("[{}, {}]", call.args, call.kwargs))))
}

fn offered() -> Vec<Tool> {
    let search = Tool { name: "search".into(), doc: "search(*a)".into(), ..Tool::default() };
    vec![search, Tool { name: "look".into(), is_async: true, ..Tool::default() }]
}

async fn run_job(bench: &Bench, job: Job, answer: impl FnMut(&Call) -> Answered) -> Outcome {
    let tools = if job.tools.is_empty() { offered() } else { job.tools };
    try_run(bench, Job { tools, ..job }, answer).await.unwrap()
}

async fn try_run(
    bench: &Bench,
    job: Job,
    answer: impl FnMut(&Call) -> Answered,
) -> Result<Outcome, RunError> {
    answer_after(bench, Duration::ZERO, job, answer).await
}

async fn answer_after(
    bench: &Bench,
    delay: Duration,
    job: Job,
    mut answer: impl FnMut(&Call) -> Answered,
) -> Result<Outcome, RunError> {
    let (calls, mut called) = mpsc::channel(1);
    let (answers, answered) = mpsc::channel(64);
    let tools = Some(ToolHost { calls, answers: answered });
    let run = bench.engine.run_with(job, RunOptions { tools, ..RunOptions::default() });
    let serve = async {
        while let Some(call) = called.recv().await {
            let result = answer(&call);
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            answers.send(Answer { call: call.call, result }).await.ok();
        }
    };
    // A run that ends does not wait for answers; nor does a test.
    tokio::select! {
        outcome = run => outcome,
        () = async { serve.await; std::future::pending().await } => unreachable!(),
    }
}

async fn ask(bench: &Bench, code: &str) -> Outcome {
    run_job(bench, Job::new(code).with_policy(policy(|_| {})), echo).await
}

/// What must hold on every interpreter.
pub async fn core(bench: &Bench) {
    let outcome = ask(bench, "result = search('a', 1, key=[None])").await;
    assert_eq!(result(&outcome), r#"[["a",1],{"key":[null]}]"#);
    let code = "import asyncio\nn = await asyncio.gather(*map(look, range(5)))\nlen(n)";
    let outcome = ask(bench, code).await;
    assert_eq!((result(&outcome).as_str(), outcome.tool_calls.len()), ("5", 5));
    assert_eq!(outcome.refused().count(), 0);
}

#[tokio::test]
async fn tools_are_there_by_name_and_in_a_module() {
    let bench = Bench::new();
    core(&bench).await;
    for code in [
        "from tools import search, ToolError\nresult = search(1)",
        "import tools\nresult = tools.search(1)",
        "import tools as t\nresult = t.search(1)",
        "await look(1)",
        "result = await look(1)",
        "async def main(): return await look(1)\nimport asyncio\nasyncio.run(main())",
        "import asyncio\nfirst = await look(0)\nresult = asyncio.get_running_loop() and await look(1)",
        "from concurrent.futures import ThreadPoolExecutor as E\nwith E(4) as e: r = list(e.map(search, range(40)))\nr[1]",
        "import asyncio\nr = await asyncio.gather(*[asyncio.to_thread(search, n) for n in range(40)], look(1))\nr[-1]",
    ] {
        for profile in [LanguageProfile::Open, LanguageProfile::Agent] {
            if profile == LanguageProfile::Agent && code.contains("concurrent") {
                continue;
            }
            let language = LanguagePolicy::of(profile);
            let job = Job::new(code).with_policy(Policy { language, ..policy(|_| {}) });
            let outcome = run_job(&bench, job, echo).await;
            assert_eq!(result(&outcome), "[[1],{}]", "{code}: {:?}", outcome.error);
        }
    }
    assert_eq!(
        result(&ask(&bench, "[search.__name__, search.__doc__]").await),
        r#"["search","search(*a)"]"#
    );
    bench.close().await;
}

#[tokio::test]
async fn calls_that_are_awaited_together_wait_together() {
    let bench = Bench::new();
    let (calls, mut called) = mpsc::channel(1);
    let (answers, answered) = mpsc::channel(64);
    let code = "import asyncio\nresult = await asyncio.gather(*map(look, range(300)))";
    let tools = Some(ToolHost { calls, answers: answered });
    let job = Job { tools: offered(), ..Job::new(code).with_policy(policy(|_| {})) };
    let run = bench.engine.run_with(job, RunOptions { tools, ..RunOptions::default() });
    // Sixty at a time, the last first.
    let serve = async {
        for _ in 0..5 {
            let mut waiting = vec![];
            for _ in 0..60 {
                waiting.push(called.recv().await.unwrap());
            }
            for call in waiting.into_iter().rev() {
                let result = Ok(Some(raw(call.args.get())));
                answers.send(Answer { call: call.call, result }).await.unwrap();
            }
        }
    };
    let (outcome, ()) = tokio::join!(run, serve);
    let expected: Vec<[u32; 1]> = (0..300).map(|n| [n]).collect();
    let outcome = outcome.unwrap();
    assert_eq!(result(&outcome), serde_json::to_string(&expected).unwrap());
    assert!(outcome.tool_calls.iter().all(|call| call.status == CallStatus::Ok));
    bench.close().await;
}

#[tokio::test]
async fn what_a_tool_cannot_do_is_an_exception_of_the_code() {
    let bench = Bench::new();
    let fault = |kind| move |_: &Call| Err(ToolFault { kind, message: "no such lamp".into() });
    for (kind, name) in
        [(ToolFaultKind::Tool, "ToolError"), (ToolFaultKind::Arguments, "TypeError")]
    {
        let job = Job::new("search(1)").with_policy(policy(|_| {}));
        let outcome = run_job(&bench, job, fault(kind)).await;
        let error = error(&outcome);
        assert_eq!((error.type_name.as_str(), error.message.as_str()), (name, "no such lamp"));
        assert_eq!((error.kind, error.line), (Kind::Exception, Some(1)));
        assert_eq!(outcome.tool_calls[0].status, CallStatus::Error);
    }
    let caught =
        "from tools import ToolError\ntry: search(1)\nexcept ToolError as e: result = str(e)";
    let job = Job::new(caught).with_policy(policy(|_| {}));
    let outcome = run_job(&bench, job, fault(ToolFaultKind::Tool)).await;
    assert_eq!(result(&outcome), r#""no such lamp""#);
    // What is not JSON does not leave the jar.
    for code in [
        "search({1})",
        "search(float('nan'))",
        "search(object())",
        "search('\\ud800')",
        "a = []\na.append(a)\nsearch(a)",
    ] {
        let outcome = ask(&bench, code).await;
        assert_eq!(error(&outcome).type_name, "TypeError", "{code}: {:?}", outcome.error);
        assert!(outcome.tool_calls.is_empty());
    }
    // What a jar could not read does not come in.
    for text in [
        "[".repeat(110) + &"]".repeat(110),
        format!("\"{}\"", "x".repeat(17 << 20)),
        "9".repeat(5_000),
    ] {
        let job = Job::new("search(1)").with_policy(policy(|_| {}));
        let outcome = run_job(&bench, job, |_| Ok(Some(raw(text.clone())))).await;
        assert_eq!(error(&outcome).type_name, "ToolError");
        assert_eq!(outcome.tool_calls[0].status, CallStatus::Error);
    }
    // A large answer comes in whole.
    let large = format!("\"{}\"", "x".repeat(3 << 20));
    let job = Job::new("len(search(1))").with_policy(policy(|_| {}));
    let outcome = run_job(&bench, job, |_| Ok(Some(raw(large.clone())))).await;
    assert_eq!(result(&outcome), (3 << 20).to_string());
    bench.close().await;
}

#[tokio::test]
async fn calls_are_counted_and_capped() {
    let bench = Bench::new();
    let code = "for n in range(100): search(n)";
    let job = Job::new(code).with_policy(policy(|limits| limits.tool_calls = 10));
    let outcome = run_job(&bench, job, echo).await;
    assert_limit(&outcome, LimitName::ToolCalls, 10);
    assert_eq!(outcome.tool_calls.len(), 10);
    let job = Job::new("search(1)").with_policy(policy(|limits| limits.tool_calls = 0));
    assert_limit(&run_job(&bench, job, echo).await, LimitName::ToolCalls, 0);
    // Arguments are bounded as a result is.
    let job =
        Job::new("search('x' * 200_000)").with_policy(policy(|limits| limits.result_bytes = 1_000));
    assert_limit(&run_job(&bench, job, echo).await, LimitName::ResultBytes, 1_000);
    bench.close().await;
}

#[tokio::test]
async fn arguments_are_counted_together_and_capped() {
    let bench = Bench::new();
    // With its brackets, `["xxxxxxxxxx"]` and `{}`, each call brings 16 bytes.
    let code = |calls: u32| format!("for n in range({calls}): search('x' * 10)\nresult = n");
    let limited = || policy(|limits| limits.tool_bytes = 160);
    let outcome = run_job(&bench, Job::new(code(10)).with_policy(limited()), echo).await;
    assert_eq!(result(&outcome), "9", "{:?}", outcome.error);
    let outcome = run_job(&bench, Job::new(code(11)).with_policy(limited()), echo).await;
    assert_limit(&outcome, LimitName::ToolBytes, 160);
    assert_eq!(outcome.tool_calls.len(), 10);
    bench.close().await;
}

#[tokio::test]
async fn a_call_extends_the_deadline_by_its_own_budget_and_no_more() {
    let bench = Bench::new();
    let job = |budget_ms, code: &str| Job {
        tools: vec![Tool { budget_ms, name: "search".into(), ..Tool::default() }],
        ..Job::new(code).with_policy(policy(|limits| limits.wall_ms = 1_000))
    };
    let never = async |job| answer_after(&bench, 2 * LONG, job, echo).await.unwrap();
    // Later than the deadline would be without the call.
    let late = Duration::from_millis(1_100);
    let late = async |job| answer_after(&bench, late, job, echo).await.unwrap();
    let outcome = never(job(0, "search(1)\nresult = 1")).await;
    assert_limit(&outcome, LimitName::WallMs, 1_000);
    assert_eq!(outcome.tool_calls[0].status, CallStatus::Unanswered);
    let outcome = late(job(60_000, "search(1)\nresult = 1")).await;
    assert_eq!(result(&outcome), "1", "{:?}", outcome.error);
    let outcome = never(job(20, "search(1)\nresult = 1")).await;
    assert_limit(&outcome, LimitName::WallMs, 1_000);
    // The time of a call is not time for the code.
    let outcome = late(job(60_000, "search(1)\nwhile True: pass")).await;
    assert_limit(&outcome, LimitName::WallMs, 1_000);
    assert!(outcome.usage.wall_ms < 30_000.0, "{}", outcome.usage.wall_ms);
    bench.close().await;
}

#[tokio::test]
async fn a_jar_that_calls_what_it_may_not_is_ended() {
    let bench = Bench::new();
    let says = |bodies: &str| {
        format!(
            "import os, time\nfor body in [{bodies}]:\n    os.write(4, len(body).to_bytes(4, 'big') + body)\ntime.sleep(20)"
        )
    };
    for bodies in [
        r#"b'{"call":{"call":1,"tool":"open","args":[],"kwargs":{}}}'"#,
        r#"b'{"call":{"call":1,"tool":"search","args":{},"kwargs":{}}}'"#,
        r#"b'{"call":{"call":1,"tool":"search","args":[],"kwargs":1}}'"#,
        r#"b'{"call":{"call":-1,"tool":"search","args":[],"kwargs":{}}}'"#,
        r#"b'{"call":{"call":1,"tool":"search","args":[]}}'"#,
        r#"b'{"call":{"call":1,"tool":"search","args":[],"kwargs":{},"id":7}}'"#,
        r#"b'{"answer":{"call":1,"result":1}}'"#,
    ] {
        let outcome = ask(&bench, &says(bodies)).await;
        let error = error(&outcome);
        assert_eq!(
            (error.kind, error.type_name.as_str()),
            (Kind::Crash, "BrokenFrame"),
            "{bodies}"
        );
    }
    // Two calls under one number, while the first waits for its answer.
    let twice = r#"b'{"call":{"call":1,"tool":"search","args":[],"kwargs":{}}}'"#;
    let job = Job {
        tools: offered(),
        ..Job::new(says(&format!("{twice}, {twice}"))).with_policy(policy(|_| {}))
    };
    let (calls, _called) = mpsc::channel(1);
    let (_answers, answered) = mpsc::channel(1);
    let tools = Some(ToolHost { calls, answers: answered });
    let outcome = bench.engine.run_with(job, RunOptions { tools, ..RunOptions::default() }).await;
    assert_eq!(error(&outcome.unwrap()).type_name, "BrokenFrame");
    bench.close().await;
}

#[tokio::test]
async fn a_jar_that_calls_and_does_not_listen_fills_no_memory() {
    let bench = Bench::new();
    let code = r#"
import os
n = 0
while True:
    n += 1
    body = b'{"call":{"call":%d,"tool":"search","args":[],"kwargs":{}}}' % n
    os.write(4, len(body).to_bytes(4, 'big') + body)
"#;
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    let limits = policy(|limits| (limits.tool_calls, limits.wall_ms) = (1_000_000, 1_000));
    let outcome =
        run_job(&bench, Job::new(code).with_policy(limits), |_| Ok(Some(raw(large.clone())))).await;
    assert_limit(&outcome, LimitName::WallMs, 1_000);
    assert!(outcome.tool_calls.len() <= 64, "{}", outcome.tool_calls.len());
    // Nor with what it asks, while nobody answers.
    let code = code.replace("\"args\":[]", "\"args\":[\"'+b'x'*900_000+b'\"]");
    let code = code.replace("%d", "'+str(n).encode()+b'").replace(" % n", "");
    let (calls, mut called) = mpsc::channel(1);
    let (_answers, answered) = mpsc::channel(1);
    let tools = Some(ToolHost { calls, answers: answered });
    let limits = policy(|limits| limits.wall_ms = 3_000);
    let job = Job { tools: offered(), ..Job::new(code).with_policy(limits) };
    let run = bench.engine.run_with(job, RunOptions { tools, ..RunOptions::default() });
    let serve = async { while called.recv().await.is_some() {} };
    let outcome = tokio::join!(run, serve).0.unwrap();
    assert_limit(&outcome, LimitName::WallMs, 3_000);
    assert_eq!(outcome.tool_calls.len(), 5);
    bench.close().await;
}

#[tokio::test]
async fn what_cannot_be_offered_or_given_is_the_callers_mistake() {
    let bench = Bench::new();
    let tool = |name: &str| Tool { name: name.into(), ..Tool::default() };
    let with = |tools: Vec<Tool>| Job { tools, ..Job::new("1") };
    for job in [
        with(vec![tool("")]),
        with(vec![tool("class")]),
        with(vec![tool("a b")]),
        with(vec![tool("__import__")]),
        with(vec![tool("_hidden")]),
        with(vec![tool("result")]),
        with(vec![tool("tools")]),
        with(vec![tool("a"), tool("a")]),
        with(vec![Tool { doc: "x".repeat(70_000), ..tool("a") }]),
        with(vec![Tool { budget_ms: u64::MAX, ..tool("a") }]),
        with(vec![tool("a")]).with_input("a", raw("1")),
    ] {
        let refused = try_run(&bench, job.clone(), echo).await.unwrap_err();
        assert!(matches!(refused, RunError::Request(RequestError::Tool { .. })), "{job:?}");
    }
    let nobody = bench.engine.run(with(offered())).await.unwrap_err();
    assert!(nobody.to_string().contains("nobody answers"), "{nobody}");
    for (name, value) in
        [("__builtins__", "{}"), ("1a", "1"), ("None", "1"), ("a", &*"[".repeat(200))]
    {
        let Ok(value) = RawValue::from_string(value.into()) else { continue };
        let refused = bench.engine.run(Job::new("1").with_input(name, value)).await.unwrap_err();
        assert!(matches!(refused, RunError::Request(RequestError::Input { .. })), "{name}");
    }
    // Given names hide builtins of the same name, for the guard too.
    let language = LanguagePolicy::of(LanguageProfile::Agent);
    let job = Job::new("id + input")
        .with_policy(Policy { language, ..policy(|_| {}) })
        .with_input("id", raw("1"))
        .with_input("input", raw("2"));
    assert_eq!(result(&bench.engine.run(job).await.unwrap()), "3");
    bench.close().await;
}

#[tokio::test]
async fn a_jar_that_closes_its_pipe_with_an_answer_in_it_harms_only_itself() {
    let bench = Bench::new();
    let code = r#"
import os, time
for n in (1, 2):
    body = b'{"call":{"call":%d,"tool":"search","args":[%d],"kwargs":{}}}' % (n, n)
    os.write(4, len(body).to_bytes(4, 'big') + body)
time.sleep(0.2)
os.close(3)
body = b'{"call":{"call":3,"tool":"search","args":[3],"kwargs":{}}}'
os.write(4, len(body).to_bytes(4, 'big') + body)
time.sleep(20)
"#;
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    let answer = |call: &Call| match call.args.get() {
        "[1]" => Ok(Some(raw(large.clone()))),
        _ => Ok(None),
    };
    let job = Job::new(code).with_policy(policy(|limits| limits.wall_ms = 1_000));
    assert_limit(&run_job(&bench, job, answer).await, LimitName::WallMs, 1_000);
    bench.close().await;
}

#[tokio::test]
async fn code_may_end_while_its_calls_wait_or_its_threads_call() {
    let bench = Bench::new();
    let slow = async |code: &str| {
        let tools = offered();
        let job = Job { tools, ..Job::new(code).with_policy(policy(|_| {})) };
        // Whoever waits for an answer meets the deadline.
        answer_after(&bench, Duration::from_secs(600), job, echo).await.unwrap()
    };
    let many = "import asyncio\ntasks = [asyncio.ensure_future(look(n)) for n in range(100)]\nawait asyncio.sleep(0.1)\nresult = 7";
    let large = "import asyncio\ntasks = [asyncio.ensure_future(look('x' * 900_000)) for n in range(9)]\nawait asyncio.sleep(0.1)\nresult = 7";
    for code in [many, large] {
        let outcome = slow(code).await;
        assert_eq!(result(&outcome), "7", "{:?}", outcome.error);
    }
    let threads = "
import threading
def work():
    while True: search(1)
for n in range(4): threading.Thread(target=work, daemon=True).start()
import time
time.sleep(0.05)
result = 7
";
    for _ in 0..10 {
        let limits = policy(|limits| limits.tool_calls = 1_000_000);
        let outcome = run_job(&bench, Job::new(threads).with_policy(limits), echo).await;
        assert_eq!(result(&outcome), "7", "{:?}", outcome.error);
    }
    bench.close().await;
}

#[tokio::test]
async fn calls_that_nobody_answers_are_told_so() {
    let bench = Bench::new();
    let (calls, mut called) = mpsc::channel(1);
    let (answers, answered) = mpsc::channel(1);
    let tools = Some(ToolHost { calls, answers: answered });
    let code = "
from tools import ToolError
said = []
for n in range(3):
    try: search(n)
    except ToolError as error: said.append(str(error))
result = len(said)
";
    let job = Job { tools: offered(), ..Job::new(code).with_policy(policy(|_| {})) };
    let run = bench.engine.run_with(job, RunOptions { tools, ..RunOptions::default() });
    let leave = async {
        called.recv().await.unwrap();
        drop((called, answers));
    };
    let (outcome, ()) = tokio::join!(run, leave);
    assert_eq!(result(&outcome.unwrap()), "3");
    bench.close().await;
}
