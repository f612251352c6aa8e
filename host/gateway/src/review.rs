//! What an admin sees of a module before approving it: what it can reach, what it can do, and what
//! the host may do on its word when an outcome is unknown.
//!
//! The connector's own texts are shown with everything escaped that could move a terminal's cursor or
//! turn a line around: until it is approved, they are a stranger's.

mod words;

use proofport_core::contract::{Effect, InjectionMode, RepeatKind};
use proofport_core::digest::Digest;
use proofport_core::id::Name;
use proofport_core::manifest::{CredentialSlot, Manifest, Operation, QueryTemplate};
use proofport_sandbox::Inspection;
use serde::Serialize;
use std::fmt;

/// A module as its reviewer sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Review {
    /// The connector's name.
    pub name: Name,
    /// Its version, as it says.
    pub version: String,
    /// What it is, as it says.
    pub summary: String,
    /// What an approval is for.
    pub digest: Digest,
    /// The module's length in bytes.
    pub size: usize,
    /// The version of the connector world that it was made for.
    pub world: String,
    /// What it imports; everything of WASI is linked inert.
    pub imports: Vec<String>,
    /// The keys of a connection's `config`; a required one ends with ` (required)`.
    pub settings: Vec<String>,
    /// Where it wants credentials attached.
    pub slots: Vec<SlotReview>,
    /// What it can do.
    pub operations: Vec<OperationReview>,
    /// Requests that count as changing nothing although they are neither GET nor HEAD. Each is to be
    /// checked against the service's documentation.
    pub query_templates: Vec<String>,
    /// The long arguments of those templates, each once and whole: what they change, they change in here.
    pub scripts: Vec<ScriptReview>,
}

/// A text that a remote program runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScriptReview {
    /// By which the templates name it.
    pub digest: Digest,
    /// Its lines.
    pub lines: Vec<String>,
}

/// A place for a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlotReview {
    /// Its name.
    pub name: Name,
    /// What it is for, as the connector says.
    pub purpose: String,
    /// How the secret may be attached.
    pub modes: Vec<InjectionMode>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OperationReview {
    /// Its name.
    pub name: Name,
    /// What it does, as the connector says.
    pub summary: String,
    /// Whether it may change anything.
    pub effect: Effect,
    /// The kind of its repeat contract.
    pub repeat: RepeatKind,
    /// What the host may do when the outcome is unknown, and every other promise that a decision
    /// rests on, in sentences.
    pub promises: Vec<String>,
    /// Response headers that the connector sees and the record keeps.
    pub kept_headers: Vec<String>,
    /// Whether the content of a successful answer is stored for the caller and not read.
    pub stores_content: bool,
    /// Whether it may send a command that the host does not quote, if the connection allows it.
    pub raw_commands: bool,
}

impl Review {
    /// The review of a module and of what it declared.
    #[must_use]
    pub fn of(inspection: &Inspection, manifest: &Manifest) -> Self {
        Self {
            name: manifest.name.clone(),
            version: plain(&manifest.version),
            summary: plain(&manifest.summary),
            digest: inspection.digest,
            size: inspection.size,
            world: plain(&inspection.world_version),
            imports: inspection.imports.iter().map(|import| plain(import)).collect(),
            settings: settings(&manifest.config_schema),
            slots: manifest.credential_slots.iter().map(SlotReview::of).collect(),
            operations: manifest.operations.iter().map(OperationReview::of).collect(),
            query_templates: manifest.query_templates.iter().map(template).collect(),
            scripts: scripts(&manifest.query_templates),
        }
    }
}

impl SlotReview {
    fn of(slot: &CredentialSlot) -> Self {
        Self { name: slot.name.clone(), purpose: plain(&slot.purpose), modes: slot.modes.clone() }
    }
}

impl OperationReview {
    fn of(operation: &Operation) -> Self {
        Self {
            name: operation.name.clone(),
            summary: plain(&operation.summary),
            effect: operation.contract.effect,
            repeat: operation.contract.repeat.kind(),
            promises: words::promises(&operation.contract),
            kept_headers: operation.kept_headers.iter().map(|header| plain(header)).collect(),
            stores_content: operation.stores_content,
            raw_commands: operation.raw_commands,
        }
    }
}

fn settings(schema: &serde_json::Value) -> Vec<String> {
    let required = |key: &str| {
        schema
            .get("required")
            .and_then(|list| list.as_array())
            .is_some_and(|list| list.iter().any(|k| k == key))
    };
    let properties = schema.get("properties").and_then(|properties| properties.as_object());
    let spelled = |key: &String| plain(key) + if required(key) { " (required)" } else { "" };
    properties.map(|properties| properties.keys().map(spelled).collect()).unwrap_or_default()
}

fn template(template: &QueryTemplate) -> String {
    match template {
        QueryTemplate::Http { method, path } => plain(&format!("{method} {path}")),
        QueryTemplate::Ssh(arguments) => {
            let word = |argument: &String| match is_script(argument) {
                true => format!("[{}]", Digest::of_bytes(argument.as_bytes())),
                // Whole, and with its borders: all of it is part of what counts as changing nothing.
                false => format!("`{}`", escaped(argument)),
            };
            let words: Vec<String> = arguments.iter().map(word).collect();
            format!("ssh: {}", words.join(" "))
        }
    }
}

/// Whether an argument is shown by itself.
fn is_script(argument: &str) -> bool {
    argument.contains('\n') || argument.chars().count() > LONGEST_WORD
}

fn scripts(templates: &[QueryTemplate]) -> Vec<ScriptReview> {
    let mut scripts: Vec<ScriptReview> = Vec::new();
    for template in templates {
        let QueryTemplate::Ssh(arguments) = template else { continue };
        for argument in arguments.iter().filter(|argument| is_script(argument)) {
            let digest = Digest::of_bytes(argument.as_bytes());
            if scripts.iter().all(|known| known.digest != digest) {
                scripts.push(ScriptReview { digest, lines: argument.split('\n').map(escaped).collect() });
            }
        }
    }
    scripts
}

/// The longest argument that is shown among others, in characters.
const LONGEST_WORD: usize = 80;

/// The longest text of a connector's that is shown, in characters.
const LONGEST: usize = 300;

/// A stranger's text on one line: control characters, and those that reorder or hide others, escaped.
pub(crate) fn plain(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => escaped(text.get(..end).unwrap_or_default()) + "…",
        None => escaped(text),
    }
}

/// The same, however long it is.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hides = matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
        if c.is_control() || hides {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

impl fmt::Display for Review {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} — {}", self.name, self.version, self.summary)?;
        writeln!(f, "  digest   {}", self.digest)?;
        writeln!(f, "  size     {} bytes, for version {} of the connector world", self.size, self.world)?;
        match self.imports.as_slice() {
            [] => writeln!(f, "  imports  nothing")?,
            imports => {
                writeln!(
                    f,
                    "  imports  {} interfaces, all inert: no network, files, environment or real clock",
                    imports.len()
                )?;
                for import in imports {
                    writeln!(f, "           {import}")?;
                }
            }
        }
        if !self.settings.is_empty() {
            writeln!(f, "  config   {}", self.settings.join(", "))?;
        }
        for slot in &self.slots {
            let modes: Vec<&str> = slot.modes.iter().map(|mode| mode.as_str()).collect();
            writeln!(f, "  slot     {} ({}): {}", slot.name, modes.join(" or "), slot.purpose)?;
        }
        for template in &self.query_templates {
            writeln!(f, "  query    {template}   — counts as changing nothing: check that it does")?;
        }
        for script in &self.scripts {
            writeln!(f, "  script   {}", script.digest)?;
            for line in &script.lines {
                writeln!(f, "           | {line}")?;
            }
        }
        for operation in &self.operations {
            writeln!(f)?;
            writeln!(f, "  {} — {}", operation.name, operation.summary)?;
            writeln!(f, "    effect {}, repeat {}", operation.effect, operation.repeat)?;
            for promise in &operation.promises {
                writeln!(f, "    {promise}")?;
            }
            if operation.stores_content {
                writeln!(f, "    The content of answers is stored, not read: the caller fetches it.")?;
            }
            if operation.raw_commands {
                writeln!(
                    f,
                    "    May send raw commands, which a remote shell reads: only where the connection sets raw_commands."
                )?;
            }
            if !operation.kept_headers.is_empty() {
                writeln!(f, "    Response headers kept: {}.", operation.kept_headers.join(", "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
