//! What logs in: a private key with or without a user certificate, a password, or the answers of
//! keyboard-interactive. Read once, before any connection, so that a secret that can't be used is told
//! apart from one that a server refuses.

use crate::guard::Guard;
use data_encoding::BASE64;
use proofport_core::secret::{SHORTEST_SECRET, Secret};
use proofport_core::time::UnixMillis;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::ssh_key::private::KeypairData;
use russh::keys::{Algorithm, Certificate, PrivateKey};
use std::str::from_utf8;
use std::sync::Arc;
use zeroize::Zeroizing;

/// How OpenSSH's own format begins and ends (PROTOCOL.key).
const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";

/// The secret, and how it logs in. It has no `Debug`.
pub enum SshInjection {
    /// A private key in OpenSSH's format: ed25519, ECDSA or RSA.
    Key {
        /// The file's text.
        key: Secret,
        /// What decrypts it, if it is encrypted.
        passphrase: Option<Secret>,
        /// The user certificate's line (`…-cert.pub`), if one goes with it. Not secret.
        certificate: Option<String>,
    },
    /// A password (RFC 4252 section 8).
    Password(Secret),
    /// The answer to every prompt of keyboard-interactive that does not echo (RFC 4256). A server that
    /// asks twice is not answered twice.
    KeyboardInteractive(Secret),
}

/// A checked credential, and the guard that recognises it in output. It has no `Debug`.
pub struct SshCredential {
    pub(super) login: Login,
    guard: Arc<Guard>,
}

/// What logs in.
pub(super) enum Login {
    Key { key: Box<PrivateKey>, certificate: Option<Box<Certificate>> },
    Password(Zeroizing<String>),
    KeyboardInteractive(Zeroizing<String>),
}

impl SshCredential {
    /// Reads the secret and builds its guard. Decrypting a key takes as long as its owner chose: run this
    /// where it may block.
    ///
    /// # Errors
    /// When the secret is of the wrong format, its passphrase is wrong, or its certificate belongs to
    /// another key. No byte of it is repeated.
    pub fn new(injection: &SshInjection) -> Result<Self, InvalidSshCredential> {
        let (login, secrets) = match injection {
            SshInjection::Key { key, passphrase, certificate } => {
                let (key, mut secrets) = read_key(key, passphrase.as_ref())?;
                secrets.extend(passphrase.as_ref().map(Secret::duplicate));
                let certificate =
                    certificate.as_deref().map(|text| read_certificate(text, &key)).transpose()?;
                (Login::Key { key: Box::new(key), certificate }, secrets)
            }
            SshInjection::Password(password) => {
                (Login::Password(text(password)?), vec![password.duplicate()])
            }
            SshInjection::KeyboardInteractive(answer) => {
                (Login::KeyboardInteractive(text(answer)?), vec![answer.duplicate()])
            }
        };
        let secrets: Vec<&Secret> = secrets.iter().collect();
        let guard = Guard::new(&secrets).map_err(|_| InvalidSshCredential::TooLong)?;
        Ok(Self { login, guard: Arc::new(guard) })
    }

    /// What recognises this credential in output.
    #[must_use]
    pub fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }

    /// When the user certificate begins and ends to be valid, in seconds since 1970; none without one.
    #[must_use]
    pub fn validity(&self) -> Option<(u64, u64)> {
        match &self.login {
            Login::Key { certificate: Some(certificate), .. } => {
                Some((certificate.valid_after(), certificate.valid_before()))
            }
            Login::Key { certificate: None, .. } | Login::Password(_) | Login::KeyboardInteractive(_) => None,
        }
    }

    /// Whether the user certificate, if there is one, is valid at this time by this host's clock.
    ///
    /// # Errors
    /// When it is not yet or no more.
    pub fn check_time(&self, now: UnixMillis) -> Result<(), InvalidSshCredential> {
        let now = now.0 / 1000;
        match self.validity() {
            Some((from, _)) if now < from => Err(InvalidSshCredential::NotYetValid),
            Some((_, until)) if now >= until => Err(InvalidSshCredential::Expired),
            Some(_) | None => Ok(()),
        }
    }
}

fn text(secret: &Secret) -> Result<Zeroizing<String>, InvalidSshCredential> {
    if secret.expose().len() < SHORTEST_SECRET {
        return Err(InvalidSshCredential::TooShort);
    }
    match from_utf8(secret.expose()) {
        Ok(text) if !text.contains(['\0', '\n', '\r']) => Ok(Zeroizing::new(text.to_owned())),
        Ok(_) | Err(_) => Err(InvalidSshCredential::NotText),
    }
}

/// The key, and what of it a remote must not show: its private part, and the file's own body.
fn read_key(
    file: &Secret,
    passphrase: Option<&Secret>,
) -> Result<(PrivateKey, Vec<Secret>), InvalidSshCredential> {
    let text = from_utf8(file.expose()).map_err(|_| InvalidSshCredential::NotOpenSsh)?.trim();
    let body = text.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    let body = body.ok_or(InvalidSshCredential::NotOpenSsh)?;
    let key = PrivateKey::from_openssh(text.as_bytes()).map_err(|_| InvalidSshCredential::Unreadable)?;
    let mut secrets = Vec::new();
    let key = match (key.is_encrypted(), passphrase) {
        (false, _) => key,
        (true, None) => return Err(InvalidSshCredential::PassphraseMissing),
        (true, Some(passphrase)) => {
            // Encrypted or not, the file is a credential.
            secrets.extend(ciphertext(&key).or_else(|| whole(body)));
            key.decrypt(passphrase.expose()).map_err(|_| InvalidSshCredential::PassphraseWrong)?
        }
    };
    secrets.extend(private_part(key.key_data())?);
    Ok((key, secrets))
}

fn ciphertext(key: &PrivateKey) -> Option<Secret> {
    key.key_data().encrypted().map(|bytes| Secret::new(bytes.to_vec()))
}

fn whole(body: &str) -> Option<Secret> {
    let compact: Zeroizing<Vec<u8>> =
        Zeroizing::new(body.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect());
    BASE64.decode(&compact).ok().map(Secret::new)
}

/// The numbers that must stay private, each on its own.
#[allow(clippy::wildcard_enum_match_arm)]
fn private_part(key: &KeypairData) -> Result<Vec<Secret>, InvalidSshCredential> {
    let secret = |bytes: &[u8]| Secret::new(bytes.to_vec());
    match key {
        KeypairData::Ed25519(pair) => Ok(vec![Secret::new(pair.private.to_bytes().to_vec())]),
        KeypairData::Ecdsa(pair) => Ok(vec![secret(pair.private_key_bytes())]),
        KeypairData::Rsa(pair) => {
            let private = pair.private();
            let numbers = [private.d(), private.p(), private.q()];
            Ok(numbers.iter().filter_map(|number| number.as_positive_bytes()).map(secret).collect())
        }
        // DSA, keys on a token, and whatever comes next.
        _ => Err(InvalidSshCredential::Kind),
    }
}

fn read_certificate(text: &str, key: &PrivateKey) -> Result<Box<Certificate>, InvalidSshCredential> {
    let certificate =
        Certificate::from_openssh(text.trim()).map_err(|_| InvalidSshCredential::Certificate)?;
    if certificate.cert_type() != CertType::User {
        return Err(InvalidSshCredential::NotForUsers);
    }
    if certificate.public_key() != key.public_key().key_data() {
        return Err(InvalidSshCredential::OtherKey);
    }
    Ok(Box::new(certificate))
}

/// Whether a signature of this key names its hash.
pub(super) const fn is_rsa(algorithm: &Algorithm) -> bool {
    matches!(algorithm, Algorithm::Rsa { .. })
}

/// Why a secret can't log in anywhere. No byte of it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSshCredential {
    /// Another format.
    #[error("not a private key in OpenSSH's format; `ssh-keygen -p -f FILE` rewrites an older one")]
    NotOpenSsh,
    /// Damaged.
    #[error("the private key's file is damaged")]
    Unreadable,
    /// A kind of key that is not supported.
    #[error("this kind of key is not supported: use ed25519, ECDSA or RSA")]
    Kind,
    /// It is encrypted.
    #[error("the private key is encrypted and no passphrase is there for it")]
    PassphraseMissing,
    /// The passphrase does not decrypt it.
    #[error("the passphrase does not decrypt the private key")]
    PassphraseWrong,
    /// The certificate can't be read.
    #[error("the user certificate can't be read: it is the line of a `-cert.pub` file")]
    Certificate,
    /// A host's certificate.
    #[error("the certificate is one for hosts")]
    NotForUsers,
    /// A certificate of another key.
    #[error("the user certificate belongs to another key")]
    OtherKey,
    /// The certificate's time has not begun.
    #[error("the user certificate is not valid yet")]
    NotYetValid,
    /// The certificate's time is over.
    #[error("the user certificate has expired")]
    Expired,
    /// Shorter than [`SHORTEST_SECRET`].
    #[error("the secret is shorter than {SHORTEST_SECRET} bytes, too short to be recognised in answers")]
    TooShort,
    /// Too long to be recognised in answers.
    #[error("the secret is too long to be recognised in answers")]
    TooLong,
    /// Not a text.
    #[error("the password is no text, or has a line end or a NUL in it")]
    NotText,
}
