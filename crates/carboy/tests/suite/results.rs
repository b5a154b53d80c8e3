//! A result never fails a run: what is not JSON is converted by the table in `docs/results.md`, and what
//! has no JSON form comes back as text with its type.

use carboy_protocol::{Outcome, Status};
use serde_json::{Value, json};

use crate::support::*;

/// The result as JSON; fails with the error if the run did not end well.
fn value(outcome: &Outcome) -> Value {
    assert_eq!(outcome.status, Status::Ok, "{:#?}", outcome.error);
    outcome.result.as_ref().map_or(Value::Null, |text| serde_json::from_str(text.get()).unwrap())
}

/// Runs one program for each case, and compares its last expression.
async fn become_json(bench: &Bench, before: &str, cases: &[(&str, Value)]) {
    for (code, expected) in cases {
        let outcome = bench.ask(&format!("{before}\n{code}")).await;
        assert_eq!(value(&outcome), *expected, "{code}: {:?}", outcome.result_text);
    }
}

#[tokio::test]
async fn python_types_become_json() {
    let bench = Bench::new();
    let before = "
import collections, dataclasses, datetime, decimal, enum, fractions, ipaddress, itertools, pathlib, types, uuid
class Color(enum.Enum): RED = 'red'
class Size(enum.IntEnum): BIG = 3
@dataclasses.dataclass
class Point: x: int; y: set
Pair = collections.namedtuple('Pair', 'a b')
class Own(dict): pass
def count():
    yield 1
    yield 2
day = datetime.date(2024, 2, 29)
";
    let cases = [
        ("(1, (2, 3))", json!([1, [2, 3]])),
        ("{3, 1, 2}", json!([1, 2, 3])),
        ("frozenset(['b', 'a'])", json!(["a", "b"])),
        ("{'a': {1}, 'b': [Color.RED, Size.BIG]}", json!({"a": [1], "b": ["red", 3]})),
        ("Pair(1, day)", json!([1, "2024-02-29"])),
        ("Point(1, {2})", json!({"x": 1, "y": [2]})),
        ("Own(x=day)", json!({"x": "2024-02-29"})),
        (
            "[day, datetime.datetime(2024, 1, 2, 3, 4, 5)]",
            json!(["2024-02-29", "2024-01-02T03:04:05"]),
        ),
        (
            "datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)",
            json!("2024-01-02T00:00:00+00:00"),
        ),
        ("[datetime.time(1, 2), datetime.timedelta(minutes=1.5)]", json!(["01:02:00", 90.0])),
        ("[decimal.Decimal('1.10'), fractions.Fraction(1, 3)]", json!(["1.10", "1/3"])),
        ("[b'hi', bytearray(b'\\xff')]", json!(["aGk=", "/w=="])),
        ("uuid.UUID(int=1)", json!("00000000-0000-0000-0000-000000000001")),
        ("pathlib.Path('a') / 'b'", json!("a/b")),
        ("ipaddress.ip_address('10.0.0.1')", json!("10.0.0.1")),
        ("1 + 2j", json!("(1+2j)")),
        ("[1.5, float('nan'), float('inf')]", json!([1.5, null, null])),
        (
            "{1: 'a', None: 'b', True: 'c', 2.5: day}",
            json!({"1": "c", "null": "b", "2.5": "2024-02-29"}),
        ),
        ("{(1, 'x'): 2, day: {3}}", json!({"1, x": 2, "2024-02-29": [3]})),
        ("range(3)", json!([0, 1, 2])),
        ("count()", json!([1, 2])),
        ("map(str, [1, 2])", json!(["1", "2"])),
        ("itertools.islice(itertools.count(), 3)", json!([0, 1, 2])),
        ("{'b': 1, 'a': {2}}.keys()", json!(["b", "a"])),
        ("collections.deque([1, day])", json!([1, "2024-02-29"])),
        ("collections.Counter('aab')", json!({"a": 2, "b": 1})),
        ("collections.ChainMap({'a': 1}, {'b': 2})", json!({"a": 1, "b": 2})),
        ("types.SimpleNamespace(a=1, b={2})", json!({"a": 1, "b": [2]})),
        ("'\\ud800'", json!("\\ud800")),
        ("[object, 1][1:] + [{2}]", json!([1, [2]])),
    ];
    become_json(&bench, before, &cases).await;
    let outcome = bench.ask("itertools = __import__('itertools')\nitertools.count()").await;
    assert_eq!(value(&outcome).as_array().unwrap().len(), 10_000);
    assert!(outcome.result_note.unwrap().contains("first 10000 items"));
    bench.close().await;
}

#[tokio::test]
async fn types_of_libraries_become_json() {
    if !belongs_here(&["root"]) {
        return;
    }
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &["numpy", "pandas"]);
    let before = "
import numpy as np, pandas as pd
df = pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': [1.5, float('nan')]})
day = pd.Timestamp('2024-02-29')
";
    let cases = [
        ("np.int64(3)", json!(3)),
        ("{'n': np.float32(0.5), 'b': np.bool_(True)}", json!({"n": 0.5, "b": true})),
        ("np.array([[1, 2], [3, 4]])", json!([[1, 2], [3, 4]])),
        ("np.array(7)", json!(7)),
        ("np.array(['2024-01-01'], 'datetime64[ns]')", json!(["2024-01-01T00:00:00"])),
        ("np.datetime64('2024-01-01T01:02:03')", json!("2024-01-01T01:02:03")),
        ("df", json!([{"a": 1, "b": "x", "c": 1.5}, {"a": 2, "b": null, "c": null}])),
        ("df.set_index('a')['b'].dropna()", json!({"1": "x"})),
        ("df.groupby('a').size()", json!({"1": 1, "2": 1})),
        ("df.set_index('b').groupby('a').sum()", json!([{"a": 1, "c": 1.5}, {"a": 2, "c": 0.0}])),
        (
            "df.groupby('a').agg({'c': ['sum']}).reset_index()",
            json!([{"a, ": 1, "c, sum": 1.5}, {"a, ": 2, "c, sum": 0.0}]),
        ),
        ("df['a']", json!([1, 2])),
        (
            "pd.Series([1, 2], index=['k', 'k'], name='v')",
            json!([{"index": "k", "v": 1}, {"index": "k", "v": 2}]),
        ),
        ("df.columns", json!(["a", "b", "c"])),
        ("df[['a', 'c']].dtypes", json!({"a": "int64", "c": "float64"})),
        (
            "[day, pd.NaT, pd.NA, pd.Timedelta('1min')]",
            json!(["2024-02-29T00:00:00", null, null, 60.0]),
        ),
        ("pd.Categorical(['x', 'y'])", json!(["x", "y"])),
        ("pd.Period('2024-02')", json!("2024-02")),
        (
            "{'frame': df.head(1), 'mean': df['c'].mean()}",
            json!({"frame": [{"a": 1, "b": "x", "c": 1.5}], "mean": 1.5}),
        ),
    ];
    become_json(&bench, before, &cases).await;
    let code = format!("{before}pd.DataFrame({{'x': range(5000)}})");
    let outcome = bench.ask(&code).await;
    assert_eq!(value(&outcome).as_array().unwrap().len(), 1000);
    assert!(outcome.result_type.as_ref().unwrap().ends_with("DataFrame"));
    assert!(outcome.result_note.unwrap().contains("of 5000 rows the first 1000"));
    let outcome = bench.ask(&format!("{before}np.zeros((1000, 1000))")).await;
    assert_eq!(value(&outcome).as_array().unwrap().len(), 20);
    bench.close().await;
}

#[tokio::test]
async fn what_has_no_form_comes_as_text() {
    let bench = Bench::new();
    for (code, kind, text, note) in [
        ("object()", "object", "<object object at", "no JSON form"),
        ("float('nan')", "float", "nan", "NaN"),
        ("len", "builtin_function_or_method", "<built-in function len>", "no JSON form"),
        (
            "class A:\n    class B: pass\nA.B()",
            "__main__.A.B",
            "<__main__.A.B object",
            "no JSON form",
        ),
        ("async def f(): pass\nf()", "coroutine", "<coroutine object f", "await"),
        ("open('f', 'w')", "_io.TextIOWrapper", "<_io.TextIOWrapper", "no JSON form"),
    ] {
        let outcome = bench.ask(code).await;
        assert_eq!(value(&outcome), Value::Null, "{code}");
        assert_eq!(outcome.result_type.as_deref(), Some(kind), "{code}");
        assert!(outcome.result_text.as_ref().unwrap().starts_with(text), "{outcome:#?}");
        assert!(outcome.result_note.as_ref().unwrap().contains(note), "{outcome:#?}");
    }
    // Inside a result it stands as text.
    let outcome = bench.ask("{'f': len, 'n': {1}}").await;
    assert_eq!(value(&outcome), json!({"f": "<built-in function len>", "n": [1]}));
    assert!(outcome.result_note.unwrap().contains("stand as text"));
    // What is JSON already needs no words.
    let outcome = bench.ask("{'n': [1]}").await;
    assert_eq!((outcome.result_type, outcome.result_text, outcome.result_note), (None, None, None));
    bench.close().await;
}

#[tokio::test]
async fn classes_that_misbehave_fail_no_run() {
    let bench = Bench::new();
    for (class, text) in [
        ("def __repr__(self): return 'x' * 100_000", "xxx"),
        ("def __repr__(self): raise SystemExit(3)", "(its __repr__ failed)"),
        ("def __repr__(self): return 7", "(its __repr__ failed)"),
        ("def __repr__(self):\n        while True: pass", "(its __repr__ took too long)"),
        ("__dataclass_fields__ = 7", "<__main__.A object"),
        ("__dataclass_fields__ = ('missing',)", "<__main__.A object"),
        ("def __repr__(self): return '\\ud800'", "\\ud800"),
    ] {
        let outcome = bench.ask(&format!("class A:\n    {class}\nA()")).await;
        assert_eq!(value(&outcome), Value::Null, "{class}");
        let shown = outcome.result_text.unwrap();
        assert!(shown.starts_with(text) && shown.len() < 5_000, "{class}: {shown}");
    }
    let code = "class A(Exception):\n    def __iter__(self): raise self\nresult = [A('x'), {1}]";
    assert_eq!(value(&bench.ask(code).await), json!(["A('x')", [1]]));
    bench.close().await;
}
