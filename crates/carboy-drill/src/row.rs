//! One row of the drill: a hostile program, and what must come of it.

use carboy_engine::Machine;
use carboy_protocol::{Limits, Walls};

/// The layers that a row can name.
pub const LAYERS: [&str; 22] = [
    "private root",
    "landlock",
    "seccomp",
    "mount namespace",
    "pid namespace",
    "network namespace",
    "user namespace",
    "ipc namespace",
    "uts namespace",
    "capabilities",
    "no new privileges",
    "rlimits",
    "descriptors",
    "memory file system",
    "engine clock",
    "engine count",
    "engine measure",
    "frames",
    "fresh fork",
    "kill by pidfd",
    "parent death signal",
    "none",
];

/// The classes of the catalogue, by the first letters of an id.
const CLASSES: [(&str, &str); 7] = [
    ("CON", "confidentiality"),
    ("INT", "integrity"),
    ("AV", "availability"),
    ("XRN", "cross-run"),
    ("PRO", "protocol"),
    ("API", "api"),
    ("NBR", "neighbours"),
];

/// What shows that the attack works where nothing stops it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// The same program on the bare host.
    Bare,
    /// The same program in a jar with higher limits ends well.
    Raised(Vec<(String, u64)>),
    /// There is none, for this reason.
    None(String),
}

/// How the programs of a row are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// One after another.
    #[default]
    InTurn,
    /// At the same time.
    Together,
    /// At the same time, beside innocent runs that must not be late.
    Beside,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Such as `CON-29-b`.
    pub id: String,
    /// What the program does.
    pub title: String,
    /// The walls in which it must hold.
    pub walls: Vec<Walls>,
    /// The only architecture that it can be tried on, if it is about one.
    pub machine: Option<Machine>,
    /// What must stop it.
    pub first: String,
    /// What would stop it if that did not.
    pub second: String,
    /// How the run may end: `ok`, a kind, or `limit NAME`; `any` allows all.
    pub expect: Vec<String>,
    /// How it may end in a session and in a branch of one, if that differs.
    pub expect_in_session: Option<Vec<String>>,
    /// Calls that the outcome must name as refused: those of the row that this architecture has.
    pub denies: Vec<String>,
    /// Limits that differ from the default.
    pub limits: Vec<(String, u64)>,
    /// The positive control.
    pub control: Control,
    /// How often it is run.
    pub repeat: usize,
    /// How its programs are run.
    pub mode: Mode,
    /// How many callers send each program at once, beside innocent runs.
    pub at_once: usize,
    /// How many of them, from the first on, are given the canary's directory to read, at `/data`.
    pub given: usize,
    /// The programs, each for a jar of its own.
    pub programs: Vec<String>,
}

impl Row {
    /// Reads a row from its file, as it is on this architecture.
    pub fn parse(text: &str) -> Result<Row, String> {
        Row::parse_on(Machine::HERE, text)
    }

    /// The same for an architecture that need not be this one.
    pub fn parse_on(machine: Machine, text: &str) -> Result<Row, String> {
        let mut row = Row {
            id: String::new(),
            title: String::new(),
            walls: vec![],
            machine: None,
            first: String::new(),
            second: String::new(),
            expect: vec![],
            expect_in_session: None,
            denies: vec![],
            limits: vec![],
            control: Control::None(String::new()),
            repeat: 1,
            mode: Mode::default(),
            at_once: 1,
            given: 0,
            programs: vec![],
        };
        for line in text.lines().map_while(|line| line.strip_prefix("# ")) {
            let (key, value) =
                line.split_once(':').ok_or_else(|| format!("`{line}` is not `key: value`"))?;
            row.set(machine, key.trim(), value.trim()).map_err(|why| format!("{key}: {why}"))?;
        }
        row.denies.retain(|call| is_there(machine, call));
        row.programs = programs(text);
        row.check()?;
        Ok(row)
    }

    fn set(&mut self, machine: Machine, key: &str, value: &str) -> Result<(), String> {
        let ends = || value.split('|').map(|end| end.trim().to_owned()).collect();
        // The second is about what the kernel tells root alone, and stands behind the first.
        if key == "expect session" || key == "expect session user" {
            if key == "expect session" || !rustix::process::geteuid().is_root() {
                self.expect_in_session = Some(ends());
            }
            return Ok(());
        }
        // `expect aarch64` stands behind `expect`, and says what differs there.
        if let Some(name) = key.strip_prefix("expect ") {
            let named = Machine::named(name).ok_or_else(|| format!("`{name}` is no machine"))?;
            if named == machine {
                self.expect = ends();
            }
            return Ok(());
        }
        let words = || value.split_whitespace().map(str::to_owned).collect();
        match key {
            "id" => self.id = value.into(),
            "title" => self.title = value.into(),
            "walls" => {
                self.walls = value.split_whitespace().map(walls).collect::<Result<_, _>>()?;
            }
            "machine" => {
                let named = Machine::named(value);
                self.machine = Some(named.ok_or_else(|| format!("`{value}` is no machine"))?);
            }
            "first" => self.first = value.into(),
            "second" => self.second = value.into(),
            "expect" => self.expect = ends(),
            "denies" => self.denies = words(),
            "limits" => self.limits = limits(value)?,
            "control" => self.control = control(value)?,
            "repeat" => self.repeat = value.parse().map_err(|_| "not a number".to_owned())?,
            "at once" => self.at_once = value.parse().map_err(|_| "not a number".to_owned())?,
            "given" if value == "folder" => self.given = usize::MAX,
            "given" if value == "folder to the first" => self.given = 1,
            "mode" if value == "together" => self.mode = Mode::Together,
            "mode" if value == "beside" => self.mode = Mode::Beside,
            _ => return Err("unknown, or with an unknown value".into()),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let missing = [
            ("id", self.id.is_empty()),
            ("title", self.title.is_empty()),
            ("walls", self.walls.is_empty()),
            ("expect", self.expect.is_empty()),
            ("control", self.control == Control::None(String::new())),
        ];
        if let Some((key, _)) = missing.iter().find(|(_, missing)| *missing) {
            return Err(format!("{key} is missing"));
        }
        for layer in [&self.first, &self.second] {
            if !LAYERS.contains(&layer.as_str()) {
                return Err(format!("`{layer}` is no layer"));
            }
        }
        self.limits_changed(&self.limits).map(drop)?;
        if let Control::Raised(limits) = &self.control {
            self.limits_changed(limits)?;
        }
        if (self.class() == "neighbours") != (self.mode == Mode::Beside) {
            return Err("rows of the class neighbours, and no others, have `mode: beside`".into());
        }
        if self.mode != Mode::Beside && self.at_once != 1 {
            return Err("only rows with `mode: beside` have callers at once".into());
        }
        if self.class() == "unknown" {
            return Err(format!("{} is of no class", self.id));
        }
        Ok(())
    }

    /// Whether a run may end so, in a jar of its own.
    pub fn expects(&self, ended: &str) -> bool {
        is_among(&self.expect, ended)
    }

    /// Whether it can be tried on this architecture.
    pub fn is_for(&self, machine: Machine) -> bool {
        self.machine.is_none_or(|only| only == machine)
    }

    /// The class, from the id.
    pub fn class(&self) -> &'static str {
        let found = CLASSES.iter().find(|(letters, _)| {
            self.id.strip_prefix(letters).is_some_and(|rest| rest.starts_with('-'))
        });
        found.map_or("unknown", |(_, class)| class)
    }

    /// The row of the catalogue: the id without the letter of a variant.
    pub fn catalogue(&self) -> &str {
        let mut parts = self.id.match_indices('-');
        match parts.nth(1) {
            Some((at, _)) => &self.id[..at],
            None => &self.id,
        }
    }

    /// The default limits with the row's, and these on top. Clocks that the row does not set are
    /// out of its way, on a slow machine too.
    pub fn limits_changed(&self, more: &[(String, u64)]) -> Result<Limits, String> {
        let fault = |error: serde_json::Error| error.to_string();
        let clocks = Limits { wall_ms: 240_000, cpu_ms: 120_000, ..Limits::default() };
        let mut value = serde_json::to_value(clocks).map_err(fault)?;
        for (name, number) in self.limits.iter().chain(more) {
            if value.get(name).is_none() {
                return Err(format!("there is no limit {name}"));
            }
            value[name] = (*number).into();
        }
        serde_json::from_value(value).map_err(fault)
    }
}

/// Whether a run that ended so ended as expected: `any` allows all.
pub(crate) fn is_among(expected: &[String], ended: &str) -> bool {
    expected.iter().any(|expected| expected == "any" || expected == ended)
}

/// Whether an outcome on this machine can name the call. `fork` is the engine's word for a child process,
/// whichever call would have made it, and what no machine knows is a word of the engine's too.
fn is_there(machine: Machine, call: &str) -> bool {
    let is_call = Machine::ALL.iter().any(|machine| machine.number_of(call).is_some());
    call == "fork" || !is_call || machine.number_of(call).is_some()
}

/// The parts between lines `# ---`. Lines keep their numbers.
fn programs(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        let fresh = line == "# ---";
        if let Some(last) = parts.last_mut() {
            last.push_str(if fresh { "" } else { line });
            last.push('\n');
        }
        if fresh {
            parts.push(String::new());
        }
    }
    parts
}

fn walls(word: &str) -> Result<Walls, String> {
    match word {
        "full" => Ok(Walls::Full),
        "nested" => Ok(Walls::Nested),
        _ => Err(format!("`{word}` are no walls")),
    }
}

fn limits(value: &str) -> Result<Vec<(String, u64)>, String> {
    let one = |word: &str| {
        let (name, number) = word.split_once('=')?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    let words = value.split_whitespace();
    words.map(|word| one(word).ok_or_else(|| format!("`{word}` is not `name=number`"))).collect()
}

fn control(value: &str) -> Result<Control, String> {
    if value == "bare" {
        return Ok(Control::Bare);
    }
    if let Some(list) = value.strip_prefix("raised ") {
        return limits(list).map(Control::Raised);
    }
    match value.strip_prefix("none:").map(str::trim) {
        Some(reason) if !reason.is_empty() => Ok(Control::None(reason.into())),
        _ => Err("neither `bare`, `raised NAME=NUMBER` nor `none: reason`".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# id: CON-29-b\n# title: opens a socket\n# walls: full nested\n\
        # first: seccomp\n# second: network namespace\n# expect: ok | limit wall_ms\n\
        # limits: wall_ms=300\n# control: raised wall_ms=900\nx = 1\n# ---\ny = 2\n";

    #[test]
    fn a_row_is_read_and_belongs_to_its_catalogue() {
        let row = Row::parse(TEXT).unwrap();
        assert_eq!((row.class(), row.catalogue()), ("confidentiality", "CON-29"));
        assert_eq!(row.expect, ["ok", "limit wall_ms"]);
        assert_eq!(row.programs.len(), 2);
        assert_eq!(row.programs[1], "y = 2\n");
        assert_eq!(row.limits_changed(&[]).unwrap().wall_ms, 300);
    }

    #[test]
    fn a_row_says_what_differs_on_an_architecture() {
        let text = TEXT.replace("# limits", "# denies: mknod mknodat fork unknown\n# limits");
        let on = |machine, text: &str| Row::parse_on(machine, text).unwrap();
        assert_eq!(on(Machine::X86_64, &text).denies, ["mknod", "mknodat", "fork", "unknown"]);
        assert_eq!(on(Machine::Aarch64, &text).denies, ["mknodat", "fork", "unknown"]);
        let text = TEXT.replace("# limits", "# expect aarch64: denied\n# limits");
        assert_eq!(on(Machine::X86_64, &text).expect, ["ok", "limit wall_ms"]);
        assert_eq!(on(Machine::Aarch64, &text).expect, ["denied"]);
        let text = TEXT.replace("# limits", "# expect session: ok\n# limits");
        let in_session = Row::parse(&text).unwrap().expect_in_session;
        assert_eq!(in_session, Some(vec!["ok".into()]));
        let row = on(Machine::Aarch64, &TEXT.replace("# walls", "# machine: x86_64\n# walls"));
        assert_eq!(Machine::ALL.map(|machine| row.is_for(machine)), [true, false]);
        assert_eq!(Machine::ALL.map(|machine| on(machine, TEXT).is_for(machine)), [true, true]);
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        let with = |from: &str, to: &str| Row::parse(&TEXT.replace(from, to)).unwrap_err();
        assert!(with("# expect: ok | limit wall_ms\n", "").contains("expect is missing"));
        assert!(with("first: seccomp", "first: luck").contains("`luck` is no layer"));
        assert!(with("wall_ms=300", "wall=300").contains("no limit wall"));
        assert!(with("CON-29-b", "ABC-1").contains("of no class"));
        assert!(with("control: raised wall_ms=900", "control: none:").contains("control"));
        assert!(with("# first", "# nonsense").contains("nonsense"));
        assert!(with("# walls", "# machine: z80\n# walls").contains("`z80` is no machine"));
        assert!(with("# limits", "# expect z80: ok\n# limits").contains("`z80` is no machine"));
    }
}
