//! What of the host an interpreter needs, piece by piece, and because of what: its own files, its venv, and
//! what `.pth` files, editable installs and links name elsewhere.
//!
//! Whoever can write to a venv's packages says here what jars are shown. So what is named elsewhere is shown
//! only if nobody else could have named or exchanged it, and only as far as it can be imported.

mod broad;
mod parts;
mod pth;
mod trust;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::host::loader;
use crate::host::way::walk;
use broad::Broad;
use pth::Named;
use trust::Caller;

/// More pieces than a place for jars is built of.
const MOST: usize = 256;

/// Because of what jars are shown something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The interpreter itself, its standard library and its packages.
    Interpreter,
    /// The libraries that it loads.
    Libraries,
    /// The venv that it belongs to.
    Venv,
    /// What the C library and most programs read.
    System,
    /// A `.pth` file, by its name.
    Pth(String),
    /// A link among the packages, by its name.
    Link(String),
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Because::Interpreter => f.write_str("interpreter"),
            Because::Libraries => f.write_str("its libraries"),
            Because::Venv => f.write_str("venv"),
            Because::System => f.write_str("system"),
            Because::Pth(name) => f.write_str(name),
            Because::Link(name) => write!(f, "link {name}"),
        }
    }
}

/// A directory or file that jars can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Which one.
    pub path: PathBuf,
    /// Because of what.
    pub because: Because,
}

/// Something that is named among the packages and that jars are not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// What is named.
    pub path: PathBuf,
    /// The `.pth` file or link that names it.
    pub named_by: PathBuf,
    /// Why it is not shown.
    pub why: String,
}

/// Everything that an interpreter needs of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// What jars can read.
    pub shown: Vec<Shown>,
    /// Directories whose names of files they can read too: those that modules are looked for in.
    pub listed: Vec<PathBuf>,
    /// The folders of packages that the interpreter uses.
    pub packages: Vec<PathBuf>,
    /// What jars cannot read, though it is named.
    pub left_out: Vec<LeftOut>,
}

/// What an interpreter says of where its parts lie.
pub(super) struct Parts<'a> {
    pub program: &'a Path,
    pub venv: Option<&'a Path>,
    pub prefixes: [&'a Path; 2],
    pub stdlib: &'a [PathBuf],
    /// Its own folders of packages, and those of its venv.
    pub own_sites: &'a [PathBuf],
    pub venv_sites: &'a [PathBuf],
    pub libraries: &'a [PathBuf],
}

impl Layout {
    /// Looks for everything.
    pub(super) fn look(parts: &Parts<'_>) -> Layout {
        let mut survey =
            Survey { caller: Caller::this(), broad: Broad::here(), layout: Layout::default() };
        survey.own(parts);
        let uses_own = parts.venv.is_none_or(shares_packages);
        let own_sites = parts.own_sites.iter().filter(|_| uses_own);
        for site in parts.venv_sites.iter().chain(own_sites).filter(|site| site.is_dir()) {
            survey.layout.packages.push(site.clone());
            survey.site(site);
        }
        let mut layout = survey.layout;
        layout.shown.retain(|shown| shown.path.exists());
        layout
    }
}

/// Whether a venv uses the packages of its interpreter too.
fn shares_packages(venv: &Path) -> bool {
    let settings = std::fs::read_to_string(venv.join("pyvenv.cfg")).unwrap_or_default();
    settings.lines().filter_map(|line| line.split_once('=')).any(|(key, value)| {
        key.trim() == "include-system-site-packages" && value.trim().eq_ignore_ascii_case("true")
    })
}

struct Survey {
    caller: Caller,
    broad: Broad,
    layout: Layout,
}

impl Survey {
    fn show(&mut self, path: impl Into<PathBuf>, because: Because) {
        self.layout.shown.push(Shown { path: path.into(), because });
    }

    fn leave_out(&mut self, path: &Path, named_by: &Path, why: impl Into<String>) {
        let (path, named_by) = (path.to_path_buf(), named_by.to_path_buf());
        self.layout.left_out.push(LeftOut { path, named_by, why: why.into() });
    }

    /// Whether a place, given without links, is shown already.
    fn is_shown(&self, real: &Path) -> bool {
        self.layout.shown.iter().any(|shown| {
            real.starts_with(&shown.path)
                || shown.path.canonicalize().is_ok_and(|known| real.starts_with(known))
        })
    }

    /// Whether a directory holds more than an interpreter or a venv that lies in it.
    fn is_shared(&self, folder: &Path) -> bool {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        self.broad.why(&real).is_some() || parts::is_project(&real)
    }

    /// The interpreter's own files and those of its venv.
    fn own(&mut self, parts: &Parts<'_>) {
        self.show(parts.program, Because::Interpreter);
        for prefix in parts.prefixes {
            if !self.is_shared(prefix) {
                self.show(prefix, Because::Interpreter);
            }
        }
        for folder in parts.stdlib.iter().chain(parts.own_sites) {
            self.show(folder, Because::Interpreter);
        }
        if let Ok(program) = parts.program.canonicalize() {
            self.show(program, Because::Interpreter);
        }
        // The shared library, if it has one: where the loader really found it.
        for library in parts.libraries {
            self.show(library, Because::Libraries);
        }
        for found in loader::elsewhere(parts.program, parts.stdlib) {
            self.show(found, Because::Libraries);
        }
        match parts.venv {
            Some(venv) if self.is_shared(venv) => {
                for name in ["pyvenv.cfg", "bin", "lib", "lib64", "include", "share", "etc"] {
                    self.show(venv.join(name), Because::Venv);
                }
            }
            Some(venv) => self.show(venv, Because::Venv),
            None => {}
        }
    }

    /// A folder of packages: itself, if a link leads to it, and what is named in it.
    fn site(&mut self, site: &Path) {
        let Some(way) = walk(site) else { return };
        if let Some((link, _)) = way.links.last()
            && !self.is_shown(&way.end)
        {
            self.named(site, &link.clone(), Because::Link(name(link)));
        }
        let Ok(entries) = site.read_dir() else { return };
        let mut paths: Vec<PathBuf> =
            entries.filter_map(Result::ok).map(|one| one.path()).collect();
        paths.sort();
        for path in paths {
            let is_link = path.is_symlink();
            if name(&path).starts_with('.') {
                continue;
            } else if path.extension().is_some_and(|end| end == "pth") {
                self.pth(&path, site);
            } else if is_link && path.canonicalize().is_ok_and(|real| !self.is_shown(&real)) {
                self.module(&path, &path, Because::Link(name(&path)));
            }
        }
    }

    fn pth(&mut self, file: &Path, site: &Path) {
        let named = match pth::read(file, site) {
            Ok(named) => named,
            Err(why) => return self.leave_out(file, file, why),
        };
        for (one, says) in named {
            let because = Because::Pth(name(file));
            // A finder counts only as far as the file that installs it.
            let by = walk(file).map_or(Ok(()), |way| self.caller.trusts(&way));
            match (one, by) {
                (Named::Place(place), _) => self.named(&place, file, because),
                (Named::Module(module), Ok(())) => self.module(&module, &says, because),
                (Named::Module(module), Err(why)) => self.leave_out(&module, file, why),
                (Named::Unknown(finder), _) => {
                    let why = "an editable install of a kind that says where its modules lie only when it is \
                               executed";
                    self.leave_out(&finder, file, why);
                }
            }
        }
    }

    /// A place in which modules are looked for, and its parts.
    fn named(&mut self, place: &Path, named_by: &Path, because: Because) {
        let Some(way) = walk(place) else {
            return self.leave_out(place, named_by, "there is no such directory");
        };
        if self.is_shown(&way.end) {
            return;
        }
        let strict = way
            .end
            .components()
            .any(|part| part.as_os_str().to_string_lossy().starts_with("__editable__."));
        let found = if strict {
            Err("an editable install in strict mode, which consists of links".into())
        } else if place.is_dir() {
            self.may_show(place, named_by).and_then(|()| parts::of(place))
        } else {
            self.may_show(place, named_by).and_then(|()| parts::module(place))
        };
        if found.is_ok() && place.is_dir() {
            self.layout.listed.push(way.end);
        }
        self.add(found, place, named_by, because);
    }

    /// One module or package.
    fn module(&mut self, module: &Path, named_by: &Path, because: Because) {
        let real = module.canonicalize();
        if real.as_ref().is_ok_and(|real| self.is_shown(real)) {
            return;
        }
        // Of a module without its suffix the directory is what has to be there.
        let place = if real.is_ok() { Some(module) } else { module.parent() };
        let found = self.may_show(place.unwrap_or(module), named_by);
        self.add(found.and_then(|()| parts::module(module)), module, named_by, because);
    }

    fn add(
        &mut self,
        found: Result<Vec<PathBuf>, String>,
        place: &Path,
        named_by: &Path,
        because: Because,
    ) {
        match found {
            Ok(parts) if self.layout.shown.len() + parts.len() > MOST => {
                self.leave_out(place, named_by, format!("more than {MOST} places would be shown"));
            }
            Ok(parts) => {
                for part in parts {
                    // A part may be a link in turn.
                    match self.may_show(&part, named_by) {
                        Ok(()) => self.show(part, because.clone()),
                        Err(why) => self.leave_out(&part, named_by, why),
                    }
                }
            }
            Err(why) => self.leave_out(place, named_by, why),
        }
    }

    /// An error in words if a place is too broad, or others could have named it or exchange what is there.
    fn may_show(&self, place: &Path, named_by: &Path) -> Result<(), String> {
        let Some(way) = walk(place) else { return Err("there is no such file".into()) };
        if let Some(why) = self.broad.why(&way.end) {
            return Err(why.into());
        }
        let by = walk(named_by).ok_or_else(|| "what names it is gone".to_owned())?;
        self.caller.trusts(&by)?;
        self.caller.trusts(&way)
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
