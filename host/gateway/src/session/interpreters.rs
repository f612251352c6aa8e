//! Programs that run whatever they are told to. Such a program's digest says nothing about what it will do,
//! so that nobody is let in by it.

use super::executable::Executables;
use proofport_core::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Interpreters, and programs that become another program or run one as themselves, by their names without
/// version.
const NAMES: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "beam",
    "bun",
    "busybox",
    "bwrap",
    "csh",
    "dash",
    "deno",
    "doas",
    "dotnet",
    "elixir",
    "env",
    "erl",
    "escript",
    "expect",
    "fish",
    "gawk",
    "gdb",
    "ghci",
    "graalpy",
    "groovy",
    "guile",
    "irb",
    "java",
    "jruby",
    "jshell",
    "julia",
    "kotlin",
    "ksh",
    "ld",
    "lua",
    "luajit",
    "mawk",
    "mksh",
    "mono",
    "nawk",
    "nice",
    "node",
    "nodejs",
    "nohup",
    "npm",
    "npx",
    "nu",
    "octave",
    "osascript",
    "perl",
    "php",
    "powershell",
    "pwsh",
    "pypy",
    "python",
    "qemu",
    "racket",
    "raku",
    "rscript",
    "ruby",
    "runghc",
    "scala",
    "scheme",
    "sed",
    "setsid",
    "sh",
    "ssh",
    "sudo",
    "swipl",
    "tclsh",
    "tcsh",
    "timeout",
    "toybox",
    "tsx",
    "unshare",
    "uv",
    "uvx",
    "valgrind",
    "vim",
    "wasmer",
    "wasmtime",
    "wish",
    "xargs",
    "yash",
    "zsh",
];

/// Where programs are looked for beside `PATH`.
const FOLDERS: [&str; 7] =
    ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/lib/jvm"];

/// The longest first line of a script that is looked at, in bytes.
const FIRST_LINE: usize = 256;

/// Whether a program of this name is one, whatever its version: `python3.12`, `lua5.4`, `ld-linux-x86-64.so.2`.
pub(crate) fn is_interpreter(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()) else {
        return false;
    };
    // The kernel's mark of a file that was replaced while it ran.
    let name = name.strip_suffix(" (deleted)").unwrap_or(&name);
    // The loader runs any program as itself, and is spelled differently on each machine.
    if name.starts_with("ld-") || name.starts_with("ld.so") || name.starts_with("qemu-") {
        return true;
    }
    NAMES.iter().any(|word| {
        let version = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_' | 'v');
        let rest = name.strip_prefix(word);
        rest.is_some_and(|rest| matches!(rest, "w" | "ctl" | ".smp") || rest.chars().all(version))
    })
}

/// Every interpreter that is installed here, by digest, with where it lies: those of a known name, and every
/// program that some installed script names in its `#!` line. Reads files, so it takes a moment.
pub(crate) fn installed(executables: &Executables) -> BTreeMap<Digest, PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: BTreeSet<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
    folders.extend(env::split_paths(&path).filter(|folder| folder.is_absolute()));
    let folders: BTreeSet<PathBuf> = folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
    let mut files = BTreeSet::new();
    for file in folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten() {
        let path = file.path();
        let resolved = path.canonicalize().ok();
        // The name that leads there counts as much as the file's own.
        if is_interpreter(&path) || resolved.as_deref().is_some_and(is_interpreter) {
            files.extend(resolved);
        } else if let Some(named) = resolved.as_deref().and_then(of_script) {
            files.extend(located(&named, &folders));
        }
    }
    let digest = |path: PathBuf| Some((executables.digest(File::open(&path).ok()?).ok()?, path));
    files.into_iter().filter_map(digest).collect()
}

/// The program that a script's first line names.
fn of_script(path: &Path) -> Option<String> {
    // A pipe or a device would keep whoever opens it waiting.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut first = Vec::with_capacity(FIRST_LINE);
    File::open(path).ok()?.take(FIRST_LINE as u64).read_to_end(&mut first).ok()?;
    script_line(&first)
}

fn script_line(first: &[u8]) -> Option<String> {
    let line = first.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let program = words.next()?;
    if Path::new(program).file_name().is_none_or(|name| name != "env") {
        return Some(program.to_owned());
    }
    // Behind `env` come its options and settings, and then the program.
    words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned)
}

fn located(program: &str, folders: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let named = Path::new(program);
    let candidates = folders.iter().map(|folder| folder.join(named));
    candidates.filter_map(|path| path.canonicalize().ok()).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_name_in_any_version() {
        for path in [
            "/usr/bin/python3",
            "/usr/bin/python3.12",
            "/opt/node-v18.2/bin/node",
            "/usr/bin/nodejs",
            "/bin/sh",
            "/usr/bin/perl5.36.0",
            "/usr/bin/lua5.4",
            "/usr/bin/ruby2.7",
            "/lib64/ld-linux-x86-64.so.2",
            "/bin/dash",
            "/usr/lib/erlang/beam.smp",
            "/usr/bin/Rscript",
            "/usr/bin/php8.2",
            "python",
            "pypy3",
            "javaw",
            "/usr/bin/python3.12 (deleted)",
        ] {
            assert!(is_interpreter(Path::new(path)), "{path}");
        }
        for path in [
            "/usr/bin/node-exporter",
            "/usr/bin/claude",
            "/usr/bin/shop",
            "/bin/perlbug-like",
            "/",
            "",
            "agent3",
        ] {
            assert!(!is_interpreter(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_scripts_first_line_names_its_interpreter() {
        let check = |first: &str, expected: Option<&str>| {
            assert_eq!(script_line(first.as_bytes()).as_deref(), expected, "{first:?}");
        };
        check("#!/bin/sh\nexit", Some("/bin/sh"));
        check("#! /usr/bin/perl -w\n", Some("/usr/bin/perl"));
        check("#!/usr/bin/env python3\n", Some("python3"));
        check("#!/usr/bin/env -S A=1 deno run\n", Some("deno"));
        check("#!/usr/bin/env\n", None);
        check("#!\n", None);
        check("\x7fELF", None);
    }

    #[test]
    fn what_is_installed_is_found_under_every_name() {
        let executables = Executables::default();
        let found = installed(&executables);
        let shell = executables.digest(File::open("/bin/sh").unwrap()).unwrap();
        assert!(found.contains_key(&shell));
        let own = executables.digest(File::open(env::current_exe().unwrap()).unwrap()).unwrap();
        assert!(!found.contains_key(&own));
    }
}
