//! What was told of a batch's children, in order, and found again by child.

use crate::event::ChildFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Deref;

/// What was told of a batch's children, in order. It is written as that list alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<ChildFacts>", into = "Vec<ChildFacts>")]
pub struct Told {
    facts: Vec<ChildFacts>,
    /// Where in the list each child is spoken of.
    places: BTreeMap<u32, Vec<usize>>,
}

impl Told {
    /// Adds what was told last.
    pub(crate) fn push(&mut self, facts: ChildFacts) {
        self.places.entry(facts.index).or_default().push(self.facts.len());
        self.facts.push(facts);
    }

    /// What was told of the child at this position, in order.
    pub fn of(&self, index: u32) -> impl DoubleEndedIterator<Item = &ChildFacts> {
        let places = self.places.get(&index).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|place| self.facts.get(*place))
    }
}

impl Deref for Told {
    type Target = [ChildFacts];
    fn deref(&self) -> &[ChildFacts] {
        &self.facts
    }
}

impl From<Vec<ChildFacts>> for Told {
    fn from(facts: Vec<ChildFacts>) -> Self {
        let mut told = Self::default();
        facts.into_iter().for_each(|facts| told.push(facts));
        told
    }
}

impl From<Told> for Vec<ChildFacts> {
    fn from(told: Told) -> Self {
        told.facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::ChildId;
    use crate::contract::{Outcome, Source};

    fn facts(index: u32, generation: u32) -> ChildFacts {
        ChildFacts {
            index,
            id: ChildId::parse(&format!("c{index}")).unwrap(),
            generation,
            outcome: Outcome::Committed,
            code: None,
            source: Source::RemoteResponse,
            repairable: false,
            output: None,
            attested_reason: None,
            left_unknown: None,
        }
    }

    #[test]
    fn each_child_is_found_in_order_also_after_it_was_written() {
        let all = vec![facts(0, 1), facts(2, 1), facts(0, 2), facts(7, 2)];
        let mut told = Told::default();
        all.iter().cloned().for_each(|facts| told.push(facts));
        let written = serde_json::to_value(&told).unwrap();
        assert_eq!(written, serde_json::to_value(&all).unwrap(), "a list, and no index");
        let read: Told = serde_json::from_value(written).unwrap();
        for told in [&told, &read] {
            let check = |index: u32, expected: &[u32]| {
                let got: Vec<u32> = told.of(index).map(|facts| facts.generation).collect();
                assert_eq!(got, expected, "{index}");
            };
            check(0, &[1, 2]);
            check(1, &[]);
            check(2, &[1]);
            check(7, &[2]);
            assert_eq!(told[..], all[..]);
        }
    }
}
