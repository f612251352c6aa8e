//! What can be written on the command line. Everything is parsed here, once, into validated types.

mod audit;

pub(crate) use audit::{Audit, AuditExport, AuditRemove, AuditShow, AuditVerify, By};
use clap::{Args, Parser, Subcommand};
use proofport_core::attestation::{AttestedOutcome, AttestedReason};
use proofport_core::batch::Which;
use proofport_core::contract::InjectionMode;
use proofport_core::digest::Digest;
use proofport_core::id::{Name, OperationName, RequestId};
use proofport_core::session::SessionId;
use proofport_gateway::Destination;
use std::path::PathBuf;

const LONG_ABOUT: &str = "\
Calls remote systems on behalf of agents and reports only what its records prove.

A sandboxed connector says how an operation is spelled; this host alone holds the secrets, opens the \
connections and keeps the journal. When an answer is lost, the outcome is `unknown`, never a guess.";

const AFTER_HELP: &str = "\
Start here:
  proofport demo                         the whole story, against a payment service that misbehaves
  proofport init                         make a home with a vault
  proofport connector install FILE       review a connector and approve exactly that module
  proofport secret set NAME --for https://api.example.com --mode http_bearer < key.txt
  proofport connection check             check proofport.toml
  proofport call shop.create_charge --input '{\"amount\": 1000, \"currency\": \"eur\"}'

The passphrase is taken from --passphrase-file, else from PROOFPORT_PASSPHRASE, else it is asked for.
PROOFPORT_LOG=debug writes more of this program's log to standard error; failures are there anyway.";

const SERVE_HELP: &str = "\
It listens at agent.sock in the home, and for HTTP where `[serve]` in proofport.toml says so. An agent is let
in by an operator's word or by a token. The passphrase is needed once, at the start.

SIGTERM or Ctrl-C: nothing new is taken on, what is under way is waited for, at the latest until its deadline,
and its answers go out. A second one leaves at once: what was under way is then unknown, and on record.

With --json one line on standard output says where it listens, once it does.

Exit status: 0 stopped, 1 it could not serve, 2 a mistake in proofport.toml, 12 left while something was
under way.";

const CALL_HELP: &str = "\
Examples:
  proofport call shop.create_charge --input '{\"amount\": 1000, \"currency\": \"eur\"}'
  proofport call shop.create_charge --input @charge.json --call-key order-1712
  jq -n '{id: \"ch_1\"}' | proofport call shop.get_charge --input - --json

Calling a write again with the same input meets the first call and sends nothing. To do the same thing
on purpose once more, give a new --call-key.

Exit status: 0 ok, 2 usage, 10 not attempted, 11 rejected, 12 unknown, 13 committed but not ok,
14 still running, 15 result undelivered or unavailable, 70 internal.";

const RESULT_HELP: &str = "\
Examples:
  proofport result ACT --json
  proofport result ACT --content export.tar
  proofport result ACT --content - | tar -x

A FILE that holds the beginning of the content is verified and completed; one with other bytes is
left as it is. With -, the answer itself is not printed.

Exit status 15: the content is incomplete; the same command with FILE goes on from there.";

const SECRET_SET_HELP: &str = "\
Examples:
  proofport secret set shop-key --for https://api.example.com --mode http_bearer < key.txt
  proofport secret set web-key --for ssh://web-1.example.com --mode ssh_key < ~/.ssh/id_ed25519
  pass show shop/key | proofport secret set shop-key --for https://api.example.com --mode http_bearer

The value is read from standard input, never from the command line; one newline at its end is left out.
It is not shown again.";

const TOKEN_HELP: &str = "\
Examples:
  proofport session token mailer > mailer.token
  curl -H \"Authorization: Bearer $(cat mailer.token)\" http://127.0.0.1:7433/v1/operations

An agent has one token at a time. It is good until `proofport session end`, over restarts too. What is kept is \
its digest, so that nobody can show it again.";

const APPROVE_HELP: &str = "\
Examples:
  proofport approvals
  proofport approve ACT
  proofport approve ACT --minutes 30

What is shown is what is sent: the word is about the request's fingerprint, and what has changed since (its
connector, its targets, its credential's version) is not sent. It is recorded and answered at once, and the
work goes on after. Without --once, --session or --minutes it reaches as far as the operation's policy says.";

const RETRY_HELP: &str = "\
An unknown call is sent once more with its own bytes, key and credential, where its contract makes a second
arrival harmless. Of a batch that was answered, those children go out whose own entries permit it, as a call
of its own with an id of its own; the record of the first stays as it is. Asked again, it answers with that call
and sends nothing.";

const ATTEST_HELP: &str = "\
Examples:
  proofport unknowns
  proofport attest ACT --outcome committed --reason 'the dashboard shows charge ch_1, made at 12:03 UTC'
  proofport attest ACT --outcome rejected --reason 'not in the ledger export of 2026-05-02, asked support'
  proofport attest ACT --child order-17 --outcome committed --reason 'it is in the queue'

Look at the remote first: what you say is taken for proof, once, and can't be taken back. `committed` means
that it happened; there is still no result to hand over. `rejected` means that nothing was changed: the same
call is then sent anew. With --child it is about that part of a batch alone; when the last unknown one is known, \
so is a whole that was not. Everything recorded before stays as it is. Write no secret into the reason.

Exit status, as of `call`: 11 for rejected, 15 for committed, since its result was never received.";

const WAIT_HELP: &str = "\
What the host does by itself is announced in the record: a repeat within its budget, where the contract makes
that harmless, or a question to the remote, where the operation declares that the host may ask. Where no host
runs, this carries it out at its time; Ctrl-C leaves the rest announced.

Exit status, as of `call`: 12 where it is unknown still, and a person's move.";

const MCP_HELP: &str = "\
For an MCP client's configuration:
  { \"mcpServers\": { \"proofport\": { \"command\": \"proofport\", \"args\": [\"mcp\"] } } }

It carries messages to the host that runs on the home and holds no secret itself. Where none runs, every
request is answered so, and the next one looks for it again.";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "proofport", version, about = "A connector host that reports only what its records prove")]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Globals {
    /// The home directory [default: $PROOFPORT_HOME, else proofport in $XDG_DATA_HOME or ~/.local/share]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Read the passphrase from this file; one newline at its end is left out
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Answer in JSON, on one line
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole story against a payment service that misbehaves, in a temporary home
    Demo,
    #[command(flatten)]
    InHome(InHome),
}

/// The commands that work on a home.
#[derive(Debug, Subcommand)]
pub(crate) enum InHome {
    /// Make a home: the vault, the host's keys, the journal
    Init(Init),
    /// Serve agents, and do by itself what is announced, until it is told to stop
    #[command(after_help = SERVE_HELP)]
    Serve,
    /// Lock or unlock the vault for every later command, or say how it is
    #[command(subcommand)]
    Vault(Vault),
    /// Store, list, renew and remove secrets; no command shows a value
    #[command(subcommand)]
    Secret(Secret),
    /// Review connectors and approve exact modules
    #[command(subcommand)]
    Connector(Connector),
    /// Check the connections that proofport.toml declares
    #[command(subcommand)]
    Connection(Connection),
    /// Carry out an operation and print the envelope
    #[command(after_help = CALL_HELP)]
    Call(Call),
    /// Print the envelope of an earlier call, or fetch the content stored beside it; sends nothing
    #[command(after_help = RESULT_HELP)]
    Result(Answer),
    /// Ask the remote what became of an unknown call; sends no effect
    Reconcile(Act),
    /// Look after an unknown call as the host does by itself, until its move is somebody else's
    #[command(after_help = WAIT_HELP)]
    Wait(Act),
    /// Look at the job that a call submitted; the look is a call of its own
    Follow(Act),
    /// Send an unknown call's effect, or those children of a batch that may be, once more, for operators
    #[command(after_help = RETRY_HELP)]
    Retry(Act),
    /// Give up a call: nothing of its effect leaves if it has not left yet
    Cancel(Act),
    /// Say which agents may call, for operators
    #[command(subcommand)]
    Session(Session),
    /// List what agents wait for, for operators
    Approvals,
    /// Show what an agent waits for, ask, and approve exactly that, for operators
    #[command(after_help = APPROVE_HELP)]
    Approve(Approve),
    /// Deny what an agent waits for: it does not run, for operators
    Deny(Act),
    /// Speak MCP over standard input and output for one agent, joined to the running host
    #[command(after_help = MCP_HELP)]
    Mcp(Mcp),
    /// List the calls whose outcome is unknown and what can be done about each, for operators
    Unknowns,
    /// Settle an unknown call by your own word, for operators
    #[command(after_help = ATTEST_HELP)]
    Attest(Attest),
    /// Show the protected record of a call, for operators
    Inspect(Act),
    /// Show the events of a call in order, for operators
    Timeline(Act),
    /// Verify, export and read the audit log, for operators
    #[command(subcommand)]
    Audit(Audit),
}

/// `init`.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// What one guess of the passphrase costs, in KiB of memory. For tests: a cheap vault is a weak one.
    #[arg(long, hide = true, value_name = "KIB", value_parser = clap::value_parser!(u32).range(8192..=1_048_576))]
    pub(crate) kdf_memory_kib: Option<u32>,
    /// Where the identity goes that opens the audit log [default: audit-identity.txt in the home]
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_identity: Option<PathBuf>,
}

/// `vault`.
#[derive(Debug, Subcommand)]
pub(crate) enum Vault {
    /// Let secrets be used again
    Unlock,
    /// Refuse every use of a secret until `vault unlock`, also with the passphrase
    Lock,
    /// Say whether the vault is locked; needs no passphrase
    Status,
}

/// `secret`.
#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Store a secret; its value comes from standard input
    #[command(after_help = SECRET_SET_HELP)]
    Set(SecretSet),
    /// List names, uses and versions
    List,
    /// Store a newer version of a secret; its value comes from standard input
    Rotate(SecretName),
    /// Remove a secret in all its versions
    Remove(SecretName),
}

/// `secret set`.
#[derive(Debug, Args)]
pub(crate) struct SecretSet {
    /// The name under which connections use it: lower-case letters, digits, `-` and `_`
    #[arg(value_parser = Name::parse)]
    pub(crate) name: Name,
    /// Where it may be sent, `https://host[:port]`; may be given several times
    #[arg(long = "for", required = true, value_name = "ORIGIN", value_parser = Destination::parse)]
    pub(crate) destinations: Vec<Destination>,
    /// How it may be attached: http_bearer, http_basic, http_header, http_query,
    /// aws_sigv4, tls_client_certificate; may be given several times
    #[arg(long = "mode", required = true, value_name = "MODE", value_parser = mode)]
    pub(crate) modes: Vec<InjectionMode>,
}

/// A command on one secret.
#[derive(Debug, Args)]
pub(crate) struct SecretName {
    /// The secret's name
    #[arg(value_parser = Name::parse)]
    pub(crate) name: Name,
}

/// `session`.
#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// List the agents that wait for your word, and those of which it was given
    List,
    /// Let a waiting agent's process call, until it ends or becomes another program
    Allow(Ses),
    /// End a session for good, or refuse one that waits
    End(Ses),
    /// Make the token that lets an agent in over HTTP, and show it this once
    #[command(after_help = TOKEN_HELP)]
    Token(Token),
}

/// A command on one session.
#[derive(Debug, Args)]
pub(crate) struct Ses {
    /// The session's id, ses_…
    #[arg(value_name = "SES", value_parser = SessionId::parse)]
    pub(crate) id: SessionId,
}

/// `session token`.
#[derive(Debug, Args)]
pub(crate) struct Token {
    /// The agent's name: lower-case letters, digits, `-` and `_`
    #[arg(value_parser = Name::parse)]
    pub(crate) agent: Name,
}

/// `connector`.
#[derive(Debug, Subcommand)]
pub(crate) enum Connector {
    /// Show what a module imports and says of itself; changes nothing
    Inspect(ModuleFile),
    /// Show the same, ask, and approve exactly this module
    Install(Install),
    /// List the approved modules
    List,
    /// Take a module's approval back: its calls stop at their next boundary
    Revoke(ModuleDigest),
}

/// A module's file.
#[derive(Debug, Args)]
pub(crate) struct ModuleFile {
    /// The connector: a WebAssembly component
    pub(crate) file: PathBuf,
}

/// A command on an approved module.
#[derive(Debug, Args)]
pub(crate) struct ModuleDigest {
    /// The module's digest, `sha256:…`
    #[arg(value_name = "DIGEST", value_parser = Digest::parse)]
    pub(crate) digest: Digest,
}

/// `connector install`.
#[derive(Debug, Args)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) module: ModuleFile,
    /// Approve without asking, for scripts that know the file
    #[arg(long)]
    pub(crate) yes: bool,
}

/// `connection`.
#[derive(Debug, Subcommand)]
pub(crate) enum Connection {
    /// Report every mistake in proofport.toml, against the approved connectors and the vault
    Check,
}

/// `call`.
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// What to do: CONNECTION.OPERATION
    #[arg(value_name = "CONNECTION.OPERATION", value_parser = OperationName::parse)]
    pub(crate) operation: OperationName,
    /// The input: JSON text, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    pub(crate) input: String,
    /// Your own name for this intent: another one makes a repeated call a new one
    #[arg(long, value_name = "KEY")]
    pub(crate) call_key: Option<String>,
}

/// `result`.
#[derive(Debug, Args)]
pub(crate) struct Answer {
    #[command(flatten)]
    pub(crate) act: Act,
    /// Fetch the stored content into FILE, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    pub(crate) content: Option<PathBuf>,
}

/// A command on one invocation.
#[derive(Debug, Args)]
pub(crate) struct Act {
    /// The invocation's id, act_…
    #[arg(value_name = "ACT", value_parser = RequestId::parse)]
    pub(crate) id: RequestId,
}

/// `approve`.
#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    pub(crate) act: Act,
    /// This request alone
    #[arg(long, conflicts_with_all = ["session", "minutes"])]
    pub(crate) once: bool,
    /// Also every later call of the same session at the same operation, as long as the session lives
    #[arg(long, conflicts_with = "minutes")]
    pub(crate) session: bool,
    /// The same for so many minutes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_080))]
    pub(crate) minutes: Option<u32>,
    /// Approve without asking, for whoever looked at it before
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Whom to speak for, and to.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// The agents' socket of the running host [default: agent.sock in the home]
    #[arg(long, value_name = "FILE")]
    pub(crate) socket: Option<PathBuf>,
    /// A file with the agent's token, as `session token` prints it; without one the host looks at the process
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// `attest`.
#[derive(Debug, Args)]
pub(crate) struct Attest {
    #[command(flatten)]
    pub(crate) act: Act,
    /// Only this child of a batch: its identity, or its position from 0 [id:… and index:… say which]
    #[arg(long, value_name = "ID|INDEX", value_parser = child, allow_hyphen_values = true)]
    pub(crate) child: Option<Which>,
    /// What became of it
    #[arg(long, value_name = "committed|rejected", value_parser = attested)]
    pub(crate) outcome: AttestedOutcome,
    /// How you know, on one line; kept in the protected record
    #[arg(long, value_name = "TEXT", value_parser = AttestedReason::parse, allow_hyphen_values = true)]
    pub(crate) reason: AttestedReason,
}

/// What a person says became of it.
fn attested(text: &str) -> Result<AttestedOutcome, NotAttested> {
    AttestedOutcome::parse(text).ok_or(NotAttested)
}

fn child(text: &str) -> Result<Which, std::convert::Infallible> {
    Ok(Which::new(text))
}

/// The text is no outcome that can be attested.
#[derive(Debug, thiserror::Error)]
#[error("it is committed or rejected")]
struct NotAttested;

/// How a secret is attached.
fn mode(text: &str) -> Result<InjectionMode, NoMode> {
    InjectionMode::parse(text).ok_or(NoMode)
}

/// The text is not a mode.
#[derive(Debug, thiserror::Error)]
#[error(
    "it is http_bearer, http_basic, http_header, http_query, aws_sigv4, tls_client_certificate, ssh_key, \
     ssh_password or ssh_keyboard_interactive"
)]
struct NoMode;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
