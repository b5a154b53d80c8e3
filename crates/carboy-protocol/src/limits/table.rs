//! The table of limits, and what the compiler makes of it. A limit is added here and nowhere else.
//!
//! A row gives the field of [`Limits`] and its name in an outcome, the default, what the presets
//! set, the range, and the words. Clamping, validation, reading, the verdict, `carboy explain`, the
//! JSON schema, the types of the Python package and `docs/limits.md` go by the rows.
//! `docs/contributing/add-a-limit.md` walks through adding one.

use serde::{Deserialize, Serialize};

use super::row::{LimitRow, Unit};
use crate::json::MAX_DEPTH;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const DAY_MS: u64 = 24 * 3_600_000;

macro_rules! limits {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident $field:ident {
            unit: $unit:ident,
            default: $default:expr,
            $(presets: $presets:expr,)?
            least: $least:expr,
            most: $most:expr,
            words: $words:literal,
            crossed: $crossed:literal,
            hint: $hint:literal,
        }
    )+) => {
        /// How much one run may use. Crossing any of these ends in a cause of that name.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        pub struct Limits {
            $($(#[doc = $doc])+ pub $field: u64,)+
        }

        /// The name of a limit, as it stands in [`Limits`] and in an outcome.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum LimitName {
            $(#[doc = concat!("[`Limits::", stringify!($field), "`].")] $name,)+
        }

        impl LimitName {
            /// Every limit, in the order of the table.
            pub const ALL: &[LimitName] = &[$(LimitName::$name,)+];

            /// Every name as it is written in a policy, in the order of the table.
            pub const NAMES: &[&str] = &[$(stringify!($field),)+];

            /// What the table says of it.
            pub fn row(self) -> &'static LimitRow {
                match self {
                    $(LimitName::$name => &LimitRow {
                        field: stringify!($field),
                        doc: concat!($($doc,)+),
                        unit: Unit::$unit,
                        default: $default,
                        presets: limits!(@presets $($presets)?),
                        least: $least,
                        most: $most,
                        words: $words,
                        crossed: $crossed,
                        hint: $hint,
                    },)+
                }
            }
        }

        impl Limits {
            /// The value of one limit.
            pub fn get(&self, name: LimitName) -> u64 {
                match name {
                    $(LimitName::$name => self.$field,)+
                }
            }

            /// Sets one limit.
            pub fn set(&mut self, name: LimitName, value: u64) {
                match name {
                    $(LimitName::$name => self.$field = value,)+
                }
            }
        }

        impl Default for Limits {
            fn default() -> Self {
                Limits { $($field: $default,)+ }
            }
        }
    };
    (@presets) => { None };
    (@presets $presets:expr) => { Some($presets) };
}

// In `words` and `crossed`, `{}` stands for the value with its unit: `30000 ms`, `64`.
limits! {
    /// Time on the clock, in milliseconds, from the moment the code is sent.
    WallMs wall_ms {
        unit: Milliseconds,
        default: 30_000,
        presets: [10_000, 30_000, 60_000, 120_000],
        least: 1,
        most: DAY_MS,
        words: "{} on the clock",
        crossed: "the run took longer than {}",
        hint: "do less in one run",
    }
    /// Processor time of one process and its threads, in milliseconds. The kernel counts whole
    /// seconds, so it is rounded up to the next one.
    CpuMs cpu_ms {
        unit: Milliseconds,
        default: 10_000,
        presets: [5_000, 30_000, 120_000, 480_000],
        least: 1,
        most: DAY_MS,
        words: "{} of processor time",
        crossed: "the run used more than {} of processor time",
        hint: "use a faster algorithm or less data",
    }
    /// Private memory beyond what the warm interpreter already holds.
    MemoryBytes memory_bytes {
        unit: Bytes,
        default: 256 * MIB,
        presets: [256 * MIB, 512 * MIB, GIB, 2 * GIB],
        least: 8 * MIB,
        most: TIB,
        words: "{} of memory",
        crossed: "the run needed more than {} of memory",
        hint: "work in smaller pieces",
    }
    /// How much of standard output, and how much of standard error, the outcome keeps. Of more it has the
    /// beginning and the end, and the run goes on.
    OutputBytes output_bytes {
        unit: Bytes,
        default: 200_000,
        presets: [200_000, 500_000, 1_000_000, 4_000_000],
        least: 1,
        most: GIB,
        words: "{} kept of each stream of output",
        crossed: "the run printed more than {}, and some of it was left out",
        hint: "print a summary and return the data in `result`",
    }
    /// Everything printed on standard output and standard error together, kept or not.
    PrintedBytes printed_bytes {
        unit: Bytes,
        default: 16 * MIB,
        presets: [16 * MIB, 64 * MIB, 256 * MIB, GIB],
        least: 1,
        most: TIB,
        words: "{} of printed output",
        crossed: "the run printed more than {}",
        hint: "print a summary and return the data in `result`",
    }
    /// The JSON text of the result.
    ResultBytes result_bytes {
        unit: Bytes,
        default: MIB,
        presets: [MIB, 4 * MIB, 16 * MIB, 64 * MIB],
        least: 16,
        most: 256 * MIB,
        words: "{} of JSON in the result",
        crossed: "the result has more than {} of JSON",
        hint: "return a summary or write a file",
    }
    /// Levels of lists and objects in the result.
    ResultDepth result_depth {
        unit: Count,
        default: MAX_DEPTH as u64,
        least: 1,
        most: MAX_DEPTH as u64,
        words: "{} levels of nesting in the result",
        crossed: "the result nests deeper than {} levels or contains itself",
        hint: "return a flatter value",
    }
    /// Figures, tables and pictures that the outcome keeps of what the run showed. Those after them are left
    /// out, and the run goes on.
    Displays displays {
        unit: Count,
        default: 20,
        least: 0,
        most: 10_000,
        words: "{} displays",
        crossed: "the run showed more than {} displays, and the others were left out",
        hint: "show a summary, such as one figure with several axes",
    }
    /// The data of one display, as JSON has it. A longer one is left out, and the run goes on.
    DisplayBytes display_bytes {
        unit: Bytes,
        default: 4 * MIB,
        least: 16,
        most: 64 * MIB,
        words: "{} of JSON in one display",
        crossed: "a display had more than {} of JSON and was left out",
        hint: "show less, such as a smaller figure, or write a file",
    }
    /// The data of all displays together, as JSON has it. What does not fit is left out, and the run goes on.
    DisplayTotalBytes display_total_bytes {
        unit: Bytes,
        default: 16 * MIB,
        least: 16,
        most: GIB,
        words: "{} of JSON in all displays",
        crossed: "displays had more than {} of JSON together, and some were left out",
        hint: "show less, or write files",
    }
    /// Everything written below the jar's directory and its temporary directory.
    FileBytes file_bytes {
        unit: Bytes,
        default: 10 * MIB,
        presets: [10 * MIB, 64 * MIB, 256 * MIB, GIB],
        least: 4096,
        most: TIB,
        words: "{} in files",
        crossed: "the run wrote more than {} of files",
        hint: "write less",
    }
    /// Files and directories that the run makes.
    Files files {
        unit: Count,
        default: 1_000,
        presets: [1_000, 5_000, 20_000, 100_000],
        least: 1,
        most: 10_000_000,
        words: "{} files and directories",
        crossed: "the run made more than {} files and directories",
        hint: "make fewer files",
    }
    /// Files that come out as artifacts. More are left out, which the outcome says.
    Artifacts artifacts {
        unit: Count,
        default: 1_000,
        least: 0,
        most: 100_000,
        words: "{} artifacts",
        crossed: "the run left more than {} files, and some of them were left out",
        hint: "put many small files into one archive",
    }
    /// The content of all artifacts together, where it is kept, with the holes of sparse files. More is left
    /// out, which the outcome says.
    ArtifactBytes artifact_bytes {
        unit: Bytes,
        default: 64 * MIB,
        presets: [64 * MIB, 256 * MIB, GIB, 4 * GIB],
        least: 1,
        most: TIB,
        words: "{} in artifacts",
        crossed: "the run left more than {} in files, and some of them were left out",
        hint: "write less, or compress it",
    }
    /// Files open at once, beside the jar's own five descriptors.
    OpenFiles open_files {
        unit: Count,
        default: 64,
        presets: [64, 256, 512, 1_024],
        least: 8,
        most: 65_536,
        words: "{} files open at once",
        crossed: "the run had more than {} files open",
        hint: "close files with `with`",
    }
    /// Threads alive at once beside the main one, in one process. Those that preloaded modules
    /// started before the job came do not count.
    Threads threads {
        unit: Count,
        default: 32,
        presets: [32, 32, 64, 128],
        least: 0,
        most: 4_096,
        words: "{} threads beside the main one",
        crossed: "the run wanted more than {} threads at once",
        hint: "use fewer workers",
    }
    /// Child processes started during the run; 0 in nested walls.
    Processes processes {
        unit: Count,
        default: 0,
        least: 0,
        most: 4_096,
        words: "{} child processes",
        crossed: "the policy allows {} child processes, and the run wanted more",
        hint: "use threads or work in this process",
    }
    /// Refused calls; one more ends the run.
    Denials denials {
        unit: Count,
        default: 1_000,
        least: 1,
        most: 1_000_000_000,
        words: "{} refused calls",
        crossed: "more than {} calls were refused",
        hint: "stop retrying what is refused; `denials` says what to write instead",
    }
    /// Calls of the caller's tools.
    ToolCalls tool_calls {
        unit: Count,
        default: 1_000,
        least: 0,
        most: 1_000_000,
        words: "{} tool calls",
        crossed: "the run called tools more than {} times",
        hint: "ask for more in one call",
    }
    /// The JSON text of the arguments of all tool calls together.
    ToolBytes tool_bytes {
        unit: Bytes,
        default: 16 * MIB,
        least: 16,
        most: TIB,
        words: "{} of JSON in the arguments of tool calls",
        crossed: "the run called tools with more than {} of JSON",
        hint: "pass less to tools, such as a summary",
    }
    /// Branches and checkpoints of a session together, with the session itself. For a run alone it means
    /// nothing, as the others that speak of a session.
    Heads heads {
        unit: Count,
        default: 16,
        least: 1,
        most: 4_096,
        words: "{} heads in a session",
        crossed: "the session has {} heads, and more are not allowed",
        hint: "close branches and drop checkpoints that are of no use any more",
    }
    /// Private memory of everything in a session together, with pages that its heads share counted once.
    SessionMemoryBytes session_memory_bytes {
        unit: Bytes,
        default: 512 * MIB,
        presets: [512 * MIB, GIB, 2 * GIB, 4 * GIB],
        least: 8 * MIB,
        most: TIB,
        words: "{} of memory in all of a session",
        crossed: "the session needed more than {} of memory, all its heads together",
        hint: "delete what is of no use any more, and drop checkpoints",
    }
    /// How long a session may wait for its next run before it ends.
    IdleMs idle_ms {
        unit: Milliseconds,
        default: 600_000,
        least: 100,
        most: 7 * DAY_MS,
        words: "{} until a session that nobody uses ends",
        crossed: "nobody used the session for more than {}",
        hint: "open another session",
    }
    /// How old a session may become. A run that is under way is not ended for that.
    LifetimeMs lifetime_ms {
        unit: Milliseconds,
        default: 3_600_000,
        least: 100,
        most: 7 * DAY_MS,
        words: "{} from a session's beginning to its end",
        crossed: "the session is older than {}",
        hint: "open another session",
    }
}
