//! Lists of texts in which nothing stands twice.

use super::problem::At;
use super::reader::{Reader, Section};

/// The most elements of such a list.
const MOST: usize = 64;

/// Reads the list under `key`; empty where it is absent. `parse` reads one element, or says what is
/// wrong with it; it must not repeat the text.
pub(super) fn read<'a, T: PartialEq>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    key: &str,
    todo: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Vec<At<T>> {
    let Some(field) = reader.field(section, key) else { return Vec::new() };
    let Some(elements) = reader.elements(&field) else { return Vec::new() };
    if elements.len() > MOST {
        let what = format!("has more than {MOST} elements");
        reader.report(field.place, &field.path, what, "list what is needed and no more");
        return Vec::new();
    }
    let mut list: Vec<At<T>> = Vec::new();
    for element in elements {
        let Some(text) = reader.text(&element) else { continue };
        match parse(text) {
            Ok(value) if list.iter().any(|known| known.value == value) => {
                reader.report(element.place, &element.path, "is listed already", "remove one of the two");
            }
            Ok(value) => list.push(At { value, place: element.place }),
            Err(what) => reader.report(element.place, &element.path, what, todo),
        }
    }
    list
}
