//! The dependency edges between our crates, and what the core may depend on.
//!
//! Dependencies point down only. A crate that is missing here, or an edge that is not permitted here,
//! fails; a new one is a decision, made in this file.

// Helpers outside of `#[test]` functions say what they expect by panicking, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const CORE: &str = "proofport-core";
const LEAVES: [&str; 4] = ["proofport-journal", "proofport-vault", "proofport-egress", "proofport-sandbox"];
const BELOW_BROKER: [&str; 5] =
    [CORE, "proofport-journal", "proofport-vault", "proofport-egress", "proofport-sandbox"];
const BELOW_GATEWAY: [&str; 6] = [
    CORE,
    "proofport-journal",
    "proofport-vault",
    "proofport-egress",
    "proofport-sandbox",
    "proofport-broker",
];

/// What the core may use from elsewhere: words, digests, addresses. Nothing that does input or output,
/// reads a clock or makes random numbers.
const CORE_USES: [&str; 7] =
    ["data-encoding", "schemars", "serde", "serde_json", "sha2", "thiserror", "zeroize"];

/// What must not be below the core by any way.
const NEVER_BELOW_CORE: [&str; 21] = [
    "async-std",
    "chrono",
    "cranelift-codegen",
    "fastrand",
    "getrandom",
    "h2",
    "hyper",
    "mio",
    "rand",
    "rand_core",
    "redb",
    "reqwest",
    "russh",
    "rustix",
    "rustls",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "tracing",
    "wasmtime",
];

/// The project's crates that this one may use when it runs.
fn permitted(package: &Package, root: &Path) -> BTreeSet<&'static str> {
    let folder = package.manifest_path.as_std_path().parent().unwrap();
    let folder = folder.strip_prefix(root).unwrap().to_str().unwrap();
    let allowed: &[&str] = match folder {
        "host/core" | "sdk/rust" | "sdk/guest-build" => &[],
        // What agents link knows the wire and nothing of what answers there.
        "sdk/client" => &[],
        // It breaks the others and knows none of them, so that it is built in no time.
        "tests/sabotage" => &[],
        "host/journal" | "host/vault" | "host/egress" | "host/sandbox" => &[CORE],
        "host/broker" => &BELOW_BROKER,
        "host/gateway" => &BELOW_GATEWAY,
        "host/cli" => &[CORE, "proofport-gateway"],
        "sdk/testkit" => &["proofport-sdk"],
        // Guests know the world, not the host.
        other if other.starts_with("connectors/") || other.starts_with("examples/") => &["proofport-sdk"],
        // Whole disks lose their power below the journal alone, so that this needs no sandbox to build.
        "tests/power-loss" => &[CORE, "proofport-journal"],
        // The tests see everything but the program, which they run.
        "tests" => &[
            CORE,
            "proofport-power-loss",
            "proofport-journal",
            "proofport-vault",
            "proofport-egress",
            "proofport-sandbox",
            "proofport-broker",
            "proofport-gateway",
            "proofport-client",
        ],
        other => panic!("{other} is not in the table of edges"),
    };
    allowed.iter().copied().collect()
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn metadata() -> Metadata {
    // For this machine only: packages of other platforms were never fetched.
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("-vV").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(["--filter-platform".to_owned(), host.to_owned()])
        .exec()
        .unwrap()
}

/// Names of the dependencies of one kind.
fn dependencies(package: &Package, kind: DependencyKind) -> BTreeSet<&str> {
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind == kind)
        .map(|dependency| dependency.name.as_str())
        .collect()
}

#[test]
fn dependencies_point_down_only() {
    let metadata = metadata();
    let root = root();
    let ours: BTreeSet<&str> =
        metadata.workspace_packages().iter().map(|package| package.name.as_str()).collect();
    let mut beyond = Vec::new();
    for package in metadata.workspace_packages() {
        let may = permitted(package, &root);
        for name in dependencies(package, DependencyKind::Normal).intersection(&ours) {
            if !may.contains(name) {
                beyond.push(format!("{} → {name}", package.name));
            }
        }
        // Guests that tests need are built by the builder, and guests are tested by the kit; nothing else
        // is needed for a build.
        let guest = ["connectors", "examples"]
            .iter()
            .any(|folder| package.manifest_path.as_std_path().starts_with(root.join(folder)));
        for kind in [DependencyKind::Build, DependencyKind::Development] {
            for name in dependencies(package, kind).intersection(&ours) {
                let helper = *name == "proofport-guest-build" && package.name.as_str() != CORE;
                let kit = *name == "proofport-testkit" && kind == DependencyKind::Development && guest;
                if !helper && !kit && !may.contains(name) {
                    beyond.push(format!("{} → {name} ({kind})", package.name));
                }
            }
        }
    }
    assert!(beyond.is_empty(), "not permitted: {beyond:#?}");
}

#[test]
fn leaves_never_meet() {
    let metadata = metadata();
    for package in metadata.workspace_packages() {
        if LEAVES.contains(&package.name.as_str()) {
            let below = below(&metadata, &package.id);
            let met: Vec<_> = LEAVES
                .iter()
                .filter(|leaf| **leaf != package.name.as_str() && below.contains(**leaf))
                .collect();
            assert!(met.is_empty(), "{} reaches {met:?}", package.name);
        }
    }
}

#[test]
fn the_core_uses_what_is_listed_and_nothing_else() {
    let metadata = metadata();
    let core =
        metadata.workspace_packages().into_iter().find(|package| package.name.as_str() == CORE).unwrap();
    let uses: BTreeSet<&str> = core
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Development)
        .map(|dependency| dependency.name.as_str())
        .collect();
    assert_eq!(uses, BTreeSet::from(CORE_USES));
}

#[test]
fn nothing_below_the_core_does_input_or_output() {
    // Asked for the core alone: in the whole workspace, other crates switch features on for it.
    let tree = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root())
        .args(["tree", "--package", CORE, "--edges", "normal", "--prefix", "none"])
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let below: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(CORE_USES.iter().all(|name| below.contains(name)), "the tree is not the core's");
    let found: Vec<_> = NEVER_BELOW_CORE.iter().filter(|name| below.contains(*name)).collect();
    assert!(found.is_empty(), "the core reaches {found:?}");
}

/// The names of everything that is linked with this package.
fn below(metadata: &Metadata, of: &PackageId) -> BTreeSet<String> {
    let nodes = &metadata.resolve.as_ref().unwrap().nodes;
    let by_id: BTreeMap<&PackageId, _> = nodes.iter().map(|node| (&node.id, node)).collect();
    let mut names = BTreeSet::new();
    let mut seen = BTreeSet::from([of]);
    let mut open = vec![of];
    while let Some(id) = open.pop() {
        for dependency in &by_id[id].deps {
            let linked = dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
            if linked && seen.insert(&dependency.pkg) {
                names.insert(metadata[&dependency.pkg].name.to_string());
                open.push(&dependency.pkg);
            }
        }
    }
    names
}
