//! Programs that `proofport.toml` lets in, and those that it can't.

use crate::agent::{digest_of, other_program, program};
use crate::world::World;
use proofport_core::session::{DecidedBy, SessionStanding};
use proofport_gateway::host::HostError;
use proofport_gateway::operator_side::{CheckConnections, EndSession};
use std::path::{Path, PathBuf};

fn allow(programs: &[&Path]) -> String {
    let digests: Vec<String> = programs.iter().map(|path| format!("\"{}\"", digest_of(path))).collect();
    format!("[sessions]\nallow = [{}]", digests.join(", "))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_program_needs_no_word_as_long_as_it_is_listed() {
    let world = World::new().await;
    let listed = other_program(world.folder.path(), "listed");
    world.configure(&allow(&[&listed]));
    let serving = world.serve().await;
    let mut agent = serving.agent(&listed);
    let said = agent.knock();
    assert!(said.starts_with("admitted"), "{said}");
    assert_eq!(agent.knock(), said, "it is one session");
    assert_eq!(serving.agent(&program()).knock(), "waiting");
    let [view] = <[_; 1]>::try_from(serving.standing(SessionStanding::Allowed)).unwrap();
    assert_eq!(view.by, Some(DecidedBy::Policy));
    serving.stop().await;

    let serving = world.serve().await;
    assert_eq!(agent.knock(), said, "and the same one after a restart");
    let mut other = serving.agent(&listed);
    assert!(other.knock().starts_with("admitted"));
    let ended = serving.standing(SessionStanding::Allowed).into_iter().find(|known| known.id == view.id);
    serving.client().await.ask(&EndSession { session: ended.unwrap().id }).await.unwrap();
    assert_eq!(agent.knock(), "ended", "a word stands above the list");
    serving.stop().await;

    let text = std::fs::read_to_string(world.home().config()).unwrap();
    let unlisted = text.lines().filter(|line| !line.starts_with("allow")).collect::<Vec<_>>().join("\n");
    std::fs::write(world.home().config(), unlisted).unwrap();
    let serving = world.serve().await;
    assert_eq!((agent.knock(), other.knock()), ("ended".to_owned(), "waiting".to_owned()));
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_anything_can_not_be_listed() {
    let check = async |listed: &Path, reason: &str| {
        let world = World::new().await;
        world.configure(&allow(&[listed]));
        let Err(HostError::Config(problems)) = world.open().await else {
            panic!("{} was taken", listed.display());
        };
        let [problem] = problems.as_slice() else { panic!("{problems:?}") };
        let (line, field) = (problem.place.unwrap().line, problem.field.as_str());
        assert_eq!((line, field), (2, "sessions.allow[0]"));
        assert!(problem.what.contains(reason), "{problem}");
    };
    check(&PathBuf::from("/bin/sh").canonicalize().unwrap(), "runs whatever it is told to").await;
    check(&std::env::current_exe().unwrap(), "this program's own").await;
    let interpreters =
        ["python3", "perl", "bash", "node", "env", "busybox"].map(|name| Path::new("/usr/bin").join(name));
    for path in interpreters.iter().filter_map(|path| path.canonicalize().ok()) {
        check(&path, "runs whatever it is told to").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interpreter_under_a_digest_of_its_own_still_waits() {
    let world = World::new().await;
    // None of the installed ones: only its name tells.
    let python = other_program(world.folder.path(), "python3.99");
    world.configure(&allow(&[&python]));
    let serving = world.serve().await;
    let checked = serving.client().await.ask(&CheckConnections {}).await.unwrap();
    assert_eq!(checked.problems, []);
    assert_eq!(serving.agent(&python).knock(), "waiting");
    serving.stop().await;
}
