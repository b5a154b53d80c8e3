//! What is known of the classes that a program defines.
//!
//! `case Point(a, b)` reads the attributes that the class lists in `__match_args__`, of any object that
//! the class calls its instance. An abstract class can be told to call any object so, and `namedtuple`
//! and `dataclass` fill that list with the names of fields. So a pattern by position is safe only if it
//! is known which class the name stands for and, unless its instances are its own alone, that no field
//! has a name that leads anywhere.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{Expr, ExprCall, StmtClassDef};

use crate::profile::{Grants, TABLES};
use crate::program::field::{field_names, is_risky_field};
use crate::program::gather::{Definition, Gathered};

const NAMED_TUPLE: &str = "typing.NamedTuple";

/// What is known of one class.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Facts {
    /// Something other than what stands in the program may be bound to its name.
    replaced: bool,
    /// Its instances, or what it calls so, may have attributes that the program did not give them.
    foreign: bool,
    /// It may have a field whose name leads past an object.
    risky: bool,
}

impl Facts {
    const UNKNOWN: Facts = Facts { replaced: true, foreign: true, risky: true };
    const FOREIGN: Facts = Facts { replaced: false, foreign: true, risky: false };

    fn and(self, other: Facts) -> Facts {
        Facts {
            replaced: self.replaced || other.replaced,
            foreign: self.foreign || other.foreign,
            risky: self.risky || other.risky,
        }
    }
}

/// What is known of the classes of a program, by name.
pub(crate) struct Classes<'a>(HashMap<&'a str, Facts>);

/// A class that has another as its base, and whether it has a list of fields of its own.
struct Derived<'a> {
    name: &'a str,
    has_own_list: bool,
}

impl<'a> Classes<'a> {
    /// Reads what the definitions say, then hands it down from bases to derived classes.
    pub fn of(gathered: &Gathered<'a>, grants: &Grants<'_>, given: &HashSet<&str>) -> Classes<'a> {
        let reader = Reader { gathered, grants, given };
        let mut derived: HashMap<&str, Vec<Derived<'a>>> = HashMap::new();
        let mut facts: HashMap<&'a str, Facts> = HashMap::new();
        for (name, definitions) in &gathered.classes {
            let mut all = Facts::default();
            for definition in definitions {
                all = all.and(reader.definition(definition));
                let has_own_list = definition.has_own_list();
                for base in definition.bases().iter().filter_map(|base| reader.own_class(base)) {
                    derived.entry(base).or_default().push(Derived { name, has_own_list });
                }
            }
            facts.insert(name, all);
        }
        // A library that builds classes can add fields to one that stands in the program.
        if gathered.imported.contains("attr") || gathered.imported.contains("attrs") {
            facts.values_mut().for_each(|facts| facts.risky |= facts.foreign);
        }
        let mut changed: Vec<&str> = facts.keys().copied().collect();
        while let Some(base) = changed.pop() {
            let Facts { replaced, foreign, risky } = facts[base];
            for Derived { name, has_own_list } in derived.get(base).into_iter().flatten() {
                let Some(known) = facts.get_mut(name) else { continue };
                let handed_down = Facts {
                    replaced: false,
                    foreign: foreign || replaced,
                    risky: (risky || replaced) && !has_own_list,
                };
                let now = known.and(handed_down);
                if now != *known {
                    *known = now;
                    changed.push(name);
                }
            }
        }
        Classes(facts)
    }

    fn get(&self, expr: &Expr) -> Option<Facts> {
        let Expr::Name(name) = expr else { return None };
        self.0.get(name.id.as_str()).copied()
    }

    /// Whether this is a class of the program, and no other.
    pub fn is_known(&self, expr: &Expr) -> bool {
        self.get(expr).is_some_and(|facts| !facts.replaced)
    }

    /// Whether this is a class of the program, and its instances have only what the program gave them.
    pub fn is_own(&self, expr: &Expr) -> bool {
        self.get(expr).is_some_and(|facts| !facts.replaced && !facts.foreign)
    }

    /// Whether a pattern by position reads harmless attributes of this class of the program.
    pub fn has_harmless_positions(&self, expr: &Expr) -> bool {
        self.get(expr).is_some_and(|facts| !(facts.replaced || facts.foreign && facts.risky))
    }
}

/// Reads single definitions.
struct Reader<'a, 'b> {
    gathered: &'b Gathered<'a>,
    grants: &'b Grants<'b>,
    given: &'b HashSet<&'b str>,
}

impl<'a> Reader<'a, '_> {
    fn definition(&self, definition: &Definition<'a>) -> Facts {
        match definition {
            Definition::Call(call) => self.named_tuple(call).unwrap_or(Facts::UNKNOWN),
            Definition::Statement { class, risky, .. } => {
                let own = Facts { risky: *risky, ..Facts::default() };
                let decorators = class.decorator_list.iter().map(|one| &one.expression);
                let bases = definition.bases().iter().map(|base| {
                    let facts = self.base(base);
                    let fields = facts.risky && !definition.has_own_list();
                    Facts { replaced: false, foreign: facts.foreign, risky: fields }
                });
                let all = bases.fold(own, Facts::and);
                let replaced = decorators.into_iter().any(|one| !self.keeps_the_class(one));
                Facts { replaced, foreign: all.foreign || self.has_metaclass(class), ..all }
            }
        }
    }

    /// What a base adds. What a class of the program adds is handed down later.
    fn base(&self, base: &'a Expr) -> Facts {
        if self.own_class(base).is_some() {
            return Facts::default();
        }
        match base {
            Expr::Call(call) => self.named_tuple(call).unwrap_or(Facts::UNKNOWN),
            // What a class of the program gives for this can be any other.
            Expr::Subscript(node) if self.own_class(&node.value).is_none() => {
                self.base(&node.value)
            }
            _ => match self.gathered.path_of(self.grants, base) {
                Some(path) if path == NAMED_TUPLE => Facts::default(),
                Some(_) => Facts::FOREIGN,
                None => self.builtin(base).unwrap_or(Facts::UNKNOWN),
            },
        }
    }

    /// A name that the program does not bind.
    fn builtin(&self, base: &Expr) -> Option<Facts> {
        let Expr::Name(name) = base else { return None };
        let name = name.id.as_str();
        let bound = self.gathered.others.contains(name) || self.given.contains(name);
        let facts = if name == "object" { Facts::default() } else { Facts::FOREIGN };
        (!bound).then_some(facts)
    }

    /// `namedtuple("T", "x y")`: its instances are its own; its fields may not stand there.
    fn named_tuple(&self, call: &'a ExprCall) -> Option<Facts> {
        let path = self.gathered.path_of(self.grants, &call.func)?;
        if path != NAMED_TUPLE && path != "collections.namedtuple" {
            return None;
        }
        let arguments = &call.arguments;
        let named = ["field_names", "fields"];
        let keyword = arguments
            .keywords
            .iter()
            .find(|one| one.arg.as_ref().is_some_and(|name| named.contains(&name.as_str())));
        let fields = arguments.args.get(1).or(keyword.map(|one| &one.value)).and_then(field_names);
        let hidden = arguments.args.iter().any(Expr::is_starred_expr);
        let risky = fields.is_none_or(|names| names.iter().any(|name| is_risky_field(name)));
        Some(Facts { risky: risky || hidden, ..Facts::default() })
    }

    fn own_class(&self, expr: &Expr) -> Option<&'a str> {
        let Expr::Name(name) = expr else { return None };
        self.gathered.classes.get_key_value(name.id.as_str()).map(|(name, _)| *name)
    }

    fn has_metaclass(&self, class: &StmtClassDef) -> bool {
        let keywords = class.arguments.iter().flat_map(|arguments| &arguments.keywords);
        keywords.into_iter().any(|one| one.arg.as_ref().is_none_or(|name| name == "metaclass"))
    }

    /// Whether a decorator is known to return the class that it is given.
    fn keeps_the_class(&self, decorator: &Expr) -> bool {
        let function = match decorator {
            Expr::Call(call) => &call.func,
            other => other,
        };
        let path = self.gathered.path_of(self.grants, function);
        path.is_some_and(|path| TABLES.names.class_decorators.contains(&path))
    }
}
