//! Reading a parsed file so that every mistake is told and none stops the others.

use super::problem::{Place, Problem, shown};
use super::words::{asks_for_repeating, nearest};
use proofport_core::id::Name;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Collects problems.
pub(crate) struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
    /// The byte at which each line begins.
    lines: Vec<usize>,
    problems: Vec<Problem>,
    /// Lines that are not TOML. What else is said of them is a consequence.
    broken: BTreeSet<usize>,
}

/// A table and the path to it.
#[derive(Clone)]
pub(crate) struct Section<'a> {
    pub(crate) path: String,
    pub(crate) place: Place,
    pub(crate) table: &'a DeTable<'a>,
}

/// A key with its value.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    pub(crate) path: String,
    /// Where the key stands.
    pub(crate) key_place: Place,
    /// Where the value stands.
    pub(crate) place: Place,
    pub(crate) key: &'a str,
    pub(crate) value: &'a DeValue<'a>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(file: &'a Path, text: &'a str) -> Self {
        let after_line_ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(after_line_ends).collect();
        Self { file, text, lines, problems: Vec::new(), broken: BTreeSet::new() }
    }

    pub(crate) fn place(&self, span: &Range<usize>) -> Place {
        let line = self.lines.partition_point(|begin| *begin <= span.start);
        let begin = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(begin..span.start).unwrap_or("");
        Place { line, column: before.chars().count() + 1 }
    }

    /// The file is not TOML here.
    pub(crate) fn syntax(&mut self, error: &toml::de::Error) {
        let end = self.text.len()..self.text.len();
        let place = self.place(&error.span().unwrap_or(end));
        self.broken.insert(place.line);
        // The parser's messages are fixed texts; its `Display` would quote the line.
        let what = format!("not TOML: {}", error.message());
        self.problems.push(Problem {
            file: self.file.to_owned(),
            place: Some(place),
            field: String::new(),
            what,
            todo: "correct the line; strings stand in double quotes, tables in brackets".to_owned(),
        });
    }

    pub(crate) fn report(
        &mut self,
        place: Place,
        field: &str,
        what: impl Into<String>,
        todo: impl Into<String>,
    ) {
        if !self.broken.contains(&place.line) {
            let (file, place) = (self.file.to_owned(), Some(place));
            self.problems.push(Problem {
                file,
                place,
                field: field.to_owned(),
                what: what.into(),
                todo: todo.into(),
            });
        }
    }

    /// A field that must be there is not. Which keys stand where can't be judged in a file that is not
    /// TOML, since a broken line may have held or separated them; values can.
    pub(crate) fn missing(&mut self, section: &Section<'_>, key: &str, todo: impl Into<String>) {
        if self.broken.is_empty() {
            self.report(section.place, &format!("{}.{key}", section.path), "is missing", todo);
        }
    }

    pub(crate) fn field(&self, section: &Section<'a>, key: &str) -> Option<Field<'a>> {
        section
            .table
            .iter()
            .find(|(found, _)| found.get_ref() == key)
            .map(|(key, value)| self.spanned(&section.path, key, value))
    }

    pub(crate) fn fields(&self, section: &Section<'a>) -> Vec<Field<'a>> {
        section.table.iter().map(|(key, value)| self.spanned(&section.path, key, value)).collect()
    }

    /// The fields of a table whose keys are names of the admin's choice; others are reported.
    pub(crate) fn named(&mut self, section: &Section<'a>) -> Vec<(Name, Field<'a>)> {
        let mut named = Vec::new();
        for mut field in self.fields(section) {
            match Name::parse(field.key) {
                Ok(name) => {
                    // A name is public wherever it is used, however it looks.
                    field.path = format!("{}.{name}", section.path);
                    named.push((name, field));
                }
                Err(error) => {
                    self.report(field.key_place, &field.path, error.to_string(), "choose another name")
                }
            }
        }
        named
    }

    fn spanned(
        &self,
        path: &str,
        key: &'a Spanned<toml::de::DeString<'a>>,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Field<'a> {
        let name: &str = key.get_ref();
        let dot = if path.is_empty() { "" } else { "." };
        Field {
            path: format!("{path}{dot}{}", shown(name)),
            key_place: self.place(&key.span()),
            place: self.place(&value.span()),
            key: name,
            value: value.get_ref(),
        }
    }

    /// Reports every key that is not one of these. See [`Reader::missing`] about broken files.
    pub(crate) fn only(&mut self, section: &Section<'a>, known: &[&str]) {
        if !self.broken.is_empty() {
            return;
        }
        for field in self.fields(section) {
            if known.contains(&field.key) {
                continue;
            }
            if asks_for_repeating(field.key) {
                self.report(
                    field.key_place,
                    &field.path,
                    "no setting makes a request repeatable",
                    "remove it; a request is repeated only where its operation's declared contract permits it. How \
                     often then is in `[connections.NAME.retries]`, and `repeat = \"none\"` takes it away",
                );
                continue;
            }
            let todo = match nearest(field.key, known) {
                Some(word) => format!("write `{word}` if that was meant, or remove it"),
                None => format!("remove it; known here: {}", known.join(", ")),
            };
            self.report(field.key_place, &field.path, "is not a known key", todo);
        }
    }

    pub(crate) fn text(&mut self, field: &Field<'a>) -> Option<&'a str> {
        let text = field.value.as_str();
        if text.is_none() {
            self.wrong_type(field, "a string in double quotes");
        }
        text
    }

    pub(crate) fn section(&mut self, field: &Field<'a>) -> Option<Section<'a>> {
        let Some(table) = field.value.as_table() else {
            self.wrong_type(field, "a table");
            return None;
        };
        Some(Section { path: field.path.clone(), place: field.key_place, table })
    }

    /// The elements of an array, each as a field with its index.
    pub(crate) fn elements(&mut self, field: &Field<'a>) -> Option<Vec<Field<'a>>> {
        let Some(array) = field.value.as_array() else {
            self.wrong_type(field, "an array in brackets");
            return None;
        };
        let element = |(index, value): (usize, &'a Spanned<DeValue<'a>>)| {
            let place = self.place(&value.span());
            let path = format!("{}[{index}]", field.path);
            Field { path, key_place: place, place, key: field.key, value: value.get_ref() }
        };
        Some(array.iter().enumerate().map(element).collect())
    }

    /// A whole number within bounds.
    pub(crate) fn number(&mut self, field: &Field<'a>, bounds: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let (least, most) = (*bounds.start(), *bounds.end());
        let Some(integer) = field.value.as_integer() else {
            self.wrong_type(field, &format!("a whole number from {least} to {most}"));
            return None;
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let inside = number.filter(|number| bounds.contains(number));
        if inside.is_none() {
            let todo = format!("choose a whole number from {least} to {most}");
            self.report(field.place, &field.path, "is out of bounds", todo);
        }
        inside
    }

    pub(crate) fn wrong_type(&mut self, field: &Field<'_>, wanted: &str) {
        let what = format!("is of type {}", field.value.type_str());
        self.report(field.place, &field.path, what, format!("write {wanted}"));
    }

    /// Everything found, in the file's order.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort();
        self.problems
    }
}
