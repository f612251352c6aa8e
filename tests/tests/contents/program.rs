//! The program hands a stored content over: whole, behind a part of it, to a stream.

use crate::{Framing, bytes, home, path};
use proofport_journal::CHUNK_BYTES;
use proofport_tests::peer::Act;
use proofport_tests::program::program;
use proofport_tests::rig::{PASSPHRASE, Rig};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The program on a home with one content.
struct Program {
    program: PathBuf,
    rig: Rig,
    passphrase: PathBuf,
}

impl Program {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("PROOFPORT_HOME", self.rig.home()).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn unlocked(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.arg("--passphrase-file").arg(&self.passphrase);
        command
    }
}

/// What the program did.
#[track_caller]
fn check(command: &mut Command, status: i32, remark: &str) -> Output {
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{out}\n{err}");
    assert!(err.contains(remark) || out.contains(remark), "no {remark:?} in\n{out}\n{err}");
    output
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_is_handed_over() {
    const LENGTH: usize = 2 * CHUNK_BYTES + 777;
    let content = bytes(LENGTH, 11);
    let peer = Framing::Length.peer(&[(content.clone(), None)], &Act::Close);
    let rig = home(&peer, "").await;
    let folder = tempfile::tempdir().unwrap();
    let passphrase = folder.path().join("passphrase");
    std::fs::write(&passphrase, format!("{PASSPHRASE}\n")).unwrap();
    let program = tokio::task::block_in_place(|| Program { program: program(), rig, passphrase });
    let call = ["call", "c.export", "--json", "--input", &path("program")];
    let told = check(&mut program.unlocked(&call), 0, "").stdout;
    let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
    let id = told["request_id"].as_str().unwrap().to_owned();
    let file = folder.path().join("content");
    let name = file.to_str().unwrap();
    let fetch = ["result", &id, "--content", name];

    check(&mut program.unlocked(&fetch), 0, "whole content");
    assert!(std::fs::read(&file).unwrap() == content);
    // What the file holds already stays, and the rest comes behind it.
    for held in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 5, LENGTH - 1, LENGTH] {
        std::fs::write(&file, &content[..held]).unwrap();
        let remark = if held == 0 { "whole content".to_owned() } else { format!("held {held} of them") };
        check(&mut program.unlocked(&fetch), 0, &remark);
        assert!(std::fs::read(&file).unwrap() == content, "behind {held}");
    }
    // A file that holds something else is left as it is.
    let mut others = [content[..CHUNK_BYTES + 5].to_vec(), [&content[..], b"x"].concat(), vec![b'x'; 10]];
    others[0][CHUNK_BYTES + 2] ^= 1;
    for other in others {
        std::fs::write(&file, &other).unwrap();
        check(&mut program.unlocked(&fetch), 2, "holds other bytes");
        assert!(std::fs::read(&file).unwrap() == other);
    }
    // Standard output has the bytes and nothing else.
    let stream = ["result", &id, "--content", "-"];
    let output = check(&mut program.unlocked(&stream), 0, "handed over whole");
    assert!(output.stdout == content);
    // A reader that goes away, and a disk that is full.
    let closed = Stdio::from(std::io::pipe().unwrap().1);
    check(program.unlocked(&stream).stdout(closed), 15, "incomplete: ");
    let full = Stdio::from(std::fs::File::create("/dev/full").unwrap());
    check(program.unlocked(&stream).stdout(full), 15, "0 of");
    // Nothing is handed over without the passphrase, or of what is not there.
    let output = check(&mut program.command(&stream), 10, "VAULT_LOCKED");
    assert!(output.stdout.is_empty());
    let stranger = ["result", "act_no4oiufxccxavr7gd46mlsjckm", "--content", "-"];
    let output = check(&mut program.unlocked(&stranger), 10, "NO_SUCH_INVOCATION");
    assert!(output.stdout.is_empty());
    assert_eq!(peer.effects(), 1, "a content is fetched from the store");
}
