//! Interpreters that do not lie as a distribution lays them, and what `.pth` files, editable installs, links and
//! venvs name elsewhere: it works, or it is named.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use carboy_engine::{Config, Engine, Installation, PoolConfig};
use carboy_protocol::{Job, Kind, Policy, Walls};

use crate::support::*;

/// An interpreter of the test scripts' that brings its own loader and libraries, as its prefix.
fn with_own_loader() -> Option<PathBuf> {
    let found = crate::pythons::interpreters().into_iter().find_map(|python| {
        let prefix = python.parent()?.parent()?.to_path_buf();
        prefix.join("lib/ld-linux-x86-64.so.2").exists().then_some(prefix)
    });
    if found.is_none() {
        skip("no interpreter in CARBOY_TEST_PYTHONS has a loader of its own");
    }
    found
}

/// Lays an interpreter into `prefix` with its loader and libraries in `libraries`, and its standard library
/// behind a link. Returns the program.
fn lay(from: &Path, prefix: &Path, libraries: &Path) -> PathBuf {
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::create_dir_all(prefix.join("lib")).unwrap();
    fs::create_dir_all(libraries).unwrap();
    for entry in fs::read_dir(from.join("lib")).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            symlink(entry.path(), prefix.join("lib").join(entry.file_name())).unwrap();
        } else {
            fs::copy(entry.path(), libraries.join(entry.file_name())).unwrap();
        }
    }
    let program = prefix.join("bin/python3");
    fs::copy(from.join("bin/python3").canonicalize().unwrap(), &program).unwrap();
    let loader = libraries.join("ld-linux-x86-64.so.2");
    for change in [
        vec!["--force-rpath", "--set-rpath", libraries.to_str().unwrap()],
        vec!["--set-interpreter", loader.to_str().unwrap()],
    ] {
        let done = Command::new("patchelf").args(change).arg(&program).status().unwrap();
        assert!(done.success());
    }
    program
}

async fn runs(python: &Path, policy: Policy) {
    let engine = engine(python);
    let code = "import ctypes, lzma, sqlite3, ssl, zlib\nresult = 6 * 7";
    let outcome = engine.run(Job::new(code).with_policy(policy)).await.unwrap();
    assert_eq!(result(&outcome), "42", "{:?}", outcome.error);
    engine.shutdown().await;
}

#[tokio::test]
async fn a_loader_and_libraries_that_lie_elsewhere_are_found() {
    let Some(from) = with_own_loader() else { return };
    let folder = Folder::new();
    let python = lay(&from, &folder.0.join("store/python"), &folder.0.join("store/glibc/lib"));
    runs(&python, policy(|_| {})).await;
}

#[tokio::test]
async fn a_root_engine_runs_an_interpreter_below_a_closed_home() {
    if !rustix::process::geteuid().is_root() || walls() != Walls::Full {
        return skip("only root reaches another user's home, and only in full walls");
    }
    let Some(from) = with_own_loader() else { return };
    let folder = Folder::new();
    let home = folder.0.join("home");
    let python = lay(&from, &home.join("python"), &home.join("python/own/lib"));
    std::os::unix::fs::chown(&home, Some(1000), Some(1000)).unwrap();
    fs::set_permissions(&home, PermissionsExt::from_mode(0o700)).unwrap();
    runs(&python, policy(|_| {})).await;
    // Nested walls share the host's tree: the one thing left is to say which directory is in the way.
    let doctor =
        Command::new(program()).args(["doctor", "--python"]).arg(&python).output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    let wanted = format!("cannot enter {}, so nested walls cannot start it", home.display());
    assert!(said.contains(&wanted), "{said}");
}

/// A venv of the interpreter under test, laid by hand: no package is in it.
struct Venv {
    root: PathBuf,
    packages: PathBuf,
}

impl Venv {
    fn new(root: PathBuf, settings: &str) -> Venv {
        let asked = Command::new(python())
            .args([
                "-I",
                "-c",
                "import sys; print('python%d.%d' % sys.version_info[:2]); print(sys.executable)",
            ])
            .output()
            .unwrap();
        let said = String::from_utf8(asked.stdout).unwrap();
        let (name, program) = said.trim().split_once('\n').unwrap();
        let packages = root.join("lib").join(name).join("site-packages");
        fs::create_dir_all(&packages).unwrap();
        fs::create_dir(root.join("bin")).unwrap();
        symlink(program, root.join("bin/python")).unwrap();
        let home = Path::new(program).parent().unwrap().display();
        fs::write(root.join("pyvenv.cfg"), format!("home = {home}\n{settings}")).unwrap();
        Venv { root, packages }
    }

    fn python(&self) -> PathBuf {
        self.root.join("bin/python")
    }

    fn pth(&self, name: &str, text: &str) {
        write(&self.packages.join(name), text);
    }

    fn engine(&self) -> Engine {
        engine(&self.python())
    }
}

fn engine(python: &Path) -> Engine {
    Engine::new(Config {
        pool: PoolConfig { ceiling: 0, ..PoolConfig::default() },
        ..Config::new(Installation::at(program()).unwrap(), python)
    })
    .unwrap()
}

/// Writes a file that others can read, whatever the umask is, in directories that are made.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Ends an engine after what a run in it said.
async fn ask(engine: Engine, code: &str) -> String {
    let outcome = engine.run(Job::new(code).with_policy(policy(|_| {}))).await.unwrap();
    engine.shutdown().await;
    result(&outcome)
}

/// Why what a file of this name names is not shown.
fn why(engine: &Engine, by: &str) -> Vec<String> {
    let left_out = engine.python().layout.left_out.iter();
    let by = left_out.filter(|one| one.named_by.ends_with(by));
    by.map(|one| format!("{}: {}", one.path.display(), one.why)).collect()
}

/// Tries to read a file, from code.
fn reading(path: &Path) -> String {
    format!(
        "try: result = open({:?}).read()\nexcept OSError as error: result = type(error).__name__",
        path.display().to_string()
    )
}

/// Whether root has a number here. In a user namespace without one its files look like anybody's, and nothing that
/// lies below them is taken on anybody's word.
fn knows_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    let known = fs::metadata("/").unwrap().uid() == 0;
    if !known {
        skip("root has no number in this user namespace");
    }
    known
}

/// A project as its author keeps it: a package, and much that is nobody's business.
fn project(folder: &Path) {
    write(&folder.join("tool/__init__.py"), "import tool.part\nanswer = tool.part.answer\n");
    write(&folder.join("tool/part.py"), "answer = 42\n");
    write(&folder.join("tool/data.txt"), "data");
    write(&folder.join("single.py"), "answer = 43\n");
    write(&folder.join(".env"), "KEY=secret");
    write(&folder.join(".git/config"), "secret");
    write(&folder.join("private/key.pem"), "secret");
}

const USES_PROJECT: &str = "
import importlib.resources, tool, single
data = importlib.resources.files('tool').joinpath('data.txt').read_text()
result = [tool.answer, single.answer, data]";

#[tokio::test]
async fn a_pth_file_shows_what_can_be_imported_and_nothing_else() {
    if !knows_root() {
        return;
    }
    let folder = Folder::new();
    let venv = Venv::new(folder.0.join("venv"), "");
    let work = folder.0.join("work");
    project(&work);
    // By way of a link, and relative to where it lies.
    symlink(&work, folder.0.join("alias")).unwrap();
    venv.pth("project.pth", &format!("# a remark\n\n{}\n", folder.0.join("alias").display()));
    project(&folder.0.join("beside"));
    venv.pth("relative.pth", "../../../../beside\n");
    let engine = venv.engine();
    assert_eq!(engine.python().layout.left_out, [], "nothing is left out");
    assert_eq!(ask(engine, USES_PROJECT).await, "[42,43,\"data\"]");
    for hidden in [".env", ".git/config", "private/key.pem"] {
        let said = ask(venv.engine(), &reading(&work.join(hidden))).await;
        assert!(
            ["\"FileNotFoundError\"", "\"PermissionError\""].contains(&&*said),
            "{hidden}: {said}"
        );
    }
}

#[tokio::test]
async fn editable_installs_are_found_without_executing_them() {
    if !knows_root() {
        return;
    }
    let folder = Folder::new();
    let venv = Venv::new(folder.0.join("venv"), "");
    let work = folder.0.join("work");
    project(&work);
    // The forms of setuptools and of the package `editables`, shortened: only its two tables are read here.
    // Executed outside, either would leave a file.
    let mark = folder.0.join("executed");
    let finder = format!(
        "import importlib.util, pathlib, sys\n\
         try: open({mark:?}, 'w')\n\
         except OSError: pass\n\
         MAPPING: dict[str, str] = {{'tool': {:?}, 'single': {:?}}}\n\
         class Finder:\n\
         \x20   @classmethod\n\
         \x20   def find_spec(cls, name, path=None, target=None):\n\
         \x20       place = MAPPING.get(name)\n\
         \x20       if place is None: return None\n\
         \x20       for file in (pathlib.Path(place, '__init__.py'), pathlib.Path(place + '.py')):\n\
         \x20           if file.exists(): return importlib.util.spec_from_file_location(name, file)\n\
         def install(): sys.meta_path.append(Finder)\n",
        work.join("tool"),
        work.join("single"),
    );
    let module = "__editable___tool_1_0_finder";
    write(&venv.packages.join(format!("{module}.py")), &finder);
    venv.pth("__editable__.tool-1.0.pth", &format!("import {module}; {module}.install()"));
    // A kind that would have to be executed is named.
    write(&venv.packages.join("_built_editable_loader.py"), "def install(): pass\n");
    venv.pth("built.pth", "import _built_editable_loader; _built_editable_loader.install()");
    let engine = venv.engine();
    assert!(!mark.exists(), "a line of a .pth file was executed outside of the walls");
    let said =
        why(&engine, "_built_editable_loader.py").concat() + &why(&engine, "built.pth").concat();
    assert!(said.contains("only when it is executed"), "{said}");
    assert_eq!(ask(engine, USES_PROJECT).await, "[42,43,\"data\"]");
    let said = ask(venv.engine(), &reading(&work.join(".env"))).await;
    assert!(said.contains("Error"), "{said}");
}

#[tokio::test]
async fn what_is_too_broad_is_refused_by_name() {
    if !knows_root() {
        return;
    }
    let folder = Folder::new();
    let venv = Venv::new(folder.0.join("venv"), "");
    let secrets = folder.0.join("secrets");
    write(&secrets.join("id_ed25519"), "secret");
    let home = std::env::var("HOME").unwrap_or("/root".into());
    let strict = folder.0.join("build/__editable__.tool-1");
    write(&strict.join("tool.py"), "");
    let places = ["/", "/home", "/etc", "/etc/ssl", "/usr", "/proc/1/root", &home];
    let mut text = places.join("\n");
    for more in [secrets.as_path(), strict.as_path(), Path::new("/nowhere/at/all")] {
        text += &format!("\n{}", more.display());
    }
    venv.pth("broad.pth", &text);
    let engine = venv.engine();
    let said = why(&engine, "broad.pth");
    assert_eq!(said.len(), places.len() + 3, "{said:#?}");
    for (place, reason) in [
        ("/", "that is the whole host"),
        ("/home", "that holds much besides Python"),
        ("/etc/ssl", "that belongs to the system"),
        (secrets.to_str().unwrap(), "it holds nothing that can be imported"),
        (strict.to_str().unwrap(), "strict mode"),
        ("/nowhere/at/all", "there is no such directory"),
    ] {
        let line = said.iter().find(|line| line.starts_with(&format!("{place}: ")));
        assert!(line.is_some_and(|line| line.contains(reason)), "{place}: {said:#?}");
    }
    let said = ask(engine, &reading(&secrets.join("id_ed25519"))).await;
    assert!(said.contains("Error"), "{said}");
    // Both commands say so.
    for command in ["doctor", "explain"] {
        let told = Command::new(program()).arg(command).arg("--python").arg(venv.python()).output();
        let told = String::from_utf8_lossy(&told.unwrap().stdout).into_owned();
        assert!(told.contains("broad.pth") && told.contains("that is the whole host"), "{told}");
    }
}

#[test]
fn the_name_of_a_file_says_nothing_to_a_terminal() {
    let folder = Folder::new();
    let venv = Venv::new(folder.0.join("venv"), "");
    let odd = "\x1b]0;owned\x07\u{9b}31m\u{202e}\u{fe0f}\u{e0041}";
    let named = folder.0.join(format!("project{odd}"));
    write(&named.join("tool.py"), "answer = 1");
    venv.pth(&format!("a{odd}\nok.pth"), &format!("/nowhere/{odd}\n{}\n", named.display()));
    for command in ["doctor", "explain"] {
        let told = Command::new(program()).arg(command).arg("--python").arg(venv.python()).output();
        let told = String::from_utf8(told.unwrap().stdout).unwrap();
        assert!(told.contains("owned"), "{command}: {told:?}");
        let hidden = |char: &char| *char != '\n' && carboy_protocol::is_hidden(*char);
        let found: Vec<char> = told.chars().filter(hidden).collect();
        assert!(found.is_empty(), "{command}: {found:?}");
        assert!(!told.lines().any(|line| line.starts_with("ok.pth")), "{command}: {told}");
    }
}

#[tokio::test]
async fn only_the_callers_own_word_widens_what_jars_can_read() {
    if !knows_root() {
        return;
    }
    let folder = Folder::new();
    let venv = Venv::new(folder.0.join("venv"), "");
    let work = folder.0.join("work");
    project(&work);
    let mode =
        |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let pth = venv.packages.join("tool.pth");
    venv.pth("tool.pth", &work.display().to_string());
    let refused = |words: &str| {
        let said = why(&venv.engine(), "tool.pth").concat();
        assert!(said.contains(words), "{words}: {said}");
    };
    assert_eq!(why(&venv.engine(), "tool.pth"), Vec::<String>::new());
    mode(&pth, 0o666);
    refused("every user can write to");
    mode(&pth, 0o644);
    mode(&venv.packages, 0o777);
    refused("every user can write to");
    mode(&venv.packages, 0o755);
    // Another user could exchange what is named.
    mode(&work, 0o777);
    refused("every user can write to");
    mode(&work, 0o755);
    assert_eq!(why(&venv.engine(), "tool.pth"), Vec::<String>::new());
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&pth, Some(1234), Some(1234)).unwrap();
        refused("belongs to user 1234");
        std::os::unix::fs::chown(&pth, Some(0), Some(0)).unwrap();
        std::os::unix::fs::chown(&work, Some(1234), Some(1234)).unwrap();
        refused("belongs to user 1234");
    }
    mode(&venv.packages, 0o777);
    let engine = venv.engine();
    let outcome = engine.run(Job::new("import tool").with_policy(policy(|_| {}))).await.unwrap();
    engine.shutdown().await;
    assert_eq!(error(&outcome).kind, Kind::Exception, "{outcome:?}");
}

#[tokio::test]
async fn links_among_the_packages_are_followed_to_what_they_name() {
    if !knows_root() {
        return;
    }
    let folder = Folder::new();
    let venv = Venv::new(folder.0.join("venv"), "");
    // All packages behind a link, and in there one behind another.
    let work = folder.0.join("work");
    project(&work);
    let elsewhere = folder.0.join("elsewhere/packages");
    write(&elsewhere.join("other.py"), "answer = 44\n");
    write(&elsewhere.join("notes/secret.txt"), "secret");
    symlink(work.join("tool"), elsewhere.join("tool")).unwrap();
    symlink(work.join("single.py"), elsewhere.join("single.py")).unwrap();
    symlink("/etc", elsewhere.join("broad")).unwrap();
    fs::remove_dir(&venv.packages).unwrap();
    symlink(&elsewhere, &venv.packages).unwrap();
    let engine = venv.engine();
    let code = format!("{USES_PROJECT}\nimport other\nresult.append(other.answer)");
    let said = why(&engine, "broad").concat();
    assert!(said.contains("that belongs to the system"), "{said}");
    assert_eq!(ask(engine, &code).await, "[42,43,\"data\",44]");
    for hidden in [elsewhere.join("notes/secret.txt"), work.join(".env")] {
        let said = ask(venv.engine(), &reading(&hidden)).await;
        assert!(said.contains("Error"), "{said}");
    }
}

#[tokio::test]
async fn venvs_share_packages_lie_in_projects_and_come_from_venvs() {
    let folder = Folder::new();
    // One that shares its interpreter's packages: they are in the path, and only then.
    let seen = "import sys\nresult = [p for p in sys.path if p.endswith('-packages') and 'venv' not in p] != []";
    let own = ask(engine(&python()), seen).await;
    for (shares, wanted) in [("true", own.as_str()), ("false", "false")] {
        let settings = format!("include-system-site-packages = {shares}\n");
        let venv = Venv::new(folder.0.join(format!("venv-{shares}")), &settings);
        assert_eq!(ask(venv.engine(), seen).await, wanted);
    }
    // One made with another: its link leads to that of the other, its settings to the interpreter.
    let first = Venv::new(folder.0.join("first"), "");
    let second = Venv::new(folder.0.join("second"), "");
    fs::remove_file(second.python()).unwrap();
    symlink(first.python(), second.python()).unwrap();
    write(&second.packages.join("inner.py"), "answer = 45\n");
    assert_eq!(ask(second.engine(), "import inner\nresult = inner.answer").await, "45");
    // One that is its project's own folder: the project is not shown with it.
    let work = folder.0.join("work");
    project(&work);
    let venv = Venv::new(work.clone(), "");
    write(&venv.packages.join("inner.py"), "answer = 46\n");
    assert_eq!(ask(venv.engine(), "import inner\nresult = inner.answer").await, "46");
    let said = ask(venv.engine(), &reading(&work.join(".env"))).await;
    assert!(said.contains("Error"), "{said}");
}

#[test]
fn a_venv_whose_interpreter_was_moved_is_named() {
    let folder = Folder::new();
    let venv = Venv::new(folder.0.join("venv"), "");
    let gone = folder.0.join("was/here");
    fs::write(venv.root.join("pyvenv.cfg"), format!("home = {}\n", gone.display())).unwrap();
    fs::remove_file(venv.python()).unwrap();
    symlink(gone.join("python3"), venv.python()).unwrap();
    let made = Engine::new(Config::new(Installation::at(program()).unwrap(), venv.python()));
    let said = made.err().unwrap().to_string();
    let link = format!("it is a link to {}, which does not exist", gone.join("python3").display());
    let base = format!("was made from an interpreter in {}, which is gone", gone.display());
    assert!(said.contains(&link) && said.contains(&base), "{said}");
}
