//! A jar that lies, stammers or falls silent.

use std::time::Duration;

use carboy_protocol::{Kind, LimitName, ProcessExit};

use crate::support::*;

fn says(bytes: &str, then: &str) -> String {
    format!(
        "import os, time, struct\nframe = lambda body: struct.pack('>I', len(body)) + body\nos.write(4, {bytes})\n{then}"
    )
}

#[tokio::test]
async fn a_forged_answer_is_only_ever_data() {
    let bench = Bench::new();
    // A well-formed answer is an answer, whoever wrote it; nothing but a result can be claimed.
    let forged = says(r#"frame(b'{"done":{"result":"forged"}}')"#, "os._exit(0)");
    assert_eq!(result(&bench.ask(&forged).await), r#""forged""#);
    for body in [
        r#"{"done":{"result":1,"usage":{"cpu_ms":0}}}"#,
        r#"{"ended":{"code":0}}"#,
        r#"{"limit":{"name":"wall_ms"}}"#,
        r#"{"failed":{"type":"X","message":"","kind":"limit"}}"#,
        r#"[]"#,
        r#"{}"#,
        r#"{"done":{"result":NaN}}"#,
        r#"{"done":{"result":"\ud800"}}"#,
        "\\xff\\xfe",
        "",
    ] {
        let outcome = bench.ask(&says(&format!("frame(b'''{body}''')"), "time.sleep(20)")).await;
        let error = error(&outcome);
        assert_eq!((error.kind, error.type_name.as_str()), (Kind::Crash, "BrokenFrame"), "{body}");
    }
    bench.close().await;
}

#[tokio::test]
async fn two_answers_are_none() {
    let bench = Bench::new();
    let code = says(r#"frame(b'{"done":{"result":1}}') * 2"#, "time.sleep(20)");
    assert_eq!(error(&bench.ask(&code).await).type_name, "BrokenFrame");
    bench.close().await;
}

#[tokio::test]
async fn a_half_written_answer_is_named() {
    let bench = Bench::new();
    for bytes in ["b'\\0\\0'", "b'\\0\\0\\0\\x20{\"done\"'"] {
        let outcome = bench.ask(&says(bytes, "os._exit(0)")).await;
        assert_eq!(error(&outcome).type_name, "BrokenFrame");
    }
    bench.close().await;
}

#[tokio::test]
async fn a_claimed_length_is_not_believed() {
    let bench = Bench::new();
    let claim = "b'\\xff\\xff\\xff\\xff'";
    let outcome = bench.ask(&says(claim, "os._exit(0)")).await;
    assert_eq!(error(&outcome).type_name, "BrokenFrame");
    let strict = policy(|limits| limits.wall_ms = 500);
    let outcome = bench.run(strict, &says(claim, "time.sleep(20)")).await;
    assert_limit(&outcome, LimitName::WallMs, 500);
    // Bytes that really come are a fact.
    let outcome = bench.ask(&says(claim, "while True: os.write(4, b'x' * 65536)")).await;
    assert_limit(&outcome, LimitName::ResultBytes, 1 << 20);
    bench.close().await;
}

#[tokio::test]
async fn frames_on_standard_output_are_text() {
    let bench = Bench::new();
    let code = "import sys\nprint('{\"done\":{\"result\":1}}')\nraise ValueError('real')";
    let outcome = bench.ask(code).await;
    assert_eq!(error(&outcome).message, "real");
    bench.close().await;
}

#[tokio::test]
async fn closing_the_pipes_and_sleeping_is_noticed() {
    let bench = Bench::new();
    let code = "import os, time\nfor fd in range(5): os.close(fd)\ntime.sleep(250)";
    let most = allowed(Duration::from_secs(5));
    let outcome = bench.ask(code).await;
    let error = error(&outcome);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Crash, "ResultPipeClosed"));
    assert!(outcome.usage.wall_ms < most.as_secs_f64() * 1e3, "{:?}", outcome.usage);
    bench.close().await;
}

#[tokio::test]
async fn lies_about_how_it_ended_are_seen_through() {
    let bench = Bench::new();
    for code in [0, 124, 137, 159] {
        let outcome = bench.ask(&format!("import os\nos._exit({code})")).await;
        let error = error(&outcome);
        assert_eq!((error.kind, error.type_name.as_str()), (Kind::Crash, "Exit"));
        assert_eq!(error.exit, Some(ProcessExit::Code(code)));
    }
    for name in ["MemoryError", "TimeoutError"] {
        let outcome = bench.ask(&format!("raise {name}()")).await;
        assert_eq!(error(&outcome).kind, Kind::Exception, "{name} is no limit");
    }
    // No kernel answers with any of these but the first.
    for errno in [28, 0, -1, 4096, 5000, 65_536, i32::MAX] {
        let outcome = bench.ask(&format!("raise OSError({errno}, 'full')")).await;
        assert_eq!(error(&outcome).kind, Kind::Exception, "{errno}");
    }
    bench.close().await;
}

#[tokio::test]
async fn a_crash_is_contained_and_named() {
    let bench = Bench::new();
    let outcome = bench.ask("import ctypes\nctypes.string_at(0)").await;
    let error = error(&outcome);
    assert_eq!((error.kind, error.type_name.as_str()), (Kind::Crash, "SIGSEGV"));
    assert_eq!(error.exit, Some(ProcessExit::Signal(11)));
    bench.close().await;
}

#[tokio::test]
async fn odd_text_in_errors_arrives() {
    let bench = Bench::new();
    let outcome = bench.ask("raise ValueError('half \\ud800 and \\U0001f600 and \\0')").await;
    assert_eq!(error(&outcome).message, "half \\ud800 and 😀 and \0");
    let outcome = bench.ask("raise ValueError('x' * 10_000_000)").await;
    assert!(error(&outcome).message.len() < 10_000);
    bench.close().await;
}

#[tokio::test]
async fn what_it_used_is_told_also_of_one_that_left_at_once() {
    let bench = Bench::new();
    let code = "
import os
held = bytearray(64 << 20)
for at in range(0, len(held), 4096): held[at] = 1
body = b'{\"done\":{\"result\":1}}'
os.write(4, len(body).to_bytes(4, 'big') + body)
os._exit(0)
";
    for _ in 0..5 {
        let outcome = bench.ask(code).await;
        assert_eq!(result(&outcome), "1");
        assert!(outcome.usage.peak_memory_bytes > 64 << 20, "{:?}", outcome.usage);
        assert!(outcome.usage.cpu_ms > 1.0, "{:?}", outcome.usage);
    }
    bench.close().await;
}
