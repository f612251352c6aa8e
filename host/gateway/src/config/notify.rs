//! Who is told that an agent waits for an approval.

use super::reader::{Reader, Section};

const KEYS: [&str; 1] = ["command"];

/// The command, program first; empty: nobody is told.
pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Vec<String> {
    reader.only(section, &KEYS);
    let todo = "list the program and its arguments: `command = [\"notify-send\", \"Proofport\", \"an agent waits\"]`";
    let Some(field) = reader.field(section, "command") else {
        reader.missing(section, "command", todo);
        return Vec::new();
    };
    let mut command = Vec::new();
    for element in reader.elements(&field).unwrap_or_default() {
        let Some(text) = reader.text(&element) else { continue };
        if text.contains('\0') {
            reader.report(element.place, &element.path, "can't be an argument", todo);
        } else {
            command.push(text.to_owned());
        }
    }
    if command.first().is_none_or(String::is_empty) {
        reader.report(field.place, &field.path, "names no program", todo);
    }
    command
}
