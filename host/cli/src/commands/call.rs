//! `call`, `result`, `reconcile` and `retry`: the caller's side. What they print is an envelope, whatever
//! became of the call, and it is settled and stored before it is printed.

use super::App;
use super::content::{Source, Stopped, Target, cut, into_file, into_stream, whole};
use crate::args::{Act, Answer, Call};
use crate::exit::{self, Usage};
use crate::render::{envelope, visible};
use anyhow::Context as _;
use proofport_core::code::Code;
use proofport_core::contract::RetryOwner;
use proofport_core::envelope::Envelope;
use proofport_core::event::Event;
use proofport_core::id::{Name, OperationName, RequestId};
use proofport_core::retry::Leave;
use proofport_core::secret::Secret;
use proofport_gateway::home::Home;
use proofport_gateway::host::{Connections, Host, HostError, OpenOptions};
use proofport_gateway::{
    CallRequest, Caller, Delivery, FollowError, ReconcileError, RetryBatchError, RetryError, Vault,
    VaultError,
};
use std::fs::File;
use std::io::{IsTerminal as _, Read};
use std::os::fd::AsFd as _;
use std::pin::pin;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// More than any input that a connection takes, in bytes: its own limit has its own code.
const MOST: u64 = 64 * 1024 * 1024;

/// How many children a remark names.
const MOST_NAMED: usize = 10;

/// The status of a call that was left while it was under way.
const LEFT: u8 = 12;

pub(super) async fn call(app: &App, args: Call) -> anyhow::Result<u8> {
    let Call { operation, input, call_key } = args;
    let input = read_input(input)?;
    let Some((home, passphrase)) = proved(app, Latch::Refuses)? else {
        return refuse(app, Code::VaultLocked, Some(operation));
    };
    let connections = Connections::One(operation.connection.clone());
    let Some(host) = open(app, home, &passphrase, connections).await? else {
        return refuse(app, Code::VaultLocked, Some(operation));
    };
    let request = CallRequest { operation, input, call_key, caller: operator() };
    // From here on, before the call begins, so that no interrupt is missed between two looks.
    let interrupts = signal(SignalKind::interrupt()).context("interrupts can't be listened for")?;
    let called = finished(app, &host, host.broker().call(request), interrupts).await;
    match called {
        Some(delivery) => {
            if delivery.envelope.retry_owner() == RetryOwner::Host
                && let Some(id) = delivery.envelope.request_id()
            {
                let first = "What the host does next is announced, and no host runs here:";
                app.out.remark(&format!("{first} `proofport wait {id}` carries it out."));
            }
            Ok(deliver(app, host, delivery))
        }
        None => Ok(LEFT),
    }
}

/// Waits for the end of a call; none if the person at the terminal insists on leaving. The first
/// interrupt (Ctrl-C) cancels: what was not sent is not sent, and what was is on its way, so that its
/// answer is still wanted.
async fn finished<T>(
    app: &App,
    host: &Host,
    work: impl Future<Output = T>,
    mut interrupts: Signal,
) -> Option<T> {
    let mut work = pin!(work);
    let mut told = false;
    loop {
        tokio::select! {
            done = &mut work => return Some(done),
            Some(()) = interrupts.recv() => {
                if told {
                    app.out.remark("left; the same call again says what became of this one");
                    return None;
                }
                told = true;
                host.broker().cancel_all();
                app.out.remark(
                    "cancelled: if nothing was sent yet, nothing is; if it was, its answer is waited for until its \
                     deadline, and pressing Ctrl-C again leaves it",
                );
            }
        }
    }
}

pub(super) async fn result(app: &App, args: Answer) -> anyhow::Result<u8> {
    let Answer { act: Act { id }, content } = args;
    let target = content.map(Target::from);
    // What a remote wrote moves no cursor.
    if target == Some(Target::Stream) && std::io::stdout().is_terminal() {
        return Err(
            Usage("standard output is a terminal: name a file, or a program with `|`".to_owned()).into()
        );
    }
    let refused = || match target {
        Some(Target::Stream) => Ok(unsaid(app, &Envelope::refusal(Code::VaultLocked, None))),
        Some(Target::File(_)) | None => refuse(app, Code::VaultLocked, None),
    };
    let Some((home, passphrase)) = proved(app, Latch::Ignored)? else {
        return refused();
    };
    let Some(host) = open(app, home, &passphrase, Connections::None).await? else {
        return refused();
    };
    let delivery = host.broker().result(&id, &operator());
    match &target {
        Some(target) => fetch(app, host, delivery, target),
        None => Ok(deliver(app, host, delivery)),
    }
}

/// Hands over the stored content and then the answer that it goes with. Where the content goes to
/// standard output, the answer has no place there and goes unsaid.
fn fetch(app: &App, host: Host, delivery: Delivery, target: &Target) -> anyhow::Result<u8> {
    let envelope = &delivery.envelope;
    let Some((facts, id)) = envelope.content().copied().zip(envelope.request_id()) else {
        if !envelope.ok() {
            // The answer says why there is none.
            return Ok(match target {
                Target::File(_) => deliver(app, host, delivery),
                Target::Stream => unsaid(app, envelope),
            });
        }
        host.close()?;
        return Err(
            Usage("this result has no stored content: ask for it without --content".to_owned()).into()
        );
    };
    let moved = match host.content(&id, &facts) {
        Ok(Some(content)) => {
            let source =
                Source { facts, chunk: &|n| Ok(content.chunk(n)?), digest: &|n| content.chunk_digest(n) };
            match target {
                Target::Stream => into_stream(&source, &mut standard_output()?).map(|()| 0),
                Target::File(path) => into_file(&source, path),
            }
        }
        Ok(None) => Err(Stopped::Damaged { kept: 0 }),
        Err(error) => Err(Stopped::NotGiven { kept: 0, error: error.into() }),
    };
    match (moved, target) {
        (Ok(held), Target::File(_)) => {
            app.out.remark(&whole(&facts, target, held));
            Ok(deliver(app, host, delivery))
        }
        (Ok(held), Target::Stream) => {
            app.out.remark(&whole(&facts, target, held));
            delivery.confirmed();
            host.close()?;
            Ok(exit::OK)
        }
        (Err(stopped), _) => {
            drop(delivery);
            host.close()?;
            app.out.remark(&cut(&stopped, &facts, target, &id)?);
            Ok(exit::UNDELIVERED)
        }
    }
}

/// An answer where standard output is for a content: whoever reads that must not take one for the other.
fn unsaid(app: &App, envelope: &Envelope) -> u8 {
    app.out.remark(&envelope::text(envelope));
    envelope.exit_status_of_program()
}

/// Without a buffer, so that what is counted was handed over.
fn standard_output() -> anyhow::Result<File> {
    let owned = std::io::stdout().as_fd().try_clone_to_owned();
    Ok(File::from(owned.context("standard output can't be used")?))
}

/// A host with the connection that this record is of, or the answer when there is none.
async fn host_of(app: &App, id: RequestId) -> anyhow::Result<Result<Host, u8>> {
    let Some((home, passphrase)) = proved(app, Latch::Refuses)? else {
        return refuse(app, Code::VaultLocked, None).map(Err);
    };
    let Some(host) = open(app, home.clone(), &passphrase, Connections::None).await? else {
        return refuse(app, Code::VaultLocked, None).map(Err);
    };
    let Some(connection) = connection_of(&host, &id)? else {
        host.close()?;
        return refuse(app, Code::NoSuchInvocation, None).map(Err);
    };
    // Which connection is needed stands in the record, so the home is opened once more with it.
    host.close()?;
    match open(app, home, &passphrase, Connections::One(connection)).await? {
        Some(host) => Ok(Ok(host)),
        None => refuse(app, Code::VaultLocked, None).map(Err),
    }
}

pub(super) async fn retry(app: &App, id: RequestId) -> anyhow::Result<u8> {
    let host = match host_of(app, id).await? {
        Ok(host) => host,
        Err(status) => return Ok(status),
    };
    let interrupts = signal(SignalKind::interrupt()).context("interrupts can't be listened for")?;
    let Some(retried) = finished(app, &host, host.broker().retry(&id), interrupts).await else {
        return Ok(LEFT);
    };
    let delivery = match retried {
        Ok(delivery) => delivery,
        Err(RetryError::NotPermitted(leave)) if is_answered_batch(&host, &id)? => {
            return retry_children(app, host, id, leave).await;
        }
        Err(RetryError::NoSuchInvocation) => {
            host.close()?;
            return refuse(app, Code::NoSuchInvocation, None);
        }
        Err(RetryError::VaultLocked) => {
            host.close()?;
            return refuse(app, Code::VaultLocked, None);
        }
        Err(
            error @ (RetryError::UnderWay
            | RetryError::NotPermitted(_)
            | RetryError::Prepared
            | RetryError::BindingChanged
            | RetryError::RecordMissing),
        ) => {
            // Nothing was sent: the answer is the record as it stands.
            app.out.remark(&error.to_string());
            host.broker().result(&id, &operator())
        }
        Err(
            error @ (RetryError::Read(_)
            | RetryError::Journal(_)
            | RetryError::Stopping
            | RetryError::Internal(_)),
        ) => {
            exit::explain(&error.into(), app.out.json);
            return Ok(exit::INTERNAL);
        }
    };
    Ok(deliver(app, host, delivery))
}

pub(super) async fn wait(app: &App, id: RequestId) -> anyhow::Result<u8> {
    let host = match host_of(app, id).await? {
        Ok(host) => host,
        Err(status) => return Ok(status),
    };
    let mut interrupts = signal(SignalKind::interrupt()).context("interrupts can't be listened for")?;
    let (broker, caller) = (host.broker(), operator());
    let waited = tokio::select! {
        biased;
        delivery = broker.wait(&id, &caller) => Some(delivery),
        _ = interrupts.recv() => None,
    };
    let delivery = match waited {
        Some(delivery) => delivery,
        None => {
            app.out.remark("Left. What is under way is waited for; the rest stays announced.");
            broker.stop().await;
            broker.result(&id, &caller)
        }
    };
    Ok(deliver(app, host, delivery))
}

pub(super) async fn follow(app: &App, id: RequestId) -> anyhow::Result<u8> {
    let host = match host_of(app, id).await? {
        Ok(host) => host,
        Err(status) => return Ok(status),
    };
    let delivery = match host.broker().follow(&id, &operator()).await {
        Ok(delivery) => delivery,
        Err(FollowError::NoSuchInvocation) => {
            host.close()?;
            return refuse(app, Code::NoSuchInvocation, None);
        }
        Err(FollowError::VaultLocked) => {
            host.close()?;
            return refuse(app, Code::VaultLocked, None);
        }
        Err(error @ (FollowError::NoJob | FollowError::UnderWay | FollowError::BindingChanged)) => {
            // Nothing was sent: the answer is the record as it stands.
            app.out.remark(&error.to_string());
            host.broker().result(&id, &operator())
        }
        Err(
            error @ (FollowError::Read(_)
            | FollowError::Journal(_)
            | FollowError::Illegal(_)
            | FollowError::Internal),
        ) => {
            exit::explain(&error.into(), app.out.json);
            return Ok(exit::INTERNAL);
        }
    };
    Ok(deliver(app, host, delivery))
}

/// Whether it is a batch whose whole is not sent again: then its children are, as far as they may be.
fn is_answered_batch(host: &Host, id: &RequestId) -> anyhow::Result<bool> {
    let record = host.broker().diagnostic(id)?;
    Ok(record.is_some_and(|record| record.state().is_batch() && record.state().dispatched()))
}

async fn retry_children(app: &App, host: Host, id: RequestId, leave: Leave) -> anyhow::Result<u8> {
    let interrupts = signal(SignalKind::interrupt()).context("interrupts can't be listened for")?;
    let work = host.broker().retry_children(&id);
    let Some(retried) = finished(app, &host, work, interrupts).await else {
        return Ok(LEFT);
    };
    let delivery = match retried {
        Ok(delivery) => {
            app.out.remark(&linked(&id, &delivery.envelope));
            delivery
        }
        Err(RetryBatchError::NoSuchInvocation) => {
            host.close()?;
            return refuse(app, Code::NoSuchInvocation, None);
        }
        Err(RetryBatchError::VaultLocked) => {
            host.close()?;
            return refuse(app, Code::VaultLocked, None);
        }
        Err(
            error @ (RetryBatchError::NoBatch
            | RetryBatchError::UnderWay
            | RetryBatchError::Nothing
            | RetryBatchError::MadeAnew { .. }
            | RetryBatchError::TooEarly { .. }
            | RetryBatchError::BindingChanged
            | RetryBatchError::RecordMissing),
        ) => {
            // Nothing was sent: the answer is the record as it stands.
            app.out.remark(&format!("the whole is not sent again ({leave}), and {error}"));
            host.broker().result(&id, &operator())
        }
        Err(
            error @ (RetryBatchError::Read(_) | RetryBatchError::Journal(_) | RetryBatchError::Internal(_)),
        ) => {
            exit::explain(&error.into(), app.out.json);
            return Ok(exit::INTERNAL);
        }
    };
    Ok(deliver(app, host, delivery))
}

/// What carries the children that were sent again: its answer is about them alone.
fn linked(parent: &RequestId, answer: &Envelope) -> String {
    let children = answer.children();
    let ids: Vec<_> = children.iter().take(MOST_NAMED).map(|child| visible::text(child.id())).collect();
    let more = if children.len() > ids.len() { ", …" } else { "" };
    let (count, ids) = (children.len(), ids.join(", "));
    let id = answer.request_id().map(|id| id.to_string()).unwrap_or_default();
    match answer.repeated() {
        true => format!(
            "children of {parent} were sent again before, as {id} ({count}: {ids}{more}); nothing was sent now"
        ),
        false => format!(
            "children of {parent} were sent again as {id} ({count}: {ids}{more}); this is the answer to them"
        ),
    }
}

pub(super) async fn reconcile(app: &App, id: RequestId) -> anyhow::Result<u8> {
    let host = match host_of(app, id).await? {
        Ok(host) => host,
        Err(status) => return Ok(status),
    };
    let delivery = match host.broker().reconcile(&id).await {
        Ok(delivery) => {
            beside(app, &delivery);
            delivery
        }
        Err(ReconcileError::NoSuchInvocation) => {
            host.close()?;
            return refuse(app, Code::NoSuchInvocation, None);
        }
        Err(ReconcileError::VaultLocked) => {
            host.close()?;
            return refuse(app, Code::VaultLocked, None);
        }
        Err(
            error @ (ReconcileError::NotUnknown(_)
            | ReconcileError::UnderWay
            | ReconcileError::NotDeclared
            | ReconcileError::BindingChanged
            | ReconcileError::RecordMissing
            | ReconcileError::NothingLearnt(_)),
        ) => {
            // Nothing changed: the answer is the record as it stands.
            app.out.remark(&error.to_string());
            host.broker().result(&id, &operator())
        }
        Err(
            error @ (ReconcileError::Read(_)
            | ReconcileError::Journal(_)
            | ReconcileError::Stopping
            | ReconcileError::Internal(_)),
        ) => {
            exit::explain(&error.into(), app.out.json);
            return Ok(exit::INTERNAL);
        }
    };
    Ok(deliver(app, host, delivery))
}

/// What the remote said of something that a person had settled is no part of the answer.
fn beside(app: &App, delivery: &Delivery) {
    for (child, known, said) in delivery.attached_children() {
        let (child, compared) = (visible::text(child.as_str()), compared(known == said));
        app.out.remark(&format!(
            "of child {child} the remote's answer says {said}, which {compared} what an operator attested; it is on \
             record as evidence, and the attested outcome stands",
        ));
    }
    let Some(said) = delivery.attached() else { return };
    let compared = compared(delivery.envelope.outcome() == Some(said));
    app.out.remark(&format!(
        "the remote's answer says {said}, which {compared} what an operator attested; it is on record as evidence, and \
         the attested outcome stands",
    ));
}

fn compared(same: bool) -> &'static str {
    if same { "agrees with" } else { "CONTRADICTS" }
}

/// The caller of an embedded call: the operator, who has proved it with the passphrase.
pub(super) fn operator() -> Caller {
    let user = rustix::process::getuid().as_raw();
    Caller { principal: format!("operator:{user}"), session: "operator".to_owned() }
}

/// What the operator's durable mark means for a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Latch {
    /// It uses secrets, so it is refused.
    Refuses,
    /// It only reads the record.
    Ignored,
}

/// The home and the passphrase; none where the vault stays locked, and the reason was told.
pub(super) fn proved(app: &App, latch: Latch) -> anyhow::Result<Option<(Home, Secret)>> {
    let home = app.home()?;
    // Looked at before anything else, so that a locked vault says nothing about what exists.
    let vault = Vault::open(&home.vault()).map_err(HostError::Vault)?;
    if latch == Latch::Refuses && vault.latched() {
        app.out.remark("an operator locked the vault: `proofport vault unlock` lifts that");
        return Ok(None);
    }
    let passphrase = app.passphrases.any()?;
    if passphrase.is_none() {
        app.out.remark(
            "no passphrase was given: use --passphrase-file FILE or PROOFPORT_PASSPHRASE, or run it at a terminal",
        );
    }
    Ok(passphrase.map(|passphrase| (home, passphrase)))
}

/// The opened home; none where the passphrase doesn't unlock the vault, and that was told.
pub(super) async fn open(
    app: &App,
    home: Home,
    passphrase: &Secret,
    connections: Connections,
) -> anyhow::Result<Option<Host>> {
    match Host::open(home, passphrase, OpenOptions::program(connections)).await {
        Ok(host) => {
            app.told_of(&host);
            Ok(Some(host))
        }
        Err(HostError::Vault(error @ (VaultError::WrongPassphrase { .. } | VaultError::EmptyPassphrase))) => {
            app.out.remark(&error.to_string());
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The connection that an invocation went through; none if there is no such invocation.
fn connection_of(host: &Host, id: &RequestId) -> anyhow::Result<Option<Name>> {
    let history = host.broker().timeline(id)?;
    Ok(history.into_iter().find_map(|recorded| {
        if let Event::ActionAccepted(accepted) = recorded.event {
            Some(accepted.operation.connection)
        } else {
            None
        }
    }))
}

/// Prints the answer, and only then marks it as delivered. If it can't be printed, nothing is done
/// again: it is settled, stored, and to be fetched by its id.
pub(super) fn deliver(app: &App, host: Host, delivery: Delivery) -> u8 {
    let own = delivery.envelope.exit_status_of_program();
    let id = delivery.envelope.request_id();
    let status = match (app.out.answer(&delivery.envelope, || envelope::text(&delivery.envelope)), id) {
        (Ok(()), _) => {
            delivery.confirmed();
            own
        }
        (Err(_), Some(id)) => {
            drop(delivery);
            app.out
                .remark(&format!("the answer could not be written; `proofport result {id}` gives it again"));
            // The first of the list of statuses that applies.
            if own == exit::INTERNAL || own == exit::RUNNING { own } else { exit::UNDELIVERED }
        }
        // Nothing was taken on, so there is nothing to fetch.
        (Err(_), None) => own,
    };
    if let Err(error) = host.close() {
        // Only the mark of the delivery can be lost here.
        app.out.remark(&error.to_string());
    }
    status
}

/// The answer where nothing was taken on.
pub(super) fn refuse(app: &App, code: Code, operation: Option<OperationName>) -> anyhow::Result<u8> {
    let refusal = Envelope::refusal(code, operation);
    app.out.answer(&refusal, || envelope::text(&refusal))?;
    Ok(refusal.exit_status_of_program())
}

/// The input as it was named: the text itself, a file, or standard input.
fn read_input(named: String) -> Result<Vec<u8>, Usage> {
    let read = |source: &mut dyn Read, what: &str| {
        let mut bytes = Vec::new();
        match source.take(MOST + 1).read_to_end(&mut bytes) {
            Ok(_) if bytes.len() as u64 > MOST => {
                Err(Usage(format!("{what} is larger than {} MiB", MOST / 1024 / 1024)))
            }
            Ok(_) => Ok(bytes),
            Err(error) => Err(Usage(format!("could not read {what}: {error}"))),
        }
    };
    if named == "-" {
        return read(&mut std::io::stdin().lock(), "standard input");
    }
    match named.strip_prefix('@') {
        Some(path) => {
            let what = format!("the input file {path}");
            let mut file =
                File::open(path).map_err(|error| Usage(format!("could not read {what}: {error}")))?;
            read(&mut file, &what)
        }
        None => Ok(named.into_bytes()),
    }
}
