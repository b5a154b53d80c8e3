//! The command as a person or a program meets it.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use carboy_protocol::{LimitName, Walls};
use serde_json::Value;

use crate::support::*;

fn run(arguments: &[&str]) -> Output {
    Command::new(program())
        .args(["run", "--walls", walls().as_str(), "--python"])
        .arg(python())
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn exit_codes_are_those_of_the_table() {
    let folder = Folder::new();
    let strict = folder.0.join("strict.toml");
    let words =
        format!("walls = \"{}\"\nstrict = true\n[limits]\nwall_ms = 300\n", walls().as_str());
    fs::write(&strict, words).unwrap();
    for (code, arguments) in [
        (0, vec!["-c", "result = 1"]),
        (1, vec!["-c", "1/0"]),
        (0, vec!["-c", "result = {1}"]),
        (1, vec!["-c", "result = {1}", "--policy", strict.to_str().unwrap()]),
        (2, vec!["-c", "1", "--input", "{not json"]),
        (2, vec!["-c", "1", "--no-such-option"]),
        (2, vec!["/no/such/file.py"]),
        (2, vec!["-c", "1", "--policy", "/no/such/policy.toml"]),
        (3, vec!["-c", "while True: pass", "--policy", strict.to_str().unwrap()]),
        (4, vec!["-c", "import socket; socket.socket()"]),
        (6, vec!["-c", "import os; os._exit(0)"]),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
    }
    let output =
        Command::new(program()).args(["run", "-c", "1", "--python", "/no/python"]).output();
    assert_eq!(output.unwrap().status.code(), Some(2));
}

#[test]
fn json_carries_nothing_that_a_terminal_obeys() {
    let hidden = r"\x1b]0;x\x07\x9b31m\x7f\r\u061c\u202e\xad";
    // A frame of its own, so that no encoder of ours stands between.
    let frame = r#"{"done":{"result":[1,\r2,"\x9b31m\x7f\u202e"]}}"#;
    for code in [
        format!("result = '{hidden}'"),
        format!("result = {{'{hidden}': 1}}"),
        format!("print('{hidden}')"),
        format!("raise type('{hidden}', (Exception,), {{}})('{hidden}')"),
        format!("open('{hidden}', 'w').write('x')"),
        format!(
            "import os, time\nbody = '{frame}'.encode()\n\
             os.write(4, len(body).to_bytes(4, 'big') + body)\ntime.sleep(5)"
        ),
    ] {
        let json = text(&run(&["--json", "-c", &code]).stdout);
        let value: Value = serde_json::from_str(&json).unwrap();
        assert!(value["status"].is_string(), "{json}");
        let found: Vec<char> = json
            .chars()
            .filter(|char| *char != '\n' && carboy_protocol::is_hidden(*char))
            .collect();
        assert!(found.is_empty(), "{code}: {found:?}");
    }
}

#[test]
fn a_file_standard_input_and_code_are_the_same() {
    let folder = Folder::new();
    let script = folder.0.join("script.py");
    fs::write(&script, "print('hi')\nresult = [context, 2]\n").unwrap();
    let output = run(&[script.to_str().unwrap(), "--input", "1"]);
    assert_eq!(text(&output.stdout), "hi\n[1,2]\n");
    let data = folder.0.join("data.json");
    fs::write(&data, "1").unwrap();
    let mut child = Command::new(program())
        .args(["run", "-", "--walls", walls().as_str(), "--python"])
        .arg(python())
        .arg("--input")
        .arg(format!("@{}", data.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"print('hi')\nresult = [context, 2]\n").unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), "hi\n[1,2]\n");
}

#[test]
fn a_person_sees_the_error_its_hint_and_what_was_denied() {
    let output = run(&["-c", "import socket\nprint('before')\nsocket.socket()"]);
    let said = text(&output.stderr);
    assert_eq!(text(&output.stdout), "before\n");
    for words in [
        "error: PermissionError (line 3)",
        "hint: the policy allows no network",
        "denied: socket",
        " ms wall",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let said = text(&run(&["-c", "x = bytearray(10**11)"]).stderr);
    assert!(said.contains("error: limit memory_bytes (line 1)"), "{said}");
}

#[test]
fn json_is_one_value_and_nothing_else() {
    let output = run(&["--json", "-c", "print('x')\nresult = {'a': 1}"]);
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["status"], "ok");
    assert_eq!(outcome["result"]["a"], 1);
    assert_eq!(outcome["stdout"]["text"], "x\n");
    assert_eq!(outcome["isolation"]["walls"], walls().as_str());
    assert!(output.stderr.is_empty());
    let output = run(&["--json", "-c", "1", "--input", "nope"]);
    let failure: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(failure["failure"]["kind"], "request");
    assert!(failure["failure"]["hint"].is_string());
}

#[test]
fn every_command_tells_a_program_of_its_failure_in_json() {
    let nowhere = ["--python", "/no/python", "--json"];
    for command in [
        &["run", "-c", "1"][..],
        &["doctor"],
        &["explain"],
        &["bench", "--quick", "--only", "c1"],
        &["drill", "--quick"],
        &["check", "/no/such/file.py"],
        &["bench", "--no-such-option"],
    ] {
        let mut command = command.to_vec();
        match command[0] {
            "check" => command.push("--json"),
            _ => command.extend(nowhere),
        }
        let output = Command::new(program()).args(&command).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", text(&output.stderr));
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["failure"]["kind"], "request", "{command:?}");
        assert!(told["failure"]["message"].is_string() && told["failure"]["hint"].is_string());
        assert!(output.stderr.is_empty(), "{command:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_pipe_that_cannot_start_says_so_in_a_line() {
    for arguments in [&["--python", "/no/python"][..], &["--descriptor", "999"], &["--no-such"]] {
        let output = Command::new(program()).arg("pipe").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let line = output.stdout.strip_suffix(b"\n").unwrap();
        let told: Value = serde_json::from_slice(line).unwrap();
        assert_eq!(told["failed"]["failure"]["kind"], "request", "{arguments:?}");
        assert!(told["failed"]["id"].is_null() && !line.contains(&b'\n'));
        assert!(output.stderr.is_empty(), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_module_that_cannot_be_preloaded_is_the_callers_mistake() {
    let output = run(&["-c", "1", "--json", "--preload", "json,no_such_module"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["failure"]["kind"], "request");
    let message = value["failure"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("cannot preload no_such_module: ModuleNotFoundError: "),
        "{message}"
    );
}

#[test]
fn policies_are_read_from_three_kinds_of_file() {
    let folder = Folder::new();
    for (name, content) in [
        ("p.toml", "[limits]\nprinted_bytes = 10"),
        ("p.json", r#"{"limits": {"printed_bytes": 10}}"#),
        ("p.yaml", "limits:\n  printed_bytes: 10\n"),
    ] {
        let file = folder.0.join(name);
        fs::write(&file, content).unwrap();
        let output = run(&["--json", "-c", "print('x' * 100)", "--policy", file.to_str().unwrap()]);
        let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(outcome["error"]["limit"]["name"], "printed_bytes", "{name}: {outcome}");
    }
    let bad = folder.0.join("bad.toml");
    fs::write(&bad, "[limits]\nwal_ms = 3").unwrap();
    let output = run(&["-c", "1", "--policy", bad.to_str().unwrap()]);
    assert!(text(&output.stderr).contains("wal_ms"), "{}", text(&output.stderr));
}

#[test]
fn a_preset_sets_its_limits() {
    let output = Command::new(program())
        .args(["explain", "--json", "--preset", "high", "--python"])
        .arg(python())
        .output()
        .unwrap();
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["policy"]["limits"]["wall_ms"], 60_000);
    assert_eq!(plan["policy"]["limits"]["memory_bytes"], 1 << 30);
    let walls = plan["walls"]["program"].as_array().unwrap().len();
    assert!(walls > 100 && plan["jar"]["rlimits"].is_array());
}

#[test]
fn explain_names_every_part_of_the_plan() {
    let output = Command::new(program())
        .args(["explain", "--walls", walls().as_str(), "--python"])
        .arg(python())
        .output()
        .unwrap();
    let said = text(&output.stdout);
    for words in
        ["policy", "can be read", "can be written", "system calls", "kernel limits", "LANG=C.UTF-8"]
    {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

#[test]
fn explain_shows_every_limit_and_the_language() {
    let explain = |more: &[&str]| {
        let output = Command::new(program())
            .args(["explain", "--walls", walls().as_str(), "--profile", "hook", "--python"])
            .arg(python())
            .args(more)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let (said, plan) = (explain(&[]), explain(&["--json"]));
    let plan: Value = serde_json::from_str(&plan).unwrap();
    for name in LimitName::ALL {
        let row = name.row();
        assert!(said.contains(&row.allowing(row.default)), "no {name:?} in {said}");
        assert_eq!(plan["policy"]["limits"][row.field], row.default, "{plan}");
    }
    assert!(said.contains("  profile            hook: "), "{said}");
    assert_eq!(plan["policy"]["language"]["profile"], "hook");
}

#[test]
fn doctor_is_a_table_and_tells_the_truth() {
    let output =
        Command::new(program()).args(["doctor", "--python"]).arg(python()).output().unwrap();
    let said = text(&output.stdout);
    for layer in [
        "kernel",
        "user namespaces",
        "landlock",
        "seccomp",
        "interpreter",
        "full walls",
        "nested walls",
    ] {
        assert!(said.contains(layer), "no {layer} in {said}");
    }
    let output =
        Command::new(program()).args(["doctor", "--json", "--python"]).arg(python()).output();
    let output = output.unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    match walls() {
        Walls::Full => {
            assert_eq!((report["full"].as_bool(), output.status.code()), (Some(true), Some(0)));
        }
        Walls::Nested => assert_eq!(report["nested"], true, "{report}"),
    }
}

#[test]
fn doctor_tries_every_package() {
    if !belongs_here(&["user"]) {
        return;
    }
    let Some(venv) = venv_python() else { return };
    let doctor = || {
        let mut command = Command::new(program());
        command.args(["doctor", "--packages", "--python"]).arg(&venv);
        command
    };
    if walls() == Walls::Nested {
        return skip("packages are tried in full walls");
    }
    let output = doctor().arg("--json").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{report}");
    let packages = report["packages"].as_array().unwrap();
    let row = |name: &str| packages.iter().find(|one| one["name"] == name).unwrap();
    for (name, module) in [("numpy", "numpy"), ("pandas", "pandas"), ("pillow", "PIL")] {
        let row = row(name);
        assert_eq!(row["module"], module);
        assert!(row["import_error"].is_null() && row["preload_error"].is_null(), "{row}");
        assert!(row["import_ms"].as_f64() > Some(0.0) && row["version"].is_string(), "{row}");
    }
    assert!(!packages.iter().any(|one| one["name"] == "pip"));
}

#[test]
fn control_characters_reach_a_pipe_untouched() {
    let output = run(&["-c", "print('\\x1b[31mred')"]);
    assert_eq!(output.stdout, b"\x1b[31mred\n");
}

#[test]
fn completions_and_the_manual_know_every_command() {
    let said = |arguments: &[&str]| Command::new(program()).args(arguments).output().unwrap();
    let help = text(&said(&["help"]).stdout);
    let listed = help.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    // What goes on in another line is further in.
    let first = listed.lines().filter_map(|line| line.strip_prefix("  "));
    let commands: Vec<&str> = first
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.contains(&"run") && commands.contains(&"completions"), "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let output = said(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = text(&output.stdout);
        let lacks = commands.iter().find(|name| !script.contains(**name));
        assert_eq!(lacks, None, "{shell}");
    }
    let folder = Folder::new();
    // One that is not there yet.
    let manual = folder.0.join("share/man1");
    let made = said(&["man", manual.to_str().unwrap()]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    for command in commands.iter().filter(|name| **name != "help") {
        let page = fs::read_to_string(manual.join(format!("carboy-{command}.1"))).unwrap();
        assert!(page.contains(".SH NAME"), "{command}");
    }
    assert!(manual.join("carboy.1").exists());
    assert_eq!(said(&["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn a_run_that_is_opened_leaves_one_page_that_runs_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let code = "display({'text/html': '<script>alert(1)</script>'}, raw=True)\nprint('said')";
    let mut command = Command::new(program());
    command.args(["run", "--open", "--python"]).arg(python()).args([
        "--walls",
        walls().as_str(),
        "-c",
        code,
    ]);
    command.env("TMPDIR", &folder.0).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let output = command.output().unwrap();
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("display: text/html") && told.contains("not opened"), "{told}");
    let pages: Vec<_> =
        fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [page] = pages.as_slice() else { panic!("{pages:?}") };
    assert_eq!(fs::metadata(page).unwrap().permissions().mode() & 0o777, 0o600);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<pre>said\n</pre>") && page.contains("<iframe sandbox=\"\""), "{page}");
    assert!(!page.contains("<script"), "{page}");
}
