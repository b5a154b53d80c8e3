//! Which names are bound where.

use ruff_python_ast::{Expr, Identifier};
use ruff_text_size::{Ranged, TextSize};

use crate::walk::walker::{Place, Seen, Walker};

impl<'a> Walker<'a> {
    /// Whether the program binds this name where it is read.
    pub fn is_bound(&self, name: &str) -> bool {
        self.gathered.module.contains(name)
            || self.given.contains(name)
            || self.bound.get(name).is_some_and(|count| *count > 0)
            || self.class.is_some_and(|class| self.gathered.binds(class, name))
    }

    /// Whether this is the builtin of that name.
    pub fn is_builtin(&self, expr: &Expr, name: &str) -> bool {
        matches!(expr, Expr::Name(node) if node.id == name) && !self.is_bound(name)
    }

    /// A name that something other than an expression binds.
    pub fn bind(&mut self, name: &'a Identifier) {
        self.see(Seen::Binder, name.as_str());
        self.bound_name(name.as_str(), name.range());
    }

    pub fn bind_some(&mut self, name: Option<&'a Identifier>) {
        if let Some(name) = name {
            self.bind(name);
        }
    }

    /// Walks what belongs to a function or a class. What a function binds is seen in all that stands in
    /// it; what a class binds is seen in its own body only, not in its methods.
    pub fn within(&mut self, start: TextSize, place: Place, walk: impl FnOnce(&mut Self)) {
        let is_class = place == Place::Class;
        let place = std::mem::replace(&mut self.place, place);
        let class = std::mem::replace(&mut self.class, is_class.then_some(start));
        if !is_class {
            self.rebind(start);
        }
        walk(self);
        if !is_class {
            self.unbind(start);
        }
        self.class = class;
        self.place = place;
    }

    fn rebind(&mut self, start: TextSize) {
        for name in self.gathered.functions.get(&start).into_iter().flatten() {
            *self.bound.entry(name).or_default() += 1;
        }
    }

    fn unbind(&mut self, start: TextSize) {
        for name in self.gathered.functions.get(&start).into_iter().flatten() {
            if let Some(count) = self.bound.get_mut(name) {
                *count -= 1;
            }
        }
    }
}
