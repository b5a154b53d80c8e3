//! The rules, by id. `docs/guard/rules.md` explains each with examples.

use serde::{Serialize, Serializer};

macro_rules! rules {
    ($($(#[doc = $doc:literal])* $name:ident = $id:literal,)*) => {
        /// What can be wrong with a program.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[doc = $doc])* $name,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Rule] = &[$(Rule::$name,)*];

            /// Its id in reports, messages and documentation.
            pub fn id(self) -> &'static str {
                match self {
                    $(Rule::$name => $id,)*
                }
            }
        }
    };
}

rules! {
    /// The source is not valid Python.
    Syntax = "syntax",
    /// It uses syntax that the guard does not support.
    UnknownSyntax = "unknown-syntax",
    /// It is too long.
    SourceSize = "source-size",
    /// It nests too deeply.
    NestingDepth = "nesting-depth",
    /// It contains a character that is invisible or reorders text.
    OddCharacter = "odd-character",
    /// It declares an encoding other than UTF-8.
    CodingCookie = "coding-cookie",
    /// It imports a module that the profile does not allow.
    ImportNotGranted = "import-not-granted",
    /// It uses a relative import.
    RelativeImport = "relative-import",
    /// It uses a star import.
    StarImport = "star-import",
    /// It uses a name of an allowed module that the profile does not allow.
    NameNotGranted = "name-not-granted",
    /// It uses a builtin that the profile does not allow.
    BlockedBuiltin = "blocked-builtin",
    /// It reads or binds a special name.
    DunderName = "dunder-name",
    /// It uses a name that is reserved for the guard.
    ReservedName = "reserved-name",
    /// It uses a special attribute.
    DunderAttribute = "dunder-attribute",
    /// It uses a private attribute that it does not define.
    PrivateAttribute = "private-attribute",
    /// It uses an attribute that exposes interpreter internals.
    InterpreterAttribute = "interpreter-attribute",
    /// It reads the object that an exception carries.
    ExceptionObject = "exception-object",
    /// A format string reads private or special attributes.
    FormatTraversal = "format-traversal",
    /// A string that is evaluated as code uses private or special names.
    TextCode = "text-code",
    /// It makes a class at run time, or matches by fields that are not known.
    DynamicType = "dynamic-type",
    /// It uses a metaclass.
    Metaclass = "metaclass",
    /// A class defines a special method that the profile does not allow.
    DunderMethod = "dunder-method",
    /// It catches exceptions that are meant to end it.
    BroadExcept = "broad-except",
    /// It uses `except*`.
    ExceptStar = "except-star",
    /// It loads pickles.
    Unpickling = "unpickling",
    /// It is asynchronous, and the profile does not allow that.
    AsyncCode = "async-code",
}

impl Rule {
    /// The rule of this id.
    pub fn from_id(id: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.id() == id)
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
