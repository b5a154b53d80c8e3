//! Files that code finds as variables: frames, where neither pyarrow nor polars is needed.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use carboy_engine::{RequestError, RunError};
use carboy_protocol::{
    DataFrame, DataKind, FileSource, Job, Kind, LanguagePolicy, LanguageProfile, Outcome,
};
use serde_json::{Value, json, value::RawValue};

use crate::support::*;

const CSV: &str = "region,sum\nnorth,3\nsouth,4\nnorth,5\n";
const JSONL: &str = "{\"region\":\"north\",\"sum\":3}\n\n{\"region\":\"south\",\"sum\":4}\n";

fn job(code: &str) -> Job {
    Job::new(code).with_policy(policy(|limits| limits.memory_bytes = 512 << 20))
}

/// A file that others can read, by its path.
fn written(folder: &Folder, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = folder.0.join(name);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What stands in front of the numbers of an array.
fn array_head(kind: &str, shape: &str) -> Vec<u8> {
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let text = format!("{text:<117}\n");
    [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat()
}

async fn found(bench: &Bench, job: Job) -> Value {
    serde_json::from_str(&result(&bench.engine.run(job).await.unwrap())).unwrap()
}

async fn refused(bench: &Bench, job: Job) -> String {
    match bench.engine.run(job).await {
        Err(RunError::Request(error @ RequestError::Frame { .. })) => error.to_string(),
        other => panic!("not refused as a frame: {other:?}"),
    }
}

fn message(outcome: &Outcome) -> String {
    let error = error(outcome);
    assert_eq!(error.kind, Kind::Exception, "{error:#?}");
    format!("{}: {}", error.type_name, error.message)
}

#[tokio::test]
async fn without_a_library_rows_are_dicts_and_only_what_is_named_is_read() {
    let (bench, folder) = (Bench::new(), Folder::new());
    let look = "from importlib.util import find_spec\n\
                result = any(map(find_spec, ['pandas', 'polars', 'pyarrow']))";
    if result(&bench.ask(look).await) != "false" {
        skip("the interpreter has a library for frames");
        return bench.close().await;
    }
    let csv = written(&folder, "a.csv", CSV);
    let lines = written(&folder, "a.ndjson", JSONL);
    let broken = written(&folder, "b.jsonl", "{");
    let given = |code| {
        job(code)
            .with_frame("sales", &csv)
            .with_frame("lines", &lines)
            .with_frame("broken", &broken)
            .with_frame("table", "/usr/lib/os-release")
    };
    let mut rows = given("result = [sales[0], lines, open('frames/sales.csv').readline()]");
    rows.frames.remove("table");
    let expected = json!([
        {"region": "north", "sum": "3"},
        [{"region": "north", "sum": 3}, {"region": "south", "sum": 4}],
        "region,sum\n"
    ]);
    assert_eq!(found(&bench, rows.clone()).await, expected);
    // Whoever asks for all names gets all of them.
    rows.code = "result = sorted(globals())".into();
    let said = message(&bench.engine.run(rows.clone()).await.unwrap());
    assert!(said.contains("'broken' cannot be read as JSONL"), "{said}");
    rows.frames.remove("broken");
    let names = found(&bench, rows).await;
    assert!(["sales", "lines"].iter().all(|name| names.as_array().unwrap().contains(&json!(name))));
    // No library reads Parquet here.
    let mut table = job("result = table").with_frame("table", &csv);
    table.frames.get_mut("table").unwrap().format = Some(carboy_protocol::DataFormat::Parquet);
    let said = message(&bench.engine.run(table.clone()).await.unwrap());
    assert!(said.contains("ImportError: the frame 'table' cannot be made"), "{said}");
    assert!(said.contains("none is installed"), "{said}");
    table.frames.get_mut("table").unwrap().kind = Some(DataKind::PolarsLazy);
    let said = message(&bench.engine.run(table).await.unwrap());
    assert!(said.contains("needs polars"), "{said}");
    bench.close().await;
}

#[tokio::test]
async fn files_are_frames_of_pandas_and_arrays_of_numpy() {
    let Some(python) = venv_python() else { return };
    let (bench, folder) = (Bench::with(python, &["pandas"]), Folder::new());
    let csv = written(&folder, "a.csv", CSV);
    let lines = written(&folder, "a.jsonl", JSONL);
    let code = "import os\n\
                os.chdir('/')\n\
                sales.loc[0, 'sum'] = 10\n\
                sums = sales.groupby('region')['sum'].sum().to_dict()\n\
                result = [type(sales).__name__, sums, lines['sum'].tolist()]";
    let given = job(code).with_frame("sales", &csv).with_frame("lines", &lines);
    let expected = json!(["DataFrame", {"north": 15, "south": 4}, [3, 4]]);
    assert_eq!(found(&bench, given).await, expected);
    // Under a language profile too, where the name is known.
    let mut guarded = job("result = int(sales['sum'].sum())").with_frame("sales", &csv);
    guarded.policy.language = LanguagePolicy::of(LanguageProfile::Agent);
    assert_eq!(found(&bench, guarded).await, json!(12));

    let numbers: Vec<u8> = (0..6u64).flat_map(u64::to_le_bytes).collect();
    let array = [array_head("<u8", "(2, 3)"), numbers].concat();
    let path = written(&folder, "a.npy", &array);
    let code = "grid[0, 0] = 7\nresult = [type(grid).__name__, grid.shape, grid.tolist()]";
    let expected = json!(["ndarray", [2, 3], [[7, 1, 2], [3, 4, 5]]]);
    assert_eq!(found(&bench, job(code).with_frame("grid", path)).await, expected);
    // Also as bytes that come with the job.
    let mut given = job(code).with_file("g.npy", FileSource::Base64(array));
    let frame = DataFrame { file: "g.npy".into(), ..DataFrame::default() };
    given.frames.insert("grid".into(), frame);
    assert_eq!(found(&bench, given).await, expected);
    // Pickled objects are not.
    let objects = [array_head("|O", "(1,)"), b"cos\nsystem\n(S'true'\ntR.".to_vec()].concat();
    let path = written(&folder, "o.npy", objects);
    let outcome = bench.engine.run(job("grid").with_frame("grid", path)).await.unwrap();
    assert!(message(&outcome).contains("allow_pickle=False"), "{outcome:#?}");
    bench.close().await;
}

#[tokio::test]
async fn what_is_mapped_is_no_memory_of_the_run() {
    const BYTES: u64 = 400 << 20;
    let Some(python) = venv_python() else { return };
    let (bench, folder) = (Bench::with(python, &["numpy"]), Folder::new());
    let path = folder.0.join("long.npy");
    let mut file = File::create(&path).unwrap();
    file.write_all(&array_head("|u1", &format!("({BYTES},)"))).unwrap();
    // Zeros that take no space.
    file.set_len(128 + BYTES).unwrap();
    drop(file);
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let code = "result = [int(long.max()), long.size, long.flags.writeable]";
    let mut job = Job::new(code).with_frame("long", path.to_str().unwrap());
    job.policy = policy(|limits| limits.memory_bytes = 128 << 20);
    let outcome = bench.engine.run(job).await.unwrap();
    assert_eq!(result(&outcome), format!("[0,{BYTES},false]"));
    let peak = outcome.usage.peak_memory_bytes;
    assert!((1 << 20..128 << 20).contains(&peak), "{peak}");
    bench.close().await;
}

#[tokio::test]
async fn what_cannot_be_a_frame_is_said_before_anything_is_started() {
    let (bench, folder) = (Bench::new(), Folder::new());
    let csv = written(&folder, "a.csv", CSV);
    for (name, words) in [("class", "keyword"), ("a b", "no Python name"), ("__a", "underscores")] {
        let said = refused(&bench, job("1").with_frame(name, &csv)).await;
        assert!(said.contains(words), "{said}");
    }
    let input = RawValue::from_string("1".into()).unwrap();
    let said = refused(&bench, job("1").with_frame("a", &csv).with_input("a", input)).await;
    assert!(said.contains("an input has that name"), "{said}");
    let said = refused(&bench, job("1").with_frame("a", "/srv/a.xlsx")).await;
    assert!(said.contains(".parquet"), "{said}");
    let mut missing = job("1").with_frame("a", &csv);
    missing.files.clear();
    let said = refused(&bench, missing).await;
    assert!(said.contains("there is no file `frames/a.csv`"), "{said}");
    let mut other = job("1").with_frame("a", &csv);
    other.frames.get_mut("a").unwrap().kind = Some(DataKind::Array);
    let said = refused(&bench, other).await;
    assert!(said.contains("numpy.ndarray cannot be made"), "{said}");
    bench.close().await;
}

#[test]
fn frames_are_named_on_the_command_line() {
    let folder = Folder::new();
    let csv = written(&folder, "a.csv", CSV);
    let run = |given: &[&str]| {
        Command::new(program())
            .args(["run", "--walls", walls().as_str(), "--python"])
            .arg(python())
            // Whether it is a list or a frame.
            .args(["-c", "result = len(sales)"])
            .args(given.iter().flat_map(|one| ["--frame", one]))
            .current_dir(Path::new(&csv).parent().unwrap())
            .output()
            .unwrap()
    };
    written(&folder, "a.txt", CSV);
    for given in ["sales=a.csv", "csv:sales=a.txt"] {
        let output = run(&[given]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "3\n", "{output:?}");
    }
    for (given, words) in [
        (&["a.csv"][..], "has no name"),
        (&["sales=a.csv", "sales=a.csv"], "twice"),
        (&["excel:sales=a.csv"], "polars.LazyFrame"),
        (&["sales=a"], "no format is named"),
        (&["csv:jsonl:sales=a"], "more than one"),
    ] {
        let output = run(given);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(words), "{given:?}: {said}");
    }
}
