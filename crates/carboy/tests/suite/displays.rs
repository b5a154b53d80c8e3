//! What code shows comes back as displays: drawn, bounded and checked, and never a reason to fail.

use carboy_protocol::{
    Display, Drawing, FigureForm, Job, LanguagePolicy, LanguageProfile, LimitName, Limits,
    MediaType, Outcome, Policy, Status, TableForm,
};
use serde_json::{Value, json};

use crate::support::*;

/// The displays, of a run that ended well and left none out.
fn shown(outcome: &Outcome) -> &[Display] {
    assert_eq!(outcome.status, Status::Ok, "{:#?}", outcome.error);
    assert_eq!(outcome.display_note, None);
    assert_eq!(outcome.stderr.text, "");
    &outcome.displays
}

fn types(outcome: &Outcome) -> Vec<MediaType> {
    shown(outcome).iter().map(|display| display.media_type).collect()
}

fn note(outcome: &Outcome) -> &str {
    assert_eq!(outcome.status, Status::Ok, "{:#?}", outcome.error);
    outcome.display_note.as_deref().unwrap()
}

/// What code in a second jar, which has a library to decode it with, says of a display.
async fn decoded(bench: &Bench, display: &Display, code: &str) -> Value {
    let job = Job::new(code).with_policy(policy(|limits| limits.cpu_ms = 30_000));
    let outcome = bench.engine.run(job.with_input("data", display.data.clone())).await.unwrap();
    serde_json::from_str(&result(&outcome)).unwrap()
}

const PIXELS: &str = "
import base64, io
from PIL import Image
picture = Image.open(io.BytesIO(base64.b64decode(data))).convert('RGB')
counted = dict((str(color), count) for count, color in picture.getcolors(1 << 16))
result = {'size': list(picture.size), 'red': counted.get('(255, 0, 0)', 0), 'colors': len(counted)}
";

/// A figure whose axes are all red.
const RED: &str = "
import matplotlib.pyplot as plt
fig, axes = plt.subplots(figsize=(3, 2))
axes.set_facecolor('red')
axes.set_title('sales')
";

#[tokio::test]
async fn figures_that_are_only_shown_come_back_as_pictures() {
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &["matplotlib.pyplot"]);
    let once = [
        "plt.show()",
        "fig.show()",
        "fig.show(); fig",
        "display(fig)",
        "fig",
        "result = fig",
        "pass",
        "fig.savefig('a.png'); axes.set_title('changed')",
        "plt.show(); plt.savefig('a.png')",
        "fig.savefig('a.png'); plt.show()",
    ];
    for end in once {
        let outcome = bench.ask(&format!("{RED}{end}")).await;
        assert_eq!(types(&outcome), [MediaType::Png], "{end}");
        let found = decoded(&bench, &outcome.displays[0], PIXELS).await;
        assert!(found["red"].as_u64().unwrap() > 10_000, "{end}: {found}");
        assert!(found["colors"].as_u64().unwrap() > 10, "{end}: no letters in {found}");
        assert_eq!(outcome.artifacts.len(), usize::from(end.contains("savefig")), "{end}");
    }
    // What was closed, or saved as it is, is not shown.
    for end in ["plt.close(fig)", "fig.savefig('a.png')", "plt.savefig('a.png'); fig"] {
        assert_eq!(types(&bench.ask(&format!("{RED}{end}")).await), [], "{end}");
    }
    // Each is a figure of its own, in order.
    let three = "
import matplotlib.pyplot as plt
for width in (2, 3, 4):
    plt.figure(figsize=(width, 1))
    plt.axis('off')
    plt.plot([1, 2])
    if width < 4: plt.show()
";
    let outcome = bench.ask(three).await;
    assert_eq!(types(&outcome), [MediaType::Png; 3]);
    let failed = bench.ask(&format!("{RED}1 / 0")).await;
    assert_eq!(error(&failed).type_name, "ZeroDivisionError");
    assert_eq!(failed.displays.len(), 1);
    let svg = Drawing { figures: FigureForm::Svg, ..Drawing::default() };
    let drawn = Policy { drawing: svg, ..policy(|_| {}) };
    let outcome = bench.run(drawn, &format!("{RED}plt.show()")).await;
    assert_eq!(types(&outcome), [MediaType::Svg]);
    let text = outcome.displays[0].text().unwrap();
    assert!(text.contains("<svg") && text.contains("#ff0000"), "{text:.300}");
    bench.close().await;
}

#[tokio::test]
async fn pictures_and_tables_that_are_only_shown_come_back() {
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &["pandas"]);
    for end in ["picture.show()", "display(picture)", "picture"] {
        for mode in ["RGB", "P", "CMYK"] {
            let outcome = bench
                .ask(&format!(
                    "from PIL import Image\npicture = Image.new('RGB', (30, 20), 'red').convert('{mode}')\n{end}"
                ))
                .await;
            assert_eq!(types(&outcome), [MediaType::Png], "{end} {mode}");
            let found = decoded(&bench, &outcome.displays[0], PIXELS).await;
            assert_eq!(found["size"], json!([30, 20]));
            assert!(mode == "CMYK" || found["red"] == 600, "{end} {mode}: {found}");
        }
    }
    let frame =
        "import pandas as pd\nframe = pd.DataFrame({'city': ['Bern', '<b>'], 'n': [1, 2]})\n";
    for end in ["display(frame)", "frame", "result = frame"] {
        let outcome = bench.ask(&format!("{frame}{end}")).await;
        assert_eq!(types(&outcome), [MediaType::Html], "{end}");
        let html = outcome.displays[0].text().unwrap();
        assert!(html.contains("<td>Bern</td>") && html.contains("&lt;b&gt;"), "{html}");
    }
    // The answer is the same as without displays.
    let outcome = bench.ask(&format!("{frame}frame")).await;
    let records = json!([{"city": "Bern", "n": 1}, {"city": "<b>", "n": 2}]);
    assert_eq!(serde_json::from_str::<Value>(&result(&outcome)).unwrap(), records);
    // Where there is no pyarrow, only the note differs.
    let arrow = Drawing { tables: TableForm::Arrow, ..Drawing::default() };
    let outcome =
        bench.run(Policy { drawing: arrow, ..policy(|_| {}) }, &format!("{frame}frame")).await;
    assert!(note(&outcome).contains("pyarrow"), "{outcome:#?}");
    bench.close().await;
}

#[tokio::test]
async fn objects_show_themselves_as_in_notebooks() {
    let bench = Bench::new();
    let code = "
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/plain': 'plain', 'application/vnd.plotly.v1+json': {'data': [], 'layout': {'x': float('nan')}}}
class Page:
    def _repr_html_(self): return '<p>\\ud800'
class Drawing:
    def _repr_svg_(self): return '<svg/>'
class Formula:
    def _repr_latex_(self): return '$x$', {'meta': 1}
class Any:
    def __getattr__(self, name): return lambda *a, **k: 'forged'
from IPython.display import HTML, JSON, Markdown, display as show
display(Bundle(), Page(), Drawing())
display(Formula(), Page, Any())
show(HTML('<b>'), JSON({'a': [1]}), Markdown('# x'))
display({'text/html': '<i>'}, raw=True)
display('text', 7)
Page()";
    let outcome = bench.ask(code).await;
    let found: Vec<(MediaType, Value)> = shown(&outcome)
        .iter()
        .map(|display| (display.media_type, serde_json::from_str(display.data.get()).unwrap()))
        .collect();
    let is_text = |at: usize, words: &str| found[at].1.as_str().unwrap().contains(words);
    assert_eq!(found[0], (MediaType::Plotly, json!({"data": [], "layout": {"x": null}})));
    assert_eq!(found[1], (MediaType::Html, json!("<p>\\ud800")));
    assert_eq!(found[2], (MediaType::Svg, json!("<svg/>")));
    assert_eq!(found[3], (MediaType::Latex, json!("$x$")));
    assert!(found[4].0 == MediaType::Plain && is_text(4, "class"), "{:?}", found[4]);
    assert!(found[5].0 == MediaType::Plain && is_text(5, "Any object"), "{:?}", found[5]);
    assert_eq!(found[6], (MediaType::Html, json!("<b>")));
    assert_eq!(found[7], (MediaType::Json, json!({"a": [1]})));
    assert_eq!(found[8], (MediaType::Markdown, json!("# x")));
    assert_eq!(found[9], (MediaType::Html, json!("<i>")));
    assert_eq!(found[10], (MediaType::Plain, json!("text")));
    assert_eq!(found[11], (MediaType::Plain, json!("7")));
    assert_eq!(found[12], (MediaType::Html, json!("<p>\\ud800")));
    assert_eq!(found.len(), 13);
    bench.close().await;
}

#[tokio::test]
async fn guarded_code_shows_things_too() {
    let bench = Bench::new();
    let agent = Policy { language: LanguagePolicy::of(LanguageProfile::Agent), ..policy(|_| {}) };
    let code = "from IPython.display import HTML\ndisplay(HTML('<b>'))\ndisplay(1)";
    let outcome = bench.run(agent, code).await;
    assert_eq!(types(&outcome), [MediaType::Html, MediaType::Plain]);
    bench.close().await;
}

#[tokio::test]
async fn what_cannot_be_shown_is_left_out_with_a_note() {
    let bench = Bench::new();
    let code = "
class Bad:
    def _repr_html_(self): raise ValueError('no')
class Worse:
    def _repr_png_(self): return b'<script>'
display(Bad())
display(Worse())
deep = []
for _ in range(300): deep = [deep]
from IPython.display import JSON
display(JSON(deep))
display('fine')
Bad()";
    let outcome = bench.ask(code).await;
    let note = note(&outcome);
    for words in
        ["Bad could not be shown: ValueError: no", "does not begin as image/png", "too deep"]
    {
        assert!(note.contains(words), "{note}");
    }
    assert_eq!(outcome.displays.len(), 1);
    bench.close().await;
}

#[tokio::test]
async fn displays_are_bounded_in_number_and_size_and_the_run_goes_on() {
    let bench = Bench::new();
    let ask = async |change: fn(&mut Limits), code: &str| {
        let outcome = bench.run(policy(change), &format!("{code}\nresult = 7")).await;
        assert_eq!(result(&outcome), "7");
        (outcome.displays.len(), outcome.display_note.unwrap_or_default())
    };
    let many = "for n in range(10_000): display(n)";
    let (count, note) = ask(|_| {}, many).await;
    assert_eq!((count, note.as_str()), (20, "9980 more displays are left out: 20 are allowed"));
    assert_eq!(ask(|limits| limits.set(LimitName::Displays, 0), many).await.0, 0);
    // `displays` at its bound, and one more.
    let three = |limits: &mut Limits| limits.set(LimitName::Displays, 3);
    assert_eq!(ask(three, "display(1, 2, 3)").await, (3, String::new()));
    assert_eq!(ask(three, "display(1, 2, 3, 4)").await.0, 3);
    // `display_bytes`: 98 characters with their quotes, and one more.
    let each = |limits: &mut Limits| limits.set(LimitName::DisplayBytes, 100);
    assert_eq!(ask(each, "display('x' * 98)").await, (1, String::new()));
    let (count, note) = ask(each, "display('x' * 99); display('y')").await;
    assert!(count == 1 && note.contains("101 bytes"), "{count} {note}");
    // `display_total_bytes`: a small one fits behind one that does not.
    let together = |limits: &mut Limits| limits.set(LimitName::DisplayTotalBytes, 100);
    let (count, note) = ask(together, "for n in (58, 39, 38): display('x' * n)").await;
    assert!(count == 2 && note.contains("no room"), "{count} {note}");
    // A gibibyte is not even begun: memory ends first, or the bound.
    let huge = "
from IPython.display import HTML
try: display(HTML('data:image/png;base64,' + 'A' * (60 << 20)))
except MemoryError: pass";
    let (count, note) = ask(|_| {}, huge).await;
    assert!(count == 0 && !note.is_empty(), "{count} {note}");
    bench.close().await;
}

#[tokio::test]
async fn a_forged_display_is_checked_like_any_other() {
    let bench = Bench::new();
    let forged = |bodies: &str, then: &str| {
        format!(
            "import os, struct, time
def send(body):
    body = body.encode()
    os.write(4, struct.pack('>I', len(body)) + body)
{bodies}
{then}"
        )
    };
    let display = |media_type: &str, data: &str| {
        forged(
            &format!(r#"send('{{"display":{{"media_type":"{media_type}","data":{data}}}}}')"#),
            "7",
        )
    };
    let deep = "[".repeat(101) + &"]".repeat(101);
    // Well formed, and not what it says: left out.
    for (media_type, data) in [
        ("image/png", r#""<script>""#),
        ("image/png", r#""PHNjcmlwdD4=""#),
        ("image/png", "7"),
        ("text/html", "[]"),
        ("application/json", deep.as_str()),
    ] {
        let outcome = bench.ask(&display(media_type, data)).await;
        assert_eq!(result(&outcome), "7", "{media_type} {data}");
        assert!(outcome.displays.is_empty() && note(&outcome).contains("left out"), "{outcome:#?}");
    }
    // No message of a jar's: the run is over.
    for (media_type, data) in [
        ("text/javascript", r#""""#),
        ("image/png", "NaN"),
        ("text/html", r#""\\ud800""#),
        ("text/html", r#""","artifact":"/etc/passwd""#),
    ] {
        let outcome = bench.ask(&display(media_type, data)).await;
        assert_eq!(error(&outcome).type_name, "BrokenFrame", "{media_type} {data}");
    }
    let flood =
        r#"for _ in range(10_000): send('{"display":{"media_type":"text/plain","data":"x"}}')"#;
    let outcome = bench.ask(&forged(flood, "time.sleep(20)")).await;
    assert!(error(&outcome).message.contains("more displays than it may"), "{outcome:#?}");
    let twice = r#"[send('{"left_out":{"note":"x"}}') for _ in range(2)]"#;
    let outcome = bench.ask(&forged(twice, "time.sleep(20)")).await;
    assert_eq!(error(&outcome).type_name, "BrokenFrame");
    let after =
        r#"send('{"done":{}}'); send('{"display":{"media_type":"text/plain","data":"x"}}')"#;
    let outcome = bench.ask(&forged(after, "time.sleep(20)")).await;
    assert!(outcome.displays.is_empty(), "{outcome:#?}");
    bench.close().await;
}
