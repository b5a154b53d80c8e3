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

            /// The id used on every surface.
            pub fn id(self) -> &'static str {
                match self {
                    $(Rule::$name => $id,)*
                }
            }
        }
    };
}

rules! {
    /// The text is not Python.
    Syntax = "syntax",
    /// It has a construct that the guard does not know.
    UnknownSyntax = "unknown-syntax",
    /// It is too long.
    SourceSize = "source-size",
    /// It nests too deeply.
    NestingDepth = "nesting-depth",
    /// It has a character that is not shown, or shows other text than it is.
    OddCharacter = "odd-character",
    /// It claims another encoding.
    CodingCookie = "coding-cookie",
    /// It imports a module that is not granted.
    ImportNotGranted = "import-not-granted",
    /// It imports relative to a package.
    RelativeImport = "relative-import",
    /// It imports whatever a module has.
    StarImport = "star-import",
    /// It uses a name of a granted module that is not handed out.
    NameNotGranted = "name-not-granted",
    /// It uses a builtin that is not granted.
    BlockedBuiltin = "blocked-builtin",
    /// It uses a name of the interpreter's own.
    DunderName = "dunder-name",
    /// It uses a name of the guard's own.
    ReservedName = "reserved-name",
    /// It reads an attribute that leads past an object.
    DunderAttribute = "dunder-attribute",
    /// It reads a private attribute of something that is not its own.
    PrivateAttribute = "private-attribute",
    /// It reads an attribute that leads into the interpreter.
    InterpreterAttribute = "interpreter-attribute",
    /// It takes the object out of an exception.
    ExceptionObject = "exception-object",
    /// A format text reaches through attributes.
    FormatTraversal = "format-traversal",
    /// A query text reaches through attributes.
    TextCode = "text-code",
    /// It makes classes by calling `type`.
    DynamicType = "dynamic-type",
    /// It makes a class of classes.
    Metaclass = "metaclass",
    /// A class defines a special method that is not granted.
    DunderMethod = "dunder-method",
    /// It catches what is meant to end it.
    BroadExcept = "broad-except",
    /// It catches groups of exceptions.
    ExceptStar = "except-star",
    /// It reads pickles.
    Unpickling = "unpickling",
    /// It has coroutines where nothing can run them.
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
