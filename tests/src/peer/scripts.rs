//! Which script a connection gets.

use std::collections::VecDeque;

/// A script for each connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptList<S> {
    /// For the first connections, in order.
    pub each: VecDeque<S>,
    /// For all others. None: they are reset.
    pub default: Option<S>,
}

/// Scripts in HTTP/1.1.
pub type Scripts = ScriptList<super::Script>;

impl<S: Clone> ScriptList<S> {
    pub(super) fn next(&mut self) -> Option<S> {
        self.each.pop_front().or_else(|| self.default.clone())
    }
}

impl<S> Default for ScriptList<S> {
    fn default() -> Self {
        Self { each: VecDeque::new(), default: None }
    }
}

impl<S> From<S> for ScriptList<S> {
    fn from(script: S) -> Self {
        Self { each: VecDeque::new(), default: Some(script) }
    }
}

impl<S> From<Vec<S>> for ScriptList<S> {
    fn from(each: Vec<S>) -> Self {
        Self { each: each.into(), default: None }
    }
}
