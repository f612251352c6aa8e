//! Reads a module without compiling or running it: what it imports, what it exports, for which
//! version of the world it was made. This is what an admin reviews, and what is refused at install.

use proofport_core::digest::Digest;
use wasmparser::{ComponentExternalKind, Encoding, Parser, Payload, Validator};

/// The largest module that is read, in bytes.
pub const LARGEST_MODULE: usize = 32 << 20;

/// The version of the world that this host speaks.
pub const SUPPORTED_WORLD: &str = "0.1.0";

const CONNECTOR: &str = "proofport:connector/connector@";

/// Interfaces that may be imported, one by one. Those of WASI are linked inert.
const ALLOWED: [&str; 21] = [
    "proofport:connector/types",
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// What a module is, without having been run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// SHA-256 of the module's bytes: what an approval is for.
    pub digest: Digest,
    /// What it imports, in the module's order.
    pub imports: Vec<String>,
    /// What it exports, in the module's order.
    pub exports: Vec<String>,
    /// The version of the world that it was made for.
    pub world_version: String,
    /// The module's length in bytes.
    pub size: usize,
}

/// Why a module can't be a connector here. Names of imports and versions come from the module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// The bytes are longer than [`LARGEST_MODULE`].
    #[error("the module is {size} bytes long; {LARGEST_MODULE} is the most")]
    TooLarge {
        /// The module's length in bytes.
        size: usize,
    },
    /// The bytes are not a WebAssembly component.
    #[error(
        "not a WebAssembly component{}: {detail}",
        if *.core_module { " but a core module; build it for wasm32-wasip2" } else { "" }
    )]
    NotAComponent {
        /// Whether they are a core module, which is the usual mistake.
        core_module: bool,
        /// What is wrong, and where.
        detail: String,
    },
    /// It exports no connector.
    #[error("the component does not export `proofport:connector/connector`")]
    MissingExport,
    /// It was made for a version of the world that this host does not speak.
    #[error("the component is made for version {found} of the connector world; this host speaks {supported}")]
    WrongWorldVersion {
        /// The module's version.
        found: String,
        /// This host's.
        supported: &'static str,
    },
    /// It imports what no connector may have.
    #[error("the component imports `{name}`, which no connector may have")]
    ForbiddenImport {
        /// The import.
        name: String,
    },
}

/// Reads a module without running it, and refuses one that this host would not run.
///
/// # Errors
/// See [`ModuleError`].
pub fn inspect(bytes: &[u8]) -> Result<Inspection, ModuleError> {
    if bytes.len() > LARGEST_MODULE {
        return Err(ModuleError::TooLarge { size: bytes.len() });
    }
    let names = Names::read(bytes)?;
    let Some(version) = names.exports.iter().find_map(|name| name.strip_prefix(CONNECTOR)) else {
        return Err(ModuleError::MissingExport);
    };
    if version != SUPPORTED_WORLD {
        return Err(ModuleError::WrongWorldVersion { found: version.to_owned(), supported: SUPPORTED_WORLD });
    }
    if let Some(name) = names.imports.iter().find(|name| !is_allowed(name)) {
        return Err(ModuleError::ForbiddenImport { name: name.clone() });
    }
    Ok(Inspection {
        digest: Digest::of_bytes(bytes),
        world_version: version.to_owned(),
        size: bytes.len(),
        imports: names.imports,
        exports: names.exports,
    })
}

/// Whether a connector may import this.
pub(crate) fn is_allowed(import: &str) -> bool {
    let interface = import.split('@').next().unwrap_or(import);
    ALLOWED.contains(&interface)
}

/// The outermost component's imports and exports.
struct Names {
    imports: Vec<String>,
    exports: Vec<String>,
}

impl Names {
    fn read(bytes: &[u8]) -> Result<Self, ModuleError> {
        let core_module = Parser::is_core_wasm(bytes);
        let wrong = |detail: String| ModuleError::NotAComponent { core_module, detail };
        if !Parser::is_component(bytes) {
            return Err(wrong("the header says so".to_owned()));
        }
        Validator::new().validate_all(bytes).map_err(|error| wrong(error.to_string()))?;
        let mut names = Self { imports: Vec::new(), exports: Vec::new() };
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.map_err(|error| wrong(error.to_string()))?;
            names.note(&payload, &mut depth).map_err(|error| wrong(error.to_string()))?;
        }
        Ok(names)
    }

    // The list of sections grows with the format; those of no interest here stay of no interest.
    #[allow(clippy::wildcard_enum_match_arm)]
    fn note(
        &mut self,
        payload: &Payload<'_>,
        depth: &mut usize,
    ) -> Result<(), wasmparser::BinaryReaderError> {
        match payload {
            Payload::Version { encoding: Encoding::Module | Encoding::Component, .. } => *depth += 1,
            Payload::End(_) => *depth = depth.saturating_sub(1),
            // Nested components and modules have imports of their own, which the outer one fills.
            Payload::ComponentImportSection(section) if *depth == 1 => {
                for import in section.clone() {
                    self.imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if *depth == 1 => {
                for export in section.clone() {
                    let export = export?;
                    if export.kind == ComponentExternalKind::Instance {
                        self.exports.push(export.name.name.to_owned());
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(import: &str, expected: bool) {
        assert_eq!(is_allowed(import), expected, "{import}");
    }

    #[test]
    fn imports_are_allowed_one_by_one() {
        check("wasi:io/streams@0.2.6", true);
        check("wasi:random/insecure-seed@0.2.0", true);
        check("wasi:cli/environment@0.2.3", true);
        check("proofport:connector/types@0.1.0", true);
        check("wasi:sockets/tcp@0.2.6", false);
        check("wasi:http/outgoing-handler@0.2.6", false);
        check("wasi:cli/run@0.2.6", false);
        check("wasi:io/streamsx@0.2.6", false);
        check("wasi:randomness/x", false);
        check("env", false);
        check("", false);
    }

    #[test]
    fn what_is_no_component_is_said_to_be_none() {
        let error = |bytes: &[u8]| inspect(bytes).unwrap_err();
        assert!(matches!(error(b""), ModuleError::NotAComponent { core_module: false, .. }));
        assert!(matches!(error(b"#!/bin/sh"), ModuleError::NotAComponent { core_module: false, .. }));
        let core = b"\0asm\x01\0\0\0";
        assert!(matches!(error(core), ModuleError::NotAComponent { core_module: true, .. }));
        let empty = b"\0asm\x0d\0\x01\0";
        assert_eq!(error(empty), ModuleError::MissingExport);
        assert!(matches!(error(&empty[..6]), ModuleError::NotAComponent { .. }));
    }
}
