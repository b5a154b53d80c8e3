//! What the guard sees is what CPython sees: in the standard library of each interpreter, and in
//! programs made from pieces. Where both take a text, every name, attribute, import, keyword and text
//! must be the same; anything else must be a refusal.
//!
//! `CARBOY_TEST_PYTHONS` names interpreters, separated by colons; without it `python3` is asked.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking"
)]

mod cpython;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use cpython::{Cpython, Verdict};

fn pythons() -> Vec<PathBuf> {
    let named = std::env::var("CARBOY_TEST_PYTHONS").unwrap_or_else(|_| "python3".into());
    let mut seen = BTreeMap::new();
    for python in named.split(':') {
        // One of each version: a venv has the library of its base.
        let output = Command::new(python).args(["-I", "-c", STDLIB]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        seen.entry(text.trim().to_owned()).or_insert_with(|| PathBuf::from(python));
    }
    seen.into_values().collect()
}

fn for_each_python(compare: impl Fn(&Path) + Sync) {
    std::thread::scope(|scope| {
        let compare = &compare;
        let running: Vec<_> =
            pythons().into_iter().map(|python| scope.spawn(move || compare(&python))).collect();
        running.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

const STDLIB: &str = "import sysconfig; print(sysconfig.get_path('stdlib'))";

fn library(python: &Path) -> PathBuf {
    let output = Command::new(python).args(["-I", "-c", STDLIB]).output().unwrap();
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

/// Every Python file below a folder that is UTF-8.
fn sources(folder: &Path, into: &mut Vec<(PathBuf, String)>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "site-packages" && name != "__pycache__" {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "py")
            && let Ok(text) = String::from_utf8(std::fs::read(&path).unwrap_or_default())
        {
            into.push((path, text));
        }
    }
}

#[test]
fn the_standard_library_of_each_interpreter_is_read_the_same() {
    for_each_python(|python| {
        let mut files = vec![];
        sources(&library(python), &mut files);
        assert!(files.len() > 500, "{} files", files.len());
        let mut cpython = Cpython::start(python);
        let mut counts = BTreeMap::<Verdict, Vec<String>>::new();
        for (path, text) in &files {
            let verdict = cpython.compare(text);
            let verdict = verdict.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
            counts.entry(verdict).or_default().push(path.display().to_string());
        }
        let count = |verdict| counts.get(&verdict).map_or(0, Vec::len);
        println!(
            "{}: {} files: {} the same, {} only taken by CPython, {} only by the guard, {} by neither",
            python.display(),
            files.len(),
            count(Verdict::Same),
            count(Verdict::OnlyCpython),
            count(Verdict::OnlyGuard),
            count(Verdict::Neither),
        );
        if let Some(refused) = counts.get(&Verdict::OnlyCpython) {
            println!("refused: {refused:?}");
        }
        // Files with odd characters or encodings, and tests of the parser's limits.
        assert!(count(Verdict::OnlyCpython) * 100 < files.len());
    });
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

/// Pieces that programs are made of, those where readers of Python have differed among them.
const PIECES: &[&str] = &[
    "x",
    "__a__",
    "_b",
    "ﬁ",
    "ｅｖａｌ",
    "µ",
    "é",
    "e\u{301}",
    "x.y",
    ".z",
    "f(a=1)",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ";",
    "=",
    ":=",
    "->",
    "*",
    "**",
    "+",
    "-",
    "not ",
    " in ",
    " is ",
    " if ",
    " else ",
    "lambda a, /, *b: ",
    "yield ",
    "await ",
    "async ",
    "def g(a, *, b: int = 1, **c): ",
    "class C(D, metaclass=E): ",
    "for i in j: ",
    "while k: ",
    "try: ",
    "except L as m: ",
    "finally: ",
    "with n as o: ",
    "match p:\n case Q(r=s, t=1): ",
    "match ",
    "case ",
    "type T = int\n",
    "type ",
    "import u.v as w\n",
    "from . import *\n",
    "from ..x import y as z\n",
    "global g\n",
    "nonlocal h\n",
    "del q\n",
    "return ",
    "raise x from y\n",
    "assert a, b\n",
    "'text'",
    "\"\"\"doc\n\"\"\"",
    "r'\\n'",
    "b'x'",
    "u'y'",
    "f'{x.y!r:>{w}}'",
    "f\"{x['k']}\"",
    "f'{x=}'",
    "f'{{}}'",
    "rf'\\{x}'",
    "f'''{\na\n}'''",
    "f'{lambda x: 1}'",
    "f'{f'{y}'}'",
    "'\\N{DIGIT ONE}'",
    "'\\ud800'",
    "'\\x41'",
    "'a' 'b'",
    "1_000",
    "0x1f",
    "1e3j",
    "...",
    "None",
    "True",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\n    ",
    "\n  ",
    "\\\n",
    "\x0c",
    " ",
    "# c\n",
    "@d\n",
    "print",
    "exec",
    "\u{2028}",
    "\u{a0}",
    "`",
    "?",
    "!",
    "$",
    "<>",
    "!=",
    "0777",
    "if a: ",
    "elif b: ",
    "else: ",
    "pass\n",
    "[x for x in y if z]",
    "{k: v for k, v in w}",
    "{**a, 'b': c}",
    "(yield)",
    "x: int = 1\n",
    "x[1:2, ...]",
    "not x",
    "a if b else c",
    "~x",
    "x @ y",
];

#[test]
fn programs_made_of_pieces_are_read_the_same() {
    let rounds: usize = std::env::var("CARBOY_TEST_PROGRAMS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(4_000);
    for_each_python(|python| {
        let mut cpython = Cpython::start(python);
        let mut files = vec![];
        sources(&library(python).join("json"), &mut files);
        sources(&library(python).join("asyncio"), &mut files);
        let mut dice = Dice(7);
        let mut counts = BTreeMap::<Verdict, usize>::new();
        for round in 0..rounds {
            let source = if round % 2 == 0 {
                let count = 1 + dice.below(12);
                (0..count).map(|_| PIECES[dice.below(PIECES.len())]).collect::<String>()
            } else {
                changed(&files[dice.below(files.len())].1, &mut dice)
            };
            let verdict = cpython.compare(&source);
            let verdict = verdict.unwrap_or_else(|why| panic!("{python:?}: {source:?}: {why}"));
            *counts.entry(verdict).or_default() += 1;
        }
        println!("{}: {counts:?}", python.display());
        assert!(counts.get(&Verdict::Same).is_some_and(|same| *same * 10 > rounds));
    });
}

/// Some statements of a file, with a piece put in, a character taken out or two exchanged.
fn changed(text: &str, dice: &mut Dice) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // From one statement of the module to another.
    let is_outer = |at: &usize| lines[*at].starts_with(|c: char| c.is_alphabetic() || c == '@');
    let outer: Vec<usize> = (0..lines.len()).filter(is_outer).chain([lines.len()]).collect();
    let start = dice.below(outer.len() - 1);
    let end = (start + 1 + dice.below(3)).min(outer.len() - 1);
    let mut chars: Vec<char> = lines[outer[start]..outer[end]].concat().chars().collect();
    for _ in 0..dice.below(3) {
        let at = dice.below(chars.len());
        match dice.below(3) {
            0 => drop(chars.remove(at)),
            1 => drop(chars.splice(at..at, PIECES[dice.below(PIECES.len())].chars())),
            _ => {
                let other = dice.below(chars.len());
                chars.swap(at, other);
            }
        }
        if chars.is_empty() {
            break;
        }
    }
    chars.into_iter().collect()
}
