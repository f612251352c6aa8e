//! Who the host is.

use crate::server::{Sshd, Workshop};
use crate::world::{World, exec, key_credential, now, options, pinned, sh, target};
use proofport_core::contract::Stage;
use proofport_core::evidence::Cause;
use proofport_core::time::UnixMillis;
use proofport_egress::ssh::{HostKeys, SshEgress, SshOutgoing};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread")]
async fn only_known_keys_are_believed() {
    let world = World::new();
    let other = world.shop.key("other", &["-t", "ed25519"], "");
    let rsa = world.shop.key("other_rsa", &["-t", "rsa", "-b", "2048"], "");
    let host = &world.target.host;
    let key = &world.sshd.host_key;
    let port = world.sshd.port;
    let known = |text: String| {
        let mut keys = HostKeys::none();
        keys.import_known_hosts(&text, host).unwrap();
        keys
    };
    let fingerprint = {
        let out = std::process::Command::new("/usr/bin/ssh-keygen")
            .args(["-l", "-f"])
            .arg(world.shop.path("main_host.pub"))
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap().split(' ').nth(1).unwrap().to_owned()
    };
    let both = {
        let mut keys = pinned(&other);
        keys.pin(key).unwrap();
        keys
    };
    let revoked = {
        let mut keys = pinned(key);
        keys.revoke(key).unwrap();
        keys
    };
    // Hashed by ssh-keygen itself.
    world.shop.write("known", &format!("[127.0.0.1]:{port} {key}"));
    world.shop.keygen(&["-q", "-H", "-f", "known"]);
    let hashed = world.shop.read("known");
    assert!(hashed.starts_with("|1|"));
    let unknown = Some(Cause::HostKeyUnknown);
    for (name, keys, expected) in [
        ("the key", pinned(key), None),
        ("its fingerprint", pinned(&fingerprint), None),
        ("one of two", both, None),
        ("known_hosts", known(format!("[127.0.0.1]:{port} {key}")), None),
        ("hashed", known(hashed), None),
        ("known_hosts without the port", known(format!("127.0.0.1 {key}")), unknown),
        ("nothing", HostKeys::none(), unknown),
        ("another key", pinned(&other), unknown),
        ("another kind", pinned(&rsa), unknown),
        ("revoked", revoked, Some(Cause::HostKeyRevoked)),
        (
            "revoked in known_hosts",
            known(format!("[127.0.0.1]:{port} {key}\n@revoked * {key}")),
            Some(Cause::HostKeyRevoked),
        ),
    ] {
        let target = target(port, keys);
        let ran = exec(&target, sh("exit 0"), Arc::clone(&world.credential), &options(), None).await;
        assert_eq!(ran.cause(), expected, "{name}: {:?}", ran.attempts);
        if expected.is_some() {
            assert_eq!(ran.attempts.len(), 1, "{name}: tried again");
            assert_eq!(ran.attempts[0].stage, Stage::HostVerified, "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_speaks_for_hosts() {
    let shop = Workshop::new();
    let public = shop.key("user", &["-t", "ed25519"], "");
    let authority = shop.key("ca", &["-t", "ed25519"], "");
    let stranger = shop.key("stranger", &["-t", "ed25519"], "");
    let credential = key_credential(&shop, "user", None, None);
    let year = 365 * 24 * 3600 * 1000;
    let valid = Some("127.0.0.1");
    let invalid = Some(Cause::HostCertificateInvalid);
    let here = now();
    // (signed by, of a user, principals, validity, options, trusted authority, time) → cause
    for (case, (by, user, names, span, more, trusted, at, expected)) in [
        ("ca", false, valid, "-1h:+1h", None, &authority, here, None),
        ("stranger", false, valid, "-1h:+1h", None, &authority, here, invalid),
        ("ca", true, valid, "-1h:+1h", None, &authority, here, invalid),
        ("ca", false, Some("host.example"), "-1h:+1h", None, &authority, here, invalid),
        ("ca", false, None, "-1h:+1h", None, &authority, here, invalid),
        ("ca", false, valid, "-2h:-1h", None, &authority, here, invalid),
        ("ca", false, valid, "-1h:+1h", None, &authority, UnixMillis(here.0 + year), invalid),
        ("ca", false, valid, "-1h:+1h", None, &authority, UnixMillis(here.0 - year), invalid),
        ("ca", false, valid, "-1h:+1h", Some("critical:other=x"), &authority, here, invalid),
        ("ca", false, valid, "-1h:+1h", None, &stranger, here, invalid),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("case{case}");
        let certificate =
            format!("HostCertificate {}", shop.path(&format!("{name}_host-cert.pub")).display());
        // The server reads it when it starts: the key first, then the certificate, then the server.
        shop.key(&format!("{name}_host"), &["-t", "ed25519"], "");
        let mut arguments = vec!["-q", "-s", by, "-I", "test", "-V", span];
        if !user {
            arguments.push("-h");
        }
        if let Some(names) = names {
            arguments.extend(["-n", names]);
        }
        if let Some(more) = more {
            arguments.extend(["-O", more]);
        }
        let public_file = format!("{name}_host.pub");
        arguments.push(&public_file);
        shop.keygen(&arguments);
        let sshd = Sshd::with_host_key(&shop, &name, &public, &certificate);
        let mut keys = HostKeys::none();
        keys.trust_authority(trusted).unwrap();
        let target = target(sshd.port, keys);
        let outgoing = SshOutgoing::prepare(&sh("exit 0"), Arc::clone(&credential)).unwrap();
        let setup = SshEgress::new().connect(&target, outgoing, at, 1).await;
        let got = setup.result.as_ref().err().map(|failure| failure.cause);
        assert_eq!(got, expected, "{arguments:?}: {:?}", setup.result.err());
    }
}
