//! How a person names one child.

use super::bound::ChildId;
use serde::{Deserialize, Serialize};

/// A child as a person names it: by its identity, or by its position. `id:` and `index:` before it say which
/// of the two is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Which(String);

/// The name is not one child's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSingleChild {
    /// No child has this identity or position.
    #[error("no child of this batch has this identity or position")]
    None,
    /// It is one child's identity and another's position.
    #[error("it is one child's identity and another's position: write id:… or index:…")]
    Several,
}

impl Which {
    /// Takes a name as it was written.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The position of the child that is meant.
    ///
    /// # Errors
    /// When it is none of these, or could be two.
    pub fn among(&self, children: &[ChildId]) -> Result<u32, NoSingleChild> {
        let text = self.0.as_str();
        let with_id = |id: &str| (0..).zip(children).find(|(_, child)| child.as_str() == id).map(|(n, _)| n);
        let at = |position: &str| {
            let position = position.parse::<u32>().ok()?;
            usize::try_from(position).is_ok_and(|n| n < children.len()).then_some(position)
        };
        let said = match (text.strip_prefix("id:"), text.strip_prefix("index:")) {
            (Some(id), _) => with_id(id),
            (None, Some(position)) => at(position),
            (None, None) => at(text),
        };
        match (with_id(text), said) {
            (Some(one), Some(other)) if one != other => Err(NoSingleChild::Several),
            (Some(one), _) | (None, Some(one)) => Ok(one),
            (None, None) => Err(NoSingleChild::None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_childs_or_nobodys() {
        let check = |ids: &[&str], text: &str, expected: Result<u32, NoSingleChild>| {
            let children: Vec<_> = ids.iter().map(|id| ChildId::parse(id).unwrap()).collect();
            assert_eq!(Which::new(text).among(&children), expected, "{text} of {ids:?}");
        };
        let plain = ["a", "b", "c"];
        check(&plain, "b", Ok(1));
        check(&plain, "id:b", Ok(1));
        check(&plain, "2", Ok(2));
        check(&plain, "index:2", Ok(2));
        for none in ["d", "", "3", "-1", "index:3", "index:a", "id:2", "index:"] {
            check(&plain, none, Err(NoSingleChild::None));
        }
        // Identities that are numbers.
        let numbers = ["7", "0", "2"];
        check(&numbers, "7", Ok(0));
        check(&numbers, "2", Ok(2));
        check(&numbers, "0", Err(NoSingleChild::Several));
        check(&numbers, "id:0", Ok(1));
        check(&numbers, "index:0", Ok(0));
        check(&["id:x", "x"], "id:x", Err(NoSingleChild::Several));
        check(&["id:x", "y"], "id:x", Ok(0));
    }
}
