//! Every sabotage is still one: what it replaces is in the tree, once, and its tests are there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use proofport_sabotage::{Case, CaseError, cases, root};
use std::path::Path;

/// The breaches that there must be at least.
const WANTED: [&str; 7] = [
    "deliver-before-settle",
    "exit-status-defaults-to-0",
    "ignore-generation",
    "key-expiry-ignored",
    "later-refusal-settles",
    "no-fsync",
    "retry-on-incomplete-message",
];

/// Whether a file below this folder has a function with this name.
fn has_function(folder: &Path, name: &str) -> bool {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        if path.is_dir() {
            return has_function(&path, name);
        }
        let is_rust = path.extension().is_some_and(|ending| ending == "rs");
        is_rust && std::fs::read_to_string(&path).unwrap().contains(&format!("fn {name}("))
    })
}

#[test]
fn no_sabotage_has_rotted() {
    let root = root();
    let cases = cases(&root).unwrap();
    for name in WANTED {
        assert!(cases.iter().any(|case| case.name == name), "there is no sabotage {name}");
    }
    for case in &cases {
        case.applied(&root).unwrap_or_else(|error| panic!("{error}"));
        let folder = case.package.strip_prefix("proofport-").unwrap();
        let folder = [root.join("host").join(folder), root.join("tests").join(folder)];
        let folder = folder.iter().find(|folder| folder.is_dir()).unwrap();
        for test in &case.tests {
            let function = test.rsplit("::").next().unwrap();
            assert!(has_function(folder, function), "{}: there is no test {test}", case.name);
        }
    }
}

#[test]
fn what_is_not_there_once_has_rotted() {
    let folder = std::env::temp_dir().join(format!("proofport-sabotage-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("code.rs"), "one two two").unwrap();
    let check = |find: &str, expected: Result<&str, usize>| {
        let case = Case {
            name: "x".to_owned(),
            law: "a law".to_owned(),
            file: "code.rs".into(),
            find: find.to_owned(),
            replace: "three".to_owned(),
            package: "proofport-core".to_owned(),
            program: "laws".to_owned(),
            tests: vec!["a".to_owned()],
        };
        let got = case.applied(&folder).map_err(|error| match error {
            CaseError::Rotten { times, .. } => times,
            other @ (CaseError::Unreadable { .. } | CaseError::Malformed { .. } | CaseError::Empty(_)) => {
                panic!("{other}")
            }
        });
        assert_eq!(got, expected.map(str::to_owned), "{find}");
    };
    check("one", Ok("three two two"));
    check("two", Err(2));
    check("four", Err(0));
    std::fs::remove_dir_all(&folder).unwrap();
}
