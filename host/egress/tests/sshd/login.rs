//! Who logs in, through what, and with which environment.

use crate::server::{Sshd, Workshop};
use crate::world::{World, exec, key_credential, options, pinned, sh, target};
use proofport_core::contract::Stage;
use proofport_core::evidence::{Cause, Hop};
use proofport_core::secret::Secret;
use proofport_core::ssh::SshHost;
use proofport_egress::AddressPolicy;
use proofport_egress::ssh::{InvalidSshCredential, JumpHost, SshCredential, SshInjection};
use std::sync::Arc;

const KINDS: [(&str, &[&str]); 6] = [
    ("ed25519", &["-t", "ed25519"]),
    ("rsa2048", &["-t", "rsa", "-b", "2048"]),
    ("rsa3072", &["-t", "rsa", "-b", "3072"]),
    ("ecdsa256", &["-t", "ecdsa", "-b", "256"]),
    ("ecdsa384", &["-t", "ecdsa", "-b", "384"]),
    ("ecdsa521", &["-t", "ecdsa", "-b", "521"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_key_logs_in_plain_encrypted_or_certified() {
    let shop = Workshop::new();
    let authority = shop.key("ca", &["-t", "ed25519"], "");
    let user = crate::world::user();
    let mut authorized = format!("cert-authority {authority}");
    for (name, kind) in KINDS {
        authorized.push_str(&shop.key(name, kind, ""));
        authorized.push_str(&shop.key(&format!("{name}-locked"), kind, "correct horse"));
        shop.key(&format!("{name}-signed"), kind, "");
        shop.keygen(&[
            "-q",
            "-s",
            "ca",
            "-I",
            "x",
            "-n",
            &user,
            "-V",
            "-1h:+1h",
            &format!("{name}-signed.pub"),
        ]);
    }
    let sshd = Sshd::start(&shop, "main", &authorized, "");
    let target = target(sshd.port, pinned(&sshd.host_key));
    for (name, _) in KINDS {
        let certificate = shop.read(&format!("{name}-signed-cert.pub"));
        for credential in [
            key_credential(&shop, name, None, None),
            key_credential(&shop, &format!("{name}-locked"), Some("correct horse"), None),
            key_credential(&shop, &format!("{name}-signed"), None, Some(certificate)),
        ] {
            let ran = exec(&target, sh("exit 0"), credential, &options(), None).await;
            assert_eq!(ran.cause(), None, "{name}: {:?}", ran.result.err());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_credential_is_refused_once() {
    let shop = Workshop::new();
    let authority = shop.key("ca", &["-t", "ed25519"], "");
    let user = crate::world::user();
    for (name, span) in [("expired", "-2h:-1h"), ("early", "+1h:+2h"), ("foreign", "-1h:+1h")] {
        shop.key(name, &["-t", "ed25519"], "");
        let principal = if name == "foreign" { "somebody-else" } else { &user };
        shop.keygen(&["-q", "-s", "ca", "-I", "x", "-n", principal, "-V", span, &format!("{name}.pub")]);
    }
    shop.key("stranger", &["-t", "ed25519"], "");
    shop.key("stranger_rsa", &["-t", "rsa", "-b", "2048"], "");
    let sshd = Sshd::start(&shop, "main", &format!("cert-authority {authority}"), "");
    let target = target(sshd.port, pinned(&sshd.host_key));
    let certified =
        |name: &str| key_credential(&shop, name, None, Some(shop.read(&format!("{name}-cert.pub"))));
    let password = SshCredential::new(&SshInjection::Password(Secret::new(b"not the password".to_vec())));
    for (name, credential, expected) in [
        ("stranger", key_credential(&shop, "stranger", None, None), Cause::LoginRefused),
        ("stranger_rsa", key_credential(&shop, "stranger_rsa", None, None), Cause::LoginRefused),
        ("expired", certified("expired"), Cause::CredentialExpired),
        ("early", certified("early"), Cause::CredentialNotYetValid),
        ("foreign", certified("foreign"), Cause::LoginRefused),
        ("password", Arc::new(password.unwrap()), Cause::LoginRefused),
    ] {
        let ran = exec(&target, sh("exit 0"), credential, &options(), None).await;
        assert_eq!(ran.cause(), Some(expected), "{name}: {:?}", ran.attempts);
        assert_eq!(ran.attempts.len(), 1, "{name}: tried again");
        assert_eq!(ran.attempts[0].stage, Stage::UserAuth, "{name}");
    }
}

#[test]
fn a_secret_that_cannot_log_in_is_told_apart() {
    let shop = Workshop::new();
    shop.key("plain", &["-t", "ed25519"], "");
    shop.key("locked", &["-t", "ed25519"], "correct horse");
    shop.key("ca", &["-t", "ed25519"], "");
    shop.key("old", &["-t", "rsa", "-b", "2048", "-m", "PEM"], "");
    shop.keygen(&["-q", "-s", "ca", "-I", "x", "-n", "a", "plain.pub"]);
    let of_user = shop.read("plain-cert.pub");
    shop.keygen(&["-q", "-s", "ca", "-I", "x", "-h", "-n", "a", "plain.pub"]);
    let of_host = shop.read("plain-cert.pub");
    let check = |key: &str, passphrase: Option<&str>, certificate: Option<&str>, expected| {
        let injection = SshInjection::Key {
            key: Secret::new(key.as_bytes().to_vec()),
            passphrase: passphrase.map(|text| Secret::new(text.as_bytes().to_vec())),
            certificate: certificate.map(str::to_owned),
        };
        assert_eq!(SshCredential::new(&injection).err(), expected);
    };
    use InvalidSshCredential as Invalid;
    let (plain, locked) = (shop.read("plain"), shop.read("locked"));
    check(&plain, None, None, None);
    check(&plain, None, Some(&of_user), None);
    check(&locked, Some("correct horse"), None, None);
    check(&locked, None, None, Some(Invalid::PassphraseMissing));
    check(&locked, Some("wrong horse"), None, Some(Invalid::PassphraseWrong));
    check(&locked, Some("correct horse"), Some(&of_user), Some(Invalid::OtherKey));
    check(&plain, None, Some(&of_host), Some(Invalid::NotForUsers));
    check(&plain, None, Some("nonsense"), Some(Invalid::Certificate));
    check(&shop.read("old"), None, None, Some(Invalid::NotOpenSsh));
    check(&shop.read("plain.pub"), None, None, Some(Invalid::NotOpenSsh));
    check("", None, None, Some(Invalid::NotOpenSsh));
    let damaged = plain.replacen("AAAA", "BBBB", 1);
    check(&damaged, None, None, Some(Invalid::Unreadable));
    let password =
        |text: &[u8]| SshCredential::new(&SshInjection::Password(Secret::new(text.to_vec()))).err();
    assert_eq!(password(b"long enough"), None);
    assert_eq!(password(b"short"), Some(Invalid::TooShort));
    assert_eq!(password(b"with\na line end"), Some(Invalid::NotText));
    assert_eq!(password(b"\xff\xfe no text"), Some(Invalid::NotText));
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_are_set_or_nothing_runs() {
    let world = World::new();
    let with = |name: &str, value: &str| {
        let mut request = sh("printf %s \"$PROOF_A\"");
        request.environment = vec![(name.to_owned(), value.to_owned())];
        request
    };
    let ran = world.run(with("PROOF_A", "it's $HOME\n")).await;
    assert_eq!(ran.exchange().response.as_ref().unwrap().stdout, b"it's $HOME\n");
    assert_eq!(ran.attempts[0].stage, Stage::Env);
    let passed: Vec<Stage> = ran.attempts[0].timings.iter().map(|timing| timing.stage).collect();
    let before = [Stage::AddressCheck, Stage::TcpConnect, Stage::Transport, Stage::HostVerified];
    assert_eq!(passed, [&before[..], &[Stage::UserAuth, Stage::ChannelOpen, Stage::Env]].concat());
    let ran = world.run(with("OTHER", "x")).await;
    assert_eq!(ran.cause(), Some(Cause::EnvironmentRefused));
    assert_eq!((ran.attempts.len(), ran.attempts[0].stage), (1, Stage::Env));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_key_does_not_come_back_in_output() {
    let shop = Workshop::new();
    let mut authorized = String::new();
    for (name, kind) in KINDS {
        authorized.push_str(&shop.key(name, kind, ""));
        authorized.push_str(&shop.key(&format!("{name}-locked"), kind, "correct horse"));
    }
    let sshd = Sshd::start(&shop, "main", &authorized, "");
    let target = target(sshd.port, pinned(&sshd.host_key));
    for (name, _) in KINDS {
        for (file, passphrase) in [(name.to_owned(), None), (format!("{name}-locked"), Some("correct horse"))]
        {
            let credential = key_credential(&shop, &file, passphrase, None);
            let path = shop.path(&file);
            for (script, withheld) in [
                (format!("cat '{}'", path.display()), true),
                (format!("sed 's/^/  /' '{}' >&2", path.display()), true),
                (format!("cat '{}.pub'", path.display()), false),
            ] {
                let ran = exec(&target, sh(&script), Arc::clone(&credential), &options(), None).await;
                let exchange = ran.exchange();
                assert_eq!(exchange.evidence.withheld, withheld, "{script}: {:?}", exchange.evidence);
                assert_eq!(exchange.response.is_none(), withheld, "{script}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jump_host_carries_what_it_cannot_read() {
    let world = World::new();
    let jump_public = world.shop.key("jumper", &["-t", "ed25519"], "");
    let jump_sshd = Sshd::start(&world.shop, "jump", &jump_public, "");
    let jump = |keys, credential| JumpHost {
        host: SshHost::parse(&format!("{}@127.0.0.1:{}", crate::world::user(), jump_sshd.port)).unwrap(),
        host_keys: keys,
        addresses: crate::world::loopback(),
        credential,
        resolves: false,
    };
    let jumper = || key_credential(&world.shop, "jumper", None, None);
    let jump_keys = || pinned(&jump_sshd.host_key);
    let mut through = world.target.clone();
    through.jump = Some(jump(jump_keys(), jumper()));
    let ran = exec(&through, sh("echo there"), Arc::clone(&world.credential), &options(), None).await;
    assert_eq!(ran.exchange().response.as_ref().unwrap().stdout, b"there\n");
    let hops: Vec<_> = ran.attempts.iter().map(|attempt| (attempt.n, attempt.hop, attempt.stage)).collect();
    assert_eq!(hops, [(1, Hop::Direct, Stage::UserAuth), (2, Hop::Tunnel, Stage::ChannelOpen)]);

    // Where the jump host resolves, nothing of the target is looked up or checked here.
    let mut named = through.clone();
    named.host = SshHost::parse(&format!("{}@localhost:{}", crate::world::user(), world.sshd.port)).unwrap();
    named.addresses = AddressPolicy::default();
    named.jump.as_mut().unwrap().resolves = true;
    let ran = exec(&named, sh("echo there"), Arc::clone(&world.credential), &options(), None).await;
    assert_eq!(ran.cause(), None, "{:?}", ran.attempts);
    assert_eq!(ran.attempts[1].address, None);

    // Each end is verified by keys of its own, and each has its own credential.
    let mut swapped = through.clone();
    swapped.jump = Some(jump(pinned(&world.sshd.host_key), jumper()));
    let ran = exec(&swapped, sh("exit 0"), Arc::clone(&world.credential), &options(), None).await;
    assert_eq!((ran.cause(), ran.attempts.len()), (Some(Cause::HostKeyUnknown), 1));
    let mut swapped = through.clone();
    swapped.host_keys = jump_keys();
    let ran = exec(&swapped, sh("exit 0"), Arc::clone(&world.credential), &options(), None).await;
    assert_eq!((ran.cause(), ran.attempts.len()), (Some(Cause::HostKeyUnknown), 2));
    let mut refused = through.clone();
    refused.jump = Some(jump(jump_keys(), Arc::clone(&world.credential)));
    let ran = exec(&refused, sh("exit 0"), Arc::clone(&world.credential), &options(), None).await;
    assert_eq!((ran.cause(), ran.attempts.len()), (Some(Cause::LoginRefused), 1));
    // The target's address has its own policy, also where somebody else dials it.
    let mut denied = through.clone();
    denied.addresses = AddressPolicy::default();
    let ran = exec(&denied, sh("exit 0"), Arc::clone(&world.credential), &options(), None).await;
    assert_eq!(ran.cause(), Some(Cause::AddressDenied));
}
