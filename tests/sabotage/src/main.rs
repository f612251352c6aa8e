//! `sabotage [NAME…]`: breaks one law after another in a copy of the tree, and shows that its tests see it.

use proofport_sabotage::{Case, Report, Tree, Verdict, cases, root, run};
use std::error::Error;
use std::io::{Write as _, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn say(line: &str) {
    // A closed terminal must not stop the run.
    let _ = writeln!(stdout(), "{line}");
}

fn main() -> ExitCode {
    match try_all(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Whether every one was caught.
fn try_all(wanted: &[String]) -> Result<bool, Box<dyn Error>> {
    let root = root();
    let all = cases(&root)?;
    if let Some(stranger) = wanted.iter().find(|name| all.iter().all(|case| case.name != **name)) {
        return Err(format!("there is no sabotage {stranger}").into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let target = std::path::absolute(target)?.join("sabotage");
    std::fs::create_dir_all(target.join("tree"))?;
    let tree = Tree::copy(&root, &target.join("tree"))?;
    let is_wanted = |case: &&Case| wanted.is_empty() || wanted.contains(&case.name);
    let wanted_cases: Vec<&Case> = all.iter().filter(is_wanted).collect();
    say(&format!("{} sabotages; first their tests without any", wanted_cases.len()));
    let reports = run(&wanted_cases, &tree, &target.join("target"), show)?;
    // A part of them is no evidence of the whole.
    if wanted.is_empty() {
        keep(&root.join("target/evidence"), &reports)?;
    }
    let caught = reports.iter().filter(|report| report.verdict == Verdict::Caught).count();
    say(&format!("{caught} of {} caught", reports.len()));
    Ok(caught == reports.len())
}

fn show(report: &Report) {
    let verdict = match report.verdict {
        Verdict::Caught => "caught",
        Verdict::Survived => "SURVIVED",
        Verdict::NotBuilt => "NOT BUILT",
        Verdict::NotPassing => "NOT PASSING unbroken",
    };
    say(&format!("{:34} {verdict:9} {:>4} s  {}", report.name, report.seconds, report.tests.join(", ")));
    for line in report.printed.lines() {
        say(&format!("    {line}"));
    }
}

fn keep(folder: &Path, reports: &[Report]) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let text = serde_json::to_string_pretty(&serde_json::json!({ "sabotages": reports }))?;
    std::fs::write(folder.join("sabotage.json"), text + "\n")?;
    Ok(())
}
