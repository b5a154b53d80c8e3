//! Which module, or which name of one, an expression always stands for.

use ruff_python_ast::Expr;

use crate::profile::Grants;
use crate::program::gather::Gathered;

/// How deep modules lie in packages, at most.
const MODULE_DEPTH: usize = 8;

impl Gathered<'_> {
    /// The module that an expression stands for, if it always does.
    pub fn module_of(&self, grants: &Grants<'_>, expr: &Expr) -> Option<String> {
        self.module_within(grants, expr, MODULE_DEPTH)
    }

    fn module_within(&self, grants: &Grants<'_>, expr: &Expr, depth: usize) -> Option<String> {
        match expr {
            Expr::Name(name) => {
                let path = self.modules.get(name.id.as_str())?;
                grants.reaches(path).then(|| path.clone())
            }
            Expr::Attribute(node) => {
                let above = self.module_within(grants, &node.value, depth.checked_sub(1)?)?;
                let path = format!("{above}.{}", node.attr);
                grants.reaches(&path).then_some(path)
            }
            _ => None,
        }
    }

    /// The path of what a module itself has under a name: `dataclasses.dataclass`, under any name that
    /// it was imported by.
    pub fn path_of(&self, grants: &Grants<'_>, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Name(name) => self.modules.get(name.id.as_str()).cloned(),
            Expr::Attribute(node) => {
                Some(format!("{}.{}", self.module_of(grants, &node.value)?, node.attr))
            }
            _ => None,
        }
    }

    /// Whether an expression is something imported, or an attribute of it.
    pub fn is_imported(&self, mut expr: &Expr) -> bool {
        for _ in 0..MODULE_DEPTH {
            match expr {
                Expr::Name(name) => return self.modules.contains_key(name.id.as_str()),
                Expr::Attribute(node) => expr = &node.value,
                _ => return false,
            }
        }
        false
    }
}
