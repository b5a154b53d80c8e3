//! An interpreter: what it is, and which files of the host it needs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use carboy_protocol::{PythonVersion, supported_pythons};
use serde::{Deserialize, Serialize};

use crate::error::RequestError;
use crate::host::layout::{Layout, Parts};
use crate::host::way::walk;

/// Which versions of CPython an engine takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// Those that carboy is tested with.
    #[default]
    Tested,
    /// Newer ones too. The walls are the same; what its library needs of them is not known.
    Newer,
}

/// A CPython that can become a zygote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Python {
    /// How it is called, without resolving links: a venv is known by this path.
    pub program: PathBuf,
    /// Its version.
    pub version: String,
    /// Its version, as far as the language goes.
    #[serde(skip)]
    pub language: PythonVersion,
    /// The venv it belongs to.
    pub venv: Option<PathBuf>,
    /// What it reads of the host, and because of what.
    pub layout: Layout,
}

/// What an interpreter says of itself. Asked without `site`, so that no package runs, and written
/// without `json`, whose import would take as long as everything else.
const QUESTION: &str = "
import site, sys, sysconfig
from _json import encode_basestring_ascii as text
def show(value):
    if isinstance(value, dict):
        return '{' + ','.join(text(key) + ':' + show(item) for key, item in value.items()) + '}'
    if isinstance(value, list):
        return '[' + ','.join(map(show, value)) + ']'
    return text(value) if isinstance(value, str) else str(value)
try: maps = [line.split()[-1] for line in open('/proc/self/maps')]
except OSError: maps = []
libraries = sorted({path for path in maps if '/libpython' in path})
stdlib = [sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib')]
# Some lay packages out otherwise in a venv. These are to be those of the interpreter itself.
sys.prefix, sys.exec_prefix = sys.base_prefix, sys.base_exec_prefix
print(show({
  'program': sys.executable,
  'implementation': sys.implementation.name,
  'version': list(sys.version_info[:3]),
  'flags': sys.abiflags,
  'prefix': sys.base_prefix,
  'exec_prefix': sys.base_exec_prefix,
  'stdlib': stdlib,
  'sites': site.getsitepackages([sys.prefix, sys.exec_prefix]),
  'library_folder': sys.platlibdir,
  'libraries': libraries,
}))
";

#[derive(Deserialize)]
struct Answer {
    program: PathBuf,
    implementation: String,
    version: [u8; 3],
    flags: String,
    prefix: PathBuf,
    exec_prefix: PathBuf,
    stdlib: [PathBuf; 2],
    sites: Vec<PathBuf>,
    library_folder: String,
    libraries: Vec<PathBuf>,
}

impl Python {
    /// Finds `name` (a path, or a name on `PATH`) and asks it what it is.
    pub fn find(name: &Path, versions: Versions) -> Result<Python, RequestError> {
        let wrong = |why: String| RequestError::Python { path: name.into(), why };
        let program = locate(name).ok_or_else(|| wrong(gone(name)))?;
        let output = Command::new(&program)
            .args(["-I", "-S", "-c", QUESTION])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| wrong(error.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or("no answer").to_owned();
            let base = moved(&program).unwrap_or_default();
            return Err(wrong(format!("it does not start: {last}{base}")));
        }
        let answer: Answer = serde_json::from_slice(&output.stdout)
            .map_err(|_| wrong("it does not answer like a Python".into()))?;
        let [major, minor, micro] = answer.version;
        let language = PythonVersion { major, minor };
        if answer.implementation != "cpython" || language < PythonVersion::OLDEST {
            let what = &answer.implementation;
            let needed = concat!("CPython ", supported_pythons!(), " is needed");
            return Err(wrong(format!("it is {what} {language}; {needed}")));
        }
        if answer.flags.contains('t') {
            return Err(wrong(
                "it is a free-threaded build, which may start threads of its own; a zygote is forked, \
                 and must have one thread"
                    .into(),
            ));
        }
        if !language.is_supported() && versions == Versions::Tested {
            return Err(RequestError::NewPython { path: name.into(), version: language });
        }
        // Its own word for where it is: what we were given may be a script that starts it.
        let program = answer.program.clone();
        let venv = venv_of(&program);
        let layout = answer.layout(language, &program, venv.as_deref());
        let version = format!("{language}.{micro}");
        Ok(Python { program, version, language, venv, layout })
    }
}

impl Answer {
    fn layout(&self, language: PythonVersion, program: &Path, venv: Option<&Path>) -> Layout {
        let in_venv = |venv: &Path| {
            let folders = [self.library_folder.as_str(), "lib"];
            folders.map(|folder| venv.join(format!("{folder}/python{language}/site-packages")))
        };
        let mut venv_sites = venv.map(in_venv).map(Vec::from).unwrap_or_default();
        venv_sites.dedup();
        Layout::look(&Parts {
            program,
            venv,
            prefixes: [&self.prefix, &self.exec_prefix],
            stdlib: &self.stdlib,
            own_sites: &self.sites,
            venv_sites: &venv_sites,
            libraries: &self.libraries,
        })
    }
}

/// Why there is no program of a name.
fn gone(name: &Path) -> String {
    let Ok(target) = std::fs::read_link(name) else { return "there is no such program".into() };
    let target = name.parent().unwrap_or(Path::new("/")).join(target);
    let base = moved(name).unwrap_or_default();
    format!("it is a link to {}, which does not exist{base}", target.display())
}

/// What to do about a venv whose interpreter is no longer where it was.
fn moved(program: &Path) -> Option<String> {
    let venv = venv_of(&std::path::absolute(program).ok()?)?;
    let settings = std::fs::read_to_string(venv.join("pyvenv.cfg")).ok()?;
    let values = settings.lines().filter_map(|line| line.split_once('='));
    let home =
        values.filter(|(key, _)| key.trim() == "home").map(|(_, value)| value.trim()).next()?;
    let is_there = walk(Path::new(home)).is_some();
    (!is_there).then(|| {
        let venv = venv.display();
        format!("; the venv {venv} was made from an interpreter in {home}, which is gone: make the venv again")
    })
}

/// An absolute path to the program, with links as they are.
fn locate(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return name.exists().then(|| std::path::absolute(name).ok()).flatten();
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}

/// The venv a program stands in, known by the file that makes it one.
fn venv_of(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    [folder, folder.parent()?]
        .into_iter()
        .find(|place| place.join("pyvenv.cfg").is_file())
        .map(Path::to_path_buf)
}
