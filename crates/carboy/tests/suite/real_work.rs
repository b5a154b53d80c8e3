//! numpy, pandas and matplotlib from a venv, under the default limits.

use carboy_protocol::{Job, Outcome};

use crate::support::*;

const GROUP_BY: &str = "
import pandas as pd
frame = pd.DataFrame({'city': ['a', 'b', 'a', 'b'], 'n': [1, 2, 3, 4]})
result = frame.groupby('city')['n'].sum().to_dict()
";
const ALGEBRA: &str = "
import numpy as np
a = np.random.default_rng(0).random((400, 400))
x = np.linalg.solve(a, a @ np.ones(400))
result = bool(np.allclose(x, 1)) and float(np.linalg.svd(a)[1].max()) > 0
";
const PLOT: &str = "
import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [1, 4, 9])
plt.title('squares')
plt.savefig('plot.png')
result = open('plot.png', 'rb').read(4)[1:].decode()
";
// The module once more, as it is without changes, says what is to be found.
const FONTS_FOR_POSTSCRIPT: &str = "
import importlib.util, io, os
import matplotlib
from matplotlib import _afm, font_manager
spec = importlib.util.spec_from_file_location('matplotlib.unchanged', _afm.__file__)
unchanged = importlib.util.module_from_spec(spec)
spec.loader.exec_module(unchanged)
folder = os.path.join(matplotlib.get_data_path(), 'fonts', 'afm')
names = sorted(os.listdir(folder))[::20]
waiting, same = [], []
for name in names:
    data = open(os.path.join(folder, name), 'rb').read()
    font, other = _afm.AFM(io.BytesIO(data)), unchanged.AFM(io.BytesIO(data))
    waiting.append('_metrics' not in vars(font) and font.get_fontname() == other.get_fontname())
    same.append(all(repr(getattr(font, part)) == repr(value) for part, value in vars(other).items()))
matplotlib.rcParams['pdf.use14corefonts'] = True
from matplotlib.figure import Figure
figure = Figure()
figure.suptitle('Kerned: AVAST')
figure.savefig(page := io.BytesIO(), format='pdf')
listed = {font.fname for font in font_manager.fontManager.afmlist}
result = [len(names) > 2, all(waiting), all(same), b'Helvetica' in page.getvalue(), len(listed) > 30,
    hasattr(font, 'absent')]
";

// A letter that no font has is a warning.
const CHINESE: &str = "
import os, warnings
warnings.simplefilter('error')
import matplotlib.pyplot as plt
from matplotlib import font_manager
for folder, _, names in os.walk('data/fonts'):
    for name in names:
        font_manager.fontManager.addfont(os.path.join(folder, name))
if os.path.isdir('data/fonts'):
    plt.rcParams['font.family'] = ['DejaVu Sans', font_manager.fontManager.ttflist[-1].name]
plt.title('\u{9500}\u{552e}\u{989d}')
plt.savefig('sales.png')
result = plt.rcParams['font.family']
";

/// Folders of the host's whose fonts jars are shown, and whether there is one with Chinese letters.
fn has_chinese_font() -> bool {
    let names = ["cjk", "wqy", "sourcehan", "droidsansfallback", "ipag", "nanum"];
    let is_wide = |path: &std::path::Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        names.iter().any(|wide| name.contains(wide))
    };
    let mut folders: Vec<_> =
        ["/usr/share/fonts", "/usr/local/share/fonts"].map(std::path::PathBuf::from).into();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ if is_wide(&entry.path()) => return true,
                _ => {}
            }
        }
    }
    false
}

fn plain(outcome: &Outcome) {
    assert_eq!(outcome.refused().count(), 0, "{:?}", outcome.probes);
}

async fn work(preload: &[&str]) {
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, preload);
    let outcome = bench.ask(GROUP_BY).await;
    assert_eq!(result(&outcome), r#"{"a":4,"b":6}"#);
    plain(&outcome);
    for threads in [0, 2, 8] {
        let outcome = bench.run(policy(|limits| limits.threads = threads), ALGEBRA).await;
        assert_eq!(result(&outcome), "true");
        plain(&outcome);
    }
    let outcome = bench.ask(PLOT).await;
    assert_eq!(result(&outcome), r#""PNG""#);
    // matplotlib asks another program for fonts: it is not there, so nothing is refused.
    plain(&outcome);
    let plot = outcome.artifacts.iter().find(|artifact| artifact.path == "plot.png").unwrap();
    assert!(plot.bytes > 5_000);
    bench.close().await;
}

#[tokio::test]
async fn imported_in_the_jar() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    work(&[]).await;
}

#[tokio::test]
async fn imported_before() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    work(&["numpy", "pandas", "matplotlib.pyplot"]).await;
}

#[tokio::test]
async fn fonts_for_postscript_are_read_when_they_are_used() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &[]);
    let outcome = bench.run(policy(|limits| limits.wall_ms = 120_000), FONTS_FOR_POSTSCRIPT).await;
    assert_eq!(result(&outcome), "[true,true,true,true,true,false]");
    bench.close().await;
}

#[tokio::test]
async fn labels_in_chinese_are_drawn_with_a_font_of_the_host() {
    if !has_chinese_font() {
        return skip("no font with Chinese letters is installed");
    }
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &[]);
    let outcome = bench.run(policy(|limits| limits.wall_ms = 120_000), CHINESE).await;
    assert!(result(&outcome).starts_with(r#"["sans-serif",""#), "{}", result(&outcome));
    plain(&outcome);
    bench.close().await;
}

#[tokio::test]
async fn labels_in_chinese_are_drawn_with_a_font_that_is_handed_in() {
    let Some(folder) = std::env::var_os("CARBOY_TEST_FONTS") else {
        return skip("CARBOY_TEST_FONTS names no folder with a font that has Chinese letters");
    };
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &[]);
    let job = Job::new(CHINESE).with_mount("/data/fonts", folder.into_string().unwrap());
    let policy = policy(|limits| limits.wall_ms = 120_000);
    let outcome = bench.engine.run(job.with_policy(policy)).await.unwrap();
    assert!(result(&outcome).starts_with(r#"["DejaVu Sans",""#), "{}", result(&outcome));
    bench.close().await;
}

#[tokio::test]
async fn siblings_draw_different_numbers() {
    let Some(python) = venv_python() else { return };
    let bench = Bench::with(python, &["numpy"]);
    let code = "import numpy, ssl\nresult = [numpy.random.random(), ssl.RAND_bytes(8).hex()]";
    let draws: Vec<String> =
        [bench.ask(code).await, bench.ask(code).await].iter().map(result).collect();
    assert_ne!(draws[0], draws[1]);
    bench.close().await;
}
