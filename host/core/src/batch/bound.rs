//! The children of an input: which they are, and an input with only some of them.

use crate::manifest::Batch;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most children that any contract may allow: each has records of its own.
pub const MOST_CHILDREN: u32 = 1000;

/// The longest identity of a child, in bytes.
pub const LONGEST_ID: usize = 200;

/// The identity of a child, as its caller gave it: one line of text without characters that move a cursor
/// or turn a line around. It is shown to that caller and to operators.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChildId(String);

/// The text is not a child's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a child's identity: it is 1 to 200 bytes of text on one line")]
pub struct InvalidChildId;

impl ChildId {
    /// Reads an identity.
    ///
    /// # Errors
    /// When the text is empty, too long, or has characters that are not of one plain line.
    pub fn parse(text: &str) -> Result<Self, InvalidChildId> {
        let redraws = |c: char| {
            c.is_control()
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        if (1..=LONGEST_ID).contains(&text.len()) && !text.chars().any(redraws) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidChildId)
        }
    }

    /// The identity that this JSON value gives: a string, or an integer by its digits.
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text).ok(),
            // An integer has one spelling; 1.0 is none here.
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                Self::parse(&number.to_string()).ok()
            }
            Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ChildId {
    type Error = InvalidChildId;
    fn try_from(text: String) -> Result<Self, InvalidChildId> {
        Self::parse(&text)
    }
}

impl From<ChildId> for String {
    fn from(id: ChildId) -> Self {
        id.0
    }
}

/// The children of this input in order, each by its identity.
///
/// # Errors
/// JSON Pointers to what is wrong: to the array where it is not there, empty or too long; else to each
/// identity that is none or that an earlier child has.
pub fn bind(batch: &Batch, input: &Value) -> Result<Vec<ChildId>, Vec<String>> {
    let items = input.pointer(&batch.items).and_then(Value::as_array);
    let fits = |items: &&Vec<Value>| {
        !items.is_empty() && u32::try_from(items.len()).is_ok_and(|length| length <= batch.max)
    };
    let Some(items) = items.filter(fits) else { return Err(vec![batch.items.clone()]) };
    let mut known = BTreeSet::new();
    let mut children = Vec::with_capacity(items.len());
    let mut wrong = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item.pointer(&batch.child_id).and_then(ChildId::of) {
            Some(id) if known.insert(id.clone()) => children.push(id),
            Some(_) | None => wrong.push(format!("{}/{index}{}", batch.items, batch.child_id)),
        }
    }
    if wrong.is_empty() { Ok(children) } else { Err(wrong) }
}

/// The same input with only the children at these positions, in their order; none where it has no such
/// array.
#[must_use]
pub fn only(batch: &Batch, mut input: Value, keep: &[u32]) -> Option<Value> {
    let items = input.pointer_mut(&batch.items)?.as_array_mut()?;
    let mut position = 0;
    items.retain(|_| {
        let kept = keep.contains(&position);
        position += 1;
        kept
    });
    Some(input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::BatchMode;
    use serde_json::json;

    fn batch(items: &str, child_id: &str) -> Batch {
        let mode = BatchMode::Independent;
        Batch { items: items.to_owned(), child_id: child_id.to_owned(), mode, max: 3 }
    }

    #[test]
    fn children_are_bound_by_position_and_identity() {
        let check = |input: Value, expected: Result<&[&str], &[&str]>| {
            let got = bind(&batch("/a/list", "/id"), &json!({ "a": { "list": input } }));
            let got = got.map(|ids| ids.into_iter().map(String::from).collect::<Vec<_>>());
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            assert_eq!(got, expected.map(owned).map_err(owned), "{input}");
        };
        let (whole, second) = (["/a/list"], ["/a/list/1/id"]);
        check(json!([{"id": "b"}, {"id": "a", "more": 1}]), Ok(&["b", "a"]));
        check(json!([{"id": 7}, {"id": -8}, {"id": u64::MAX}]), Ok(&["7", "-8", "18446744073709551615"]));
        check(json!([]), Err(&whole));
        check(json!({"0": {"id": "a"}}), Err(&whole));
        check(json!(null), Err(&whole));
        check(json!([{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}]), Err(&whole));
        check(json!([{"id": "a"}, {"id": "a"}]), Err(&second));
        // One spelling for one identity, whatever its type.
        check(json!([{"id": 1}, {"id": "1"}]), Err(&second));
        for bad in [json!(1.0), json!(1.5), json!(true), json!(null), json!({}), json!([]), json!("")] {
            check(json!([{"id": "a"}, {"id": bad}]), Err(&second));
        }
        for bad in ["a\nb", "a\u{1b}[2J", "a\u{202e}b", &"x".repeat(201)] {
            check(json!([{"id": "a"}, {"id": bad}]), Err(&second));
        }
        check(json!([{"id": "x".repeat(200)}]), Ok(&["x".repeat(200).as_str()]));
        check(json!([{"no": 1}, "a", {"id": "c"}]), Err(&["/a/list/0/id", "/a/list/1/id"]));
    }

    #[test]
    fn a_child_may_be_nothing_but_its_identity() {
        let got = bind(&batch("", ""), &json!(["a", 2])).unwrap();
        assert_eq!(got.iter().map(ChildId::as_str).collect::<Vec<_>>(), ["a", "2"]);
        assert_eq!(bind(&batch("", ""), &json!(["a", "a"])), Err(vec!["/1".to_owned()]));
    }

    #[test]
    fn an_input_keeps_everything_but_the_other_children() {
        let input = json!({"queue": "q", "list": [{"id": "a"}, {"id": "b"}, {"id": "c"}]});
        let check = |keep: &[u32], expected: Value| {
            let got = only(&batch("/list", "/id"), input.clone(), keep).unwrap();
            assert_eq!(got, json!({"queue": "q", "list": expected}), "{keep:?}");
        };
        check(&[0, 2], json!([{"id": "a"}, {"id": "c"}]));
        check(&[2], json!([{"id": "c"}]));
        check(&[], json!([]));
        check(&[9], json!([]));
        assert_eq!(only(&batch("/nothing", "/id"), input.clone(), &[0]), None);
    }

    #[test]
    fn a_record_holds_no_identity_that_would_not_be_bound() {
        assert!(serde_json::from_value::<ChildId>(json!("a\nb")).is_err());
        let id = ChildId::parse("a").unwrap();
        assert_eq!(serde_json::from_value::<ChildId>(serde_json::to_value(&id).unwrap()).unwrap(), id);
    }
}
