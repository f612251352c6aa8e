//! User authentication (RFC 4252). One credential, tried once: a server that refuses it is not asked
//! again, and nothing else is tried in its place.

use super::credential::{Login, SshCredential, is_rsa};
use super::handler::Watcher;
use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse as Reply};
use russh::keys::agent::AgentIdentity;
use russh::keys::signature::Signer as _;
use russh::keys::ssh_encoding::Encode as _;
use russh::keys::ssh_key::private::KeypairData;
use russh::keys::{HashAlg, PrivateKey};

/// The most rounds of prompts, and the most prompts in one.
const MOST_ROUNDS: usize = 8;
const MOST_PROMPTS: usize = 8;

/// What became of a login.
#[derive(Debug)]
pub(super) enum LoginFailure {
    /// The server said no.
    Refused {
        /// Whether this credential was right and another one is wanted, too.
        partial: bool,
        /// Whether the server surely said it. russh calls a lost connection a refusal, too, one that
        /// names no other method.
        answered: bool,
    },
    /// The server asked for more than a secret can answer.
    Prompts,
    /// The key could not sign.
    Unsigned,
    /// The connection was lost.
    Lost(russh::Error),
}

impl From<russh::Error> for LoginFailure {
    fn from(error: russh::Error) -> Self {
        Self::Lost(error)
    }
}

impl From<russh::SendError> for LoginFailure {
    fn from(_: russh::SendError) -> Self {
        Self::Lost(russh::Error::SendError)
    }
}

/// Logs in.
pub(super) async fn login(
    handle: &mut Handle<Watcher>,
    user: &str,
    credential: &SshCredential,
) -> Result<(), LoginFailure> {
    let result = match &credential.login {
        Login::Key { key, certificate } => {
            let hash = if is_rsa(&key.algorithm()) { Some(rsa_hash(handle).await?) } else { None };
            let mut signer = KeySigner { key, hash };
            match certificate {
                Some(certificate) => {
                    let certificate = certificate.as_ref().clone();
                    handle.authenticate_certificate_with(user, certificate, hash, &mut signer).await?
                }
                None => {
                    let public = key.public_key().clone();
                    handle.authenticate_publickey_with(user, public, hash, &mut signer).await?
                }
            }
        }
        Login::Password(password) => handle.authenticate_password(user, password.as_str()).await?,
        Login::KeyboardInteractive(answer) => return interact(handle, user, answer).await,
    };
    match result {
        AuthResult::Success => Ok(()),
        AuthResult::Failure { partial_success, remaining_methods } => {
            Err(LoginFailure::Refused { partial: partial_success, answered: !remaining_methods.is_empty() })
        }
    }
}

/// SHA-512 or SHA-256 (RFC 8332), and never SHA-1, whatever the server would take.
async fn rsa_hash(handle: &Handle<Watcher>) -> Result<HashAlg, LoginFailure> {
    Ok(match handle.best_supported_rsa_hash().await? {
        Some(Some(HashAlg::Sha256)) => HashAlg::Sha256,
        Some(_) | None => HashAlg::Sha512,
    })
}

/// Answers prompts. One that echoes is for something that is no secret, and the secret is given once.
async fn interact(handle: &mut Handle<Watcher>, user: &str, answer: &str) -> Result<(), LoginFailure> {
    let mut reply = handle.authenticate_keyboard_interactive_start(user, None).await?;
    let mut given = false;
    for _ in 0..MOST_ROUNDS {
        let prompts = match reply {
            Reply::Success => return Ok(()),
            Reply::Failure { partial_success, .. } => {
                return Err(LoginFailure::Refused { partial: partial_success, answered: true });
            }
            Reply::InfoRequest { prompts, .. } => prompts,
        };
        if prompts.len() > MOST_PROMPTS {
            return Err(LoginFailure::Prompts);
        }
        let mut answers = Vec::with_capacity(prompts.len());
        for prompt in &prompts {
            if prompt.echo || given {
                return Err(LoginFailure::Prompts);
            }
            given = true;
            answers.push(answer.to_owned());
        }
        reply = handle.authenticate_keyboard_interactive_respond(answers).await?;
    }
    Err(LoginFailure::Prompts)
}

/// Signs with a key that stays here: russh gets signatures, and neither the key nor a copy.
struct KeySigner<'a> {
    key: &'a PrivateKey,
    hash: Option<HashAlg>,
}

impl russh::Signer for KeySigner<'_> {
    type Error = LoginFailure;

    async fn auth_sign(
        &mut self,
        _: &AgentIdentity,
        _: Option<HashAlg>,
        mut to_sign: Vec<u8>,
    ) -> Result<Vec<u8>, LoginFailure> {
        let keys = self.key.key_data();
        let signature = if let KeypairData::Rsa(pair) = keys {
            (pair, self.hash).try_sign(&to_sign)
        } else {
            keys.try_sign(&to_sign)
        };
        let encoded =
            signature.ok().and_then(|signature| signature.encode_vec().ok()).ok_or(LoginFailure::Unsigned)?;
        encoded.encode(&mut to_sign).map_err(|_| LoginFailure::Unsigned)?;
        Ok(to_sign)
    }
}
