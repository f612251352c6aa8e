//! `call`, `reconcile`, `wait`, `follow`, `retry` and `cancel`: the caller's side. What they print is an
//! envelope, whatever became of the call, and it is settled and stored before it is printed.

use super::App;
use crate::args::Call;
use crate::exit::{self, Usage};
use crate::operator::{Latch, Operator};
use crate::render::published::Published;
use crate::render::visible;
use anyhow::Context as _;
use proofport_core::code::Code;
use proofport_core::contract::RetryOwner;
use proofport_core::event::Event;
use proofport_core::id::{Name, OperationName, RequestId};
use proofport_gateway::host::Connections;
use proofport_gateway::operator_side::{
    Answered, Ask, Base64, Call as Calling, Cancel, Delivered, Failure, Fetch, Follow, Reconcile, Retry,
    Timeline, Wait,
};
use std::fs::File;
use std::io::Read;
use std::pin::pin;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// More than any input that a connection takes, in bytes: its own limit has its own code.
const MOST: u64 = 64 * 1024 * 1024;

/// The status of a call that was left while it was under way.
const LEFT: u8 = 12;

pub(super) async fn call(app: &App, args: Call) -> anyhow::Result<u8> {
    let Call { operation, input, call_key } = args;
    let input = Base64(read_input(input)?);
    let Some(proved) = app.proved(Latch::Refuses).await? else {
        return refuse(app, Code::VaultLocked, Some(operation));
    };
    let connections = Connections::One(operation.connection.clone());
    let Some(operator) = proved.operator(app.out, connections).await? else {
        return refuse(app, Code::VaultLocked, Some(operation));
    };
    let call = Calling { operation, input, call_key };
    let Some(answered) = finished(app, &operator, operator.ask(call)).await? else { return Ok(LEFT) };
    let answered = match answered {
        Ok(answered) => answered,
        Err(error) => return failed(app, error),
    };
    let envelope = Published::of(&answered)?;
    if operator.embedded().is_some()
        && envelope.retry_owner() == RetryOwner::Host
        && let Some(id) = envelope.request_id()
    {
        let first = "What the host does next is announced, and no host runs here:";
        app.out.remark(&format!("{first} `proofport wait {id}` carries it out."));
    }
    deliver(app, operator, answered).await
}

/// Waits for the end of a call; none if the person at the terminal insists on leaving. Of an embedded host
/// the first interrupt (Ctrl-C) cancels: what was not sent is not sent, and what was is on its way, so that
/// its answer is still wanted. A host that runs goes on, whoever leaves.
async fn finished<T>(
    app: &App,
    operator: &Operator,
    work: impl Future<Output = T>,
) -> anyhow::Result<Option<T>> {
    // From here on, before the call begins, so that no interrupt is missed between two looks.
    let mut interrupts = interrupts()?;
    let mut work = pin!(work);
    let mut told = false;
    loop {
        tokio::select! {
            done = &mut work => return Ok(Some(done)),
            Some(()) = interrupts.recv() => {
                let Some(host) = operator.embedded().filter(|_| !told) else {
                    app.out.remark("left; the same call again says what became of this one");
                    return Ok(None);
                };
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

fn interrupts() -> anyhow::Result<Signal> {
    signal(SignalKind::interrupt()).context("interrupts can't be listened for")
}

/// An operator with the connection that this record is of, or the answer when there is none.
async fn operator_of(app: &App, id: RequestId) -> anyhow::Result<Result<Operator, u8>> {
    let Some(proved) = app.proved(Latch::Refuses).await? else {
        return refuse(app, Code::VaultLocked, None).map(Err);
    };
    // A host that runs has its connections ready.
    let again = (!proved.is_running()).then(|| proved.again());
    let Some(operator) = proved.operator(app.out, Connections::None).await? else {
        return refuse(app, Code::VaultLocked, None).map(Err);
    };
    let Some(again) = again else { return Ok(Ok(operator)) };
    // Which connection is needed stands in the record, so the home is opened once more with it.
    let connection = connection_of(&operator, id).await?;
    operator.close()?;
    let Some(connection) = connection else {
        return refuse(app, Code::NoSuchInvocation, None).map(Err);
    };
    match again.operator(app.out, Connections::One(connection)).await? {
        Some(operator) => Ok(Ok(operator)),
        None => refuse(app, Code::VaultLocked, None).map(Err),
    }
}

/// The connection that an invocation went through; none if there is no such invocation.
async fn connection_of(operator: &Operator, id: RequestId) -> anyhow::Result<Option<Name>> {
    let history = operator.ask(Timeline { id }).await?.events;
    Ok(history.into_iter().find_map(|recorded| {
        if let Event::ActionAccepted(accepted) = recorded.event {
            Some(accepted.operation.connection)
        } else {
            None
        }
    }))
}

/// Asks for something about one call, and delivers the answer.
async fn about<A: Ask<Answer = Answered>>(app: &App, id: RequestId, ask: A) -> anyhow::Result<u8> {
    let operator = match operator_of(app, id).await? {
        Ok(operator) => operator,
        Err(status) => return Ok(status),
    };
    let Some(answered) = finished(app, &operator, operator.ask(ask)).await? else { return Ok(LEFT) };
    match answered {
        Ok(answered) => deliver(app, operator, answered).await,
        Err(error) => failed(app, error),
    }
}

pub(super) async fn retry(app: &App, id: RequestId) -> anyhow::Result<u8> {
    about(app, id, Retry { id }).await
}

pub(super) async fn reconcile(app: &App, id: RequestId) -> anyhow::Result<u8> {
    about(app, id, Reconcile { id }).await
}

pub(super) async fn follow(app: &App, id: RequestId) -> anyhow::Result<u8> {
    about(app, id, Follow { id }).await
}

pub(super) async fn cancel(app: &App, id: RequestId) -> anyhow::Result<u8> {
    about(app, id, Cancel { id }).await
}

pub(super) async fn wait(app: &App, id: RequestId) -> anyhow::Result<u8> {
    let operator = match operator_of(app, id).await? {
        Ok(operator) => operator,
        Err(status) => return Ok(status),
    };
    let mut interrupts = interrupts()?;
    let waited = tokio::select! {
        biased;
        answered = settled(&operator, id) => Some(answered),
        _ = interrupts.recv() => None,
    };
    let answered = match waited {
        Some(answered) => answered,
        None => {
            app.out.remark("Left. What is under way is waited for; the rest stays announced.");
            if let Some(host) = operator.embedded() {
                host.broker().stop().await;
            }
            operator.ask(Fetch { id }).await
        }
    };
    match answered {
        Ok(answered) => deliver(app, operator, answered).await,
        Err(error) => failed(app, error),
    }
}

/// The answer once the call moves no more by itself. A host that runs answers as it stands after a while.
async fn settled(operator: &Operator, id: RequestId) -> anyhow::Result<Answered> {
    loop {
        let answered = operator.ask(Wait { id }).await?;
        let envelope = Published::of(&answered)?;
        let moves = envelope.retry_owner() == RetryOwner::Host
            || matches!(envelope.code(), Some(Code::InProgress | Code::ApprovalPending));
        if operator.embedded().is_some() || !moves {
            return Ok(answered);
        }
    }
}

/// A failure of the host's own has a status of its own; nothing is known to have been done.
pub(super) fn failed(app: &App, error: anyhow::Error) -> anyhow::Result<u8> {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Internal { .. }) => {
            exit::explain(&error, app.out.json);
            Ok(exit::INTERNAL)
        }
        Some(
            Failure::NotProved
            | Failure::WrongPassphrase
            | Failure::Busy
            | Failure::NotUnderstood
            | Failure::VaultLocked
            | Failure::NoSuchSession { .. }
            | Failure::SessionGone { .. }
            | Failure::SessionEnded { .. }
            | Failure::AgentHasToken { .. }
            | Failure::OtherModule
            | Failure::Config { .. }
            | Failure::Refused { .. },
        )
        | None => Err(error),
    }
}

/// Prints the answer, and only then marks it as delivered. If it can't be printed, nothing is done
/// again: it is settled, stored, and to be fetched by its id.
pub(super) async fn deliver(app: &App, operator: Operator, answered: Answered) -> anyhow::Result<u8> {
    let envelope = Published::of(&answered)?;
    for remark in &answered.remarks {
        app.out.remark(&visible::text(remark));
    }
    let status = envelope.exit_status();
    let id = envelope.request_id();
    let status = match (app.out.published(&envelope), id) {
        (Ok(()), Some(id)) => {
            if answered.own {
                // Only the mark of the delivery can be lost here.
                if let Err(error) = operator.ask(Delivered { id }).await {
                    app.out.remark(&error.to_string());
                }
            }
            status
        }
        (Err(_), Some(id)) => {
            app.out
                .remark(&format!("the answer could not be written; `proofport result {id}` gives it again"));
            // The first of the list of statuses that applies.
            if status == exit::INTERNAL || status == exit::RUNNING { status } else { exit::UNDELIVERED }
        }
        // Nothing was taken on, so there is nothing to fetch.
        (Ok(()) | Err(_), None) => status,
    };
    if let Err(error) = operator.close() {
        // Only the mark of the delivery can be lost here.
        app.out.remark(&error.to_string());
    }
    Ok(status)
}

/// The answer where nothing was taken on.
pub(super) fn refuse(app: &App, code: Code, operation: Option<OperationName>) -> anyhow::Result<u8> {
    let refusal = Published::refusal(code, operation)?;
    app.out.published(&refusal)?;
    Ok(refusal.exit_status())
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
