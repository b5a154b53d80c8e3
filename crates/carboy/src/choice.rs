//! The policy and the interpreter, as most commands let them be chosen.

use std::path::PathBuf;

use carboy_drill::Inside;
use carboy_engine::{Config, Engine, Installation, PoolConfig, Python, Versions};
use carboy_protocol::{LanguageProfile, Policy, Preset, Walls, supported_pythons};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::memory_budget::MemoryBudget;
use crate::policy_file;

/// The interpreter, which most commands need.
#[derive(Args)]
pub struct Interpreter {
    #[arg(long, value_name = "PATH", default_value = "python3", help = concat!(
        "The interpreter: a CPython from ", supported_pythons!(), ", or the python of a venv"
    ))]
    pub python: PathBuf,
    /// Take a CPython that is newer than those carboy is tested with
    #[arg(long)]
    pub untested_python: bool,
}

impl Interpreter {
    /// Which versions are taken.
    pub fn versions(&self) -> Versions {
        if self.untested_python { Versions::Newer } else { Versions::Tested }
    }

    /// Looks for it, and asks it what it is.
    pub fn find(&self) -> Result<Python, Failure> {
        Ok(Python::find(&self.python, self.versions())?)
    }
}

/// What `run` and `explain` have in common: the policy and the interpreter.
#[derive(Args)]
pub struct Choice {
    /// A policy file: .toml, .yaml or .json
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    pub policy: Option<PathBuf>,
    /// A named policy
    #[arg(long, value_name = "PRESET")]
    pub preset: Option<PresetName>,
    /// What surrounds the jar, if not what the policy says
    #[arg(long, value_name = "WALLS")]
    pub walls: Option<WallsName>,
    /// Which Python the script may be written in, if not what the policy says
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<ProfileName>,
    #[command(flatten)]
    pub interpreter: Interpreter,
    /// Modules to import before the run starts, outside its limits
    #[arg(long, value_name = "MODULE", value_delimiter = ',')]
    pub preload: Vec<String>,
    #[command(flatten)]
    pub budget: MemoryBudget,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PresetName {
    Low,
    Medium,
    High,
    Max,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum ProfileName {
    Open,
    Agent,
    Hook,
}

impl From<ProfileName> for LanguageProfile {
    fn from(name: ProfileName) -> LanguageProfile {
        match name {
            ProfileName::Open => LanguageProfile::Open,
            ProfileName::Agent => LanguageProfile::Agent,
            ProfileName::Hook => LanguageProfile::Hook,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum WallsName {
    Full,
    Nested,
}

impl From<WallsName> for Walls {
    fn from(name: WallsName) -> Walls {
        match name {
            WallsName::Full => Walls::Full,
            WallsName::Nested => Walls::Nested,
        }
    }
}

/// Where the programs of a drill run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InsideName {
    Jar,
    Session,
    Branch,
}

impl From<InsideName> for Inside {
    fn from(name: InsideName) -> Inside {
        match name {
            InsideName::Jar => Inside::Jar,
            InsideName::Session => Inside::Session,
            InsideName::Branch => Inside::Branch,
        }
    }
}

impl Choice {
    /// The policy chosen.
    pub fn policy(&self) -> Result<Policy, Failure> {
        let mut policy = match (&self.policy, self.preset) {
            (Some(file), _) => policy_file::read(file)?,
            (None, Some(PresetName::Low)) => Policy::preset(Preset::Low),
            (None, Some(PresetName::Medium)) => Policy::preset(Preset::Medium),
            (None, Some(PresetName::High)) => Policy::preset(Preset::High),
            (None, Some(PresetName::Max)) => Policy::preset(Preset::Max),
            (None, None) => Policy::default(),
        };
        if let Some(walls) = self.walls {
            policy.walls = walls.into();
        }
        if let Some(profile) = self.profile {
            policy.language.profile = profile.into();
        }
        Ok(policy)
    }

    /// An engine for the interpreter chosen.
    pub fn engine(&self) -> Result<Engine, Failure> {
        engine(&self.interpreter, self.preload.clone(), &self.budget)
    }
}

/// An engine whose helper is this program.
pub fn engine(
    interpreter: &Interpreter,
    preload: Vec<String>,
    budget: &MemoryBudget,
) -> Result<Engine, Failure> {
    Ok(Engine::new(Config {
        preload,
        gate: budget.gate(),
        versions: interpreter.versions(),
        // One run needs one jar.
        pool: PoolConfig { ceiling: 0, ..PoolConfig::default() },
        ..Config::new(Installation::own(), &interpreter.python)
    })?)
}
