//! What to tell the author of code about mistakes behind which no wall and no limit stands: the ones that
//! language models make because they think of a notebook, a terminal or another product.

use carboy_guard::line_advice;
use carboy_protocol::{GuestError, INPUT_ROOT, Job, Kind};

/// How many names of files are told.
const MOST_NAMES: usize = 10;
/// How much of each of them.
const LONGEST: usize = 80;

/// The files and mounts that a run was given, by the names that code opens them with.
#[derive(Default)]
pub(crate) struct Given {
    names: Vec<String>,
    more: usize,
}

impl Given {
    /// Those of a job.
    pub fn of(job: &Job) -> Given {
        let below = |place: &str| {
            let place = place.strip_prefix(INPUT_ROOT).unwrap_or(place);
            // From the working directory they are found in all walls.
            format!("{}/", place.trim_start_matches('/'))
        };
        let all = job.files.keys().cloned().chain(job.mounts.keys().map(|place| below(place)));
        let names = all.take(MOST_NAMES).map(|name| name.chars().take(LONGEST).collect());
        let more = (job.files.len() + job.mounts.len()).saturating_sub(MOST_NAMES);
        Given { names: names.collect(), more }
    }

    /// What to tell code that looked for a file that is not there.
    fn advice(&self) -> Option<String> {
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        let names = self.names.join(", ");
        (!names.is_empty()).then(|| {
            format!("these files were handed in: {names}{more}; no other file of the host is here")
        })
    }
}

/// Says what to write instead, if the exception is one of those mistakes. What the guest said only selects
/// among sentences.
pub(crate) fn advise(error: &mut GuestError, code: &str, given: &Given) {
    if error.kind != Kind::Exception {
        return;
    }
    if let ("FileNotFoundError", Some(advice)) = (error.type_name.as_str(), given.advice()) {
        error.hint = Some(advice);
    }
    if let Some(advice) = advice(error, code) {
        error.hint = Some(advice.into());
    }
    if shows_a_window(error) {
        // Nobody can install a display.
        error.operator_hint = None;
    }
}

/// Whether it failed because it wanted to show something on a screen.
fn shows_a_window(error: &GuestError) -> bool {
    match error.type_name.as_str() {
        "ImportError" => error.message.contains("Cannot load backend"),
        "TclError" => true,
        _ => false,
    }
}

/// How libraries say that a name could not be looked up, or that nobody could be reached.
const NO_NETWORK: [&str; 4] = [
    "Name or service not known",
    "name resolution",
    "Max retries exceeded with url",
    "Cannot connect to host",
];

fn advice(error: &GuestError, code: &str) -> Option<&'static str> {
    let says = |words: &str| error.message.contains(words);
    if shows_a_window(error) {
        return Some(
            "no window can be shown here: choose no backend, or matplotlib.use(\"Agg\"), and save \
             figures with savefig; instead of tkinter or turtle, draw with matplotlib or Pillow",
        );
    }
    match error.type_name.as_str() {
        "SyntaxError" => {
            let number = usize::try_from(error.line?).ok()?;
            line_advice(code.lines().nth(number.checked_sub(1)?)?)
        }
        "EOFError" if says("EOF when reading a line") => Some(
            "there is no standard input and nobody to ask: set the value in the code, or take it from \
             the inputs",
        ),
        "NameError" if says("name 'display'") || says("name 'get_ipython'") => {
            Some("this is not a notebook: print the value, or end with it as the last expression")
        }
        "ModuleNotFoundError" => Some(
            "that module is not installed, and nothing can be installed in a run; use the packages that \
             are there, or the standard library",
        ),
        "ImportError" if says("cannot import name") => Some(
            "the module is there and has no such name: check the spelling, and what its version has",
        ),
        "RuntimeError" if says("start new thread") => Some(
            "that was one thread too many: use a pool with a fixed number of workers, such as \
             ThreadPoolExecutor(max_workers=8)",
        ),
        "PermissionError" if says("multiprocessing.Manager") => Some(
            "there are no managers here: share data by multiprocessing.Queue, Pipe, Value or Array, or \
             use threads and ordinary objects",
        ),
        "LookupError" if says("NLTK Downloader") => Some(
            "that data of NLTK is not installed and cannot be downloaded in a run; use what needs none: \
             nltk.wordpunct_tokenize, TreebankWordTokenizer, PorterStemmer, or re and str.split",
        ),
        "NotImplementedError" if says("Queue.qsize()") => {
            Some("use empty(), or count what is put and taken")
        }
        // What urllib, requests, httpx and aiohttp make of the refusal of a socket.
        _ if NO_NETWORK.iter().any(|words| says(words)) => {
            Some("the policy allows no network; work on the inputs and return what you computed")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use carboy_protocol::FileSource;

    use super::*;
    use crate::verdict::words;

    fn advised(type_name: &str, message: &str, line: Option<u32>, code: &str) -> Option<String> {
        let mut error = words::error(Kind::Exception, type_name, message, "");
        error.line = line;
        advise(&mut error, code, &Given::default());
        error.hint
    }

    #[test]
    fn code_that_finds_no_file_is_told_which_there_are() {
        let hint = |job: &Job, type_name| {
            let mut error = words::error(Kind::Exception, type_name, "its own words", "before");
            advise(&mut error, "", &Given::of(job));
            error.hint.unwrap_or_default()
        };
        let mut job = Job::new("");
        assert_eq!(hint(&job, "FileNotFoundError"), "before");
        job.mounts = [("/mnt/data".into(), "/srv".into())].into();
        job.files.insert("sales.csv".into(), FileSource::Text(String::new()));
        assert_eq!(
            hint(&job, "FileNotFoundError"),
            "these files were handed in: sales.csv, data/; no other file of the host is here"
        );
        assert_eq!(hint(&job, "ValueError"), "before");
        for number in 0..200 {
            job.files.insert(
                format!("a{number:03}{}", "x".repeat(200)),
                FileSource::Text(String::new()),
            );
        }
        let long = hint(&job, "FileNotFoundError");
        assert!(long.contains(" and 192 more; ") && long.chars().count() < 1000, "{long}");
    }

    #[test]
    fn mistakes_of_models_have_a_sentence() {
        let hint = |type_name, message| advised(type_name, message, None, "").unwrap_or_default();
        assert!(hint("EOFError", "EOF when reading a line").contains("inputs"));
        assert!(hint("NameError", "name 'display' is not defined").contains("print"));
        assert!(hint("ModuleNotFoundError", "No module named 'torch'").contains("not installed"));
        assert!(hint("ImportError", "cannot import name 'x' from 'math'").contains("spelling"));
        assert!(hint("RuntimeError", "can't start new thread").contains("max_workers"));
        assert!(hint("PermissionError", "multiprocessing.Manager needs").contains("Queue"));
        assert!(hint("NotImplementedError", "Queue.qsize() and").contains("empty()"));
        assert!(hint("ImportError", "Cannot load backend 'TkAgg' which").contains("savefig"));
        assert!(hint("TclError", "no display name").contains("Pillow"));
        assert!(hint("LookupError", "Please use the NLTK Downloader").contains("wordpunct"));
        let unknown = "<urlopen error [Errno -2] Name or service not known>";
        assert!(hint("URLError", unknown).contains("no network"));
        assert!(hint("ConnectionError", "Max retries exceeded with url: /").contains("no network"));
        assert_eq!(hint("LookupError", "a key"), "");
        assert_eq!(hint("EOFError", "Ran out of input"), "");
        assert_eq!(hint("NameError", "name 'x' is not defined"), "");
    }

    #[test]
    fn a_fault_of_syntax_is_explained_by_its_line() {
        let code = "import os\n!pip install x\n";
        let hint = |line| advised("SyntaxError", "invalid syntax", line, code);
        assert!(hint(Some(2)).is_some_and(|hint| hint.contains("installed")));
        assert_eq!(hint(Some(1)), None);
        assert_eq!(hint(Some(0)), None);
        assert_eq!(hint(Some(9)), None);
        assert_eq!(hint(None), None);
    }
}
