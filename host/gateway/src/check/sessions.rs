//! Executables that nobody can be let in by.

use super::Findings;
use crate::config::{Config, Problem};
use crate::session::{Refusal, refusals};

pub(super) fn judge(findings: &mut Findings<'_>, config: &Config) {
    for (index, refusal) in refusals(&config.sessions.allow) {
        let what = match refusal {
            Refusal::Ours => "is this program's own digest: whoever starts it would be let in".to_owned(),
            Refusal::Interpreter(path) => format!(
                "is the digest of {}, which runs whatever it is told to: every program in its language would be let in",
                path.display()
            ),
        };
        findings.problems.push(Problem {
            file: findings.file.to_owned(),
            place: config.sessions.allow.get(index).map(|listed| listed.place),
            field: format!("sessions.allow[{index}]"),
            what,
            todo: "remove it, and let each such agent in with `proofport session allow`, or give it a token"
                .to_owned(),
        });
    }
}
