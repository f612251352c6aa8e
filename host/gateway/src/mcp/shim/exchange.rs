//! One message of the client's, carried to the host, and what comes back.

use super::Shim;
use super::events::Events;
use super::host::NoAnswer;
use super::message::Message;
use super::reply::{self, Why};
use crate::mcp::attend::META_REQUEST_ID;
use proofport_core::id::RequestId;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long until the host is looked for again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A request that is being carried.
#[derive(Clone)]
pub(super) struct Going {
    /// Whether it calls a tool.
    pub(super) is_call: bool,
    /// The client doesn't want its answer any more.
    pub(super) forgotten: CancellationToken,
    /// Whether the host has said that it has it. It ends with the exchange.
    pub(super) received: watch::Receiver<bool>,
}

/// A request's answer on its way back.
struct Carrying<'a> {
    shim: &'a Shim,
    message: &'a Message,
    /// The token under which its progress is told, and whether it is one of ours.
    token: Option<(Value, bool)>,
    received: watch::Sender<bool>,
    forgotten: CancellationToken,
    /// The id that the host gave the call.
    named: Option<RequestId>,
}

/// Carries a request, and sees to it that it has an answer. From this call on it can be cancelled.
pub(super) fn request(
    shim: Shim,
    name: String,
    mut message: Message,
    ours: String,
) -> impl Future<Output = ()> + Send {
    let (received, heard) = watch::channel(false);
    let forgotten = CancellationToken::new();
    let going = Going { is_call: message.is_call(), forgotten: forgotten.clone(), received: heard };
    shim.enter(&name, going);
    async move {
        let token = message.ensure_progress_token(&ours);
        let mut carrying = Carrying {
            shim: &shim,
            message: &message,
            token,
            received,
            forgotten: forgotten.clone(),
            named: None,
        };
        let ended = tokio::select! {
            ended = carrying.carry() => ended,
            // What has no effect is simply left; a call goes on, and its end is nobody's business.
            () = forgotten.cancelled(), if !message.is_call() => Ok(()),
        };
        if let Err(why) = ended
            && !forgotten.is_cancelled()
        {
            let named = carrying.named;
            let gone = message.method == "subscriptions/listen" && why == Why::NoAnswer(NoAnswer::Lost);
            let said = match (gone, &message.id) {
                (true, Some(id)) => reply::subscription_over(id),
                (true, None) | (false, _) => reply::instead(&message, named, why),
            };
            shim.say(&said).await;
        }
        shim.leave(&name);
    }
}

impl Carrying<'_> {
    async fn carry(&mut self) -> Result<(), Why> {
        let body = self.message.body.to_string().into_bytes();
        let headers = self.message.headers(self.shim.agreed().as_deref());
        let mut answer = self.shim.host.post(&headers, body).await.map_err(Why::NoAnswer)?;
        if !answer.is_stream() {
            let whole = answer.whole().await.map_err(Why::NoAnswer)?;
            return match serde_json::from_slice(&whole) {
                Ok(message) if is_answer(&message) => self.answer(message).await,
                Ok(_) | Err(_) => Err(Why::Status(answer.status())),
            };
        }
        let mut events = Events::default();
        while let Some(bytes) = answer.next().await.map_err(Why::NoAnswer)? {
            for event in events.take(&bytes) {
                let Ok(message) = serde_json::from_slice::<Value>(&event) else { continue };
                if is_answer(&message) {
                    return self.answer(message).await;
                }
                self.pass_on(&message).await;
            }
        }
        // A stream that ends without the answer was cut.
        Err(Why::NoAnswer(NoAnswer::Lost))
    }

    /// Gives the client its answer.
    async fn answer(&self, mut answer: Value) -> Result<(), Why> {
        if let (Some(answer), Some(id)) = (answer.as_object_mut(), &self.message.id) {
            answer.insert("id".to_owned(), id.clone());
        }
        if self.message.method == "initialize"
            && let Some(version) = answer.pointer("/result/protocolVersion").and_then(Value::as_str)
        {
            self.shim.agree(version);
        }
        if !self.forgotten.is_cancelled() {
            self.shim.say(&answer).await;
        }
        Ok(())
    }

    /// Passes on what comes before the answer, but for progress that only this carrier wanted.
    async fn pass_on(&mut self, message: &Value) {
        let progress = message.get("method").is_some_and(|method| method == "notifications/progress");
        let token = message.pointer("/params/progressToken");
        let own = self.token.as_ref().filter(|(own, _)| progress && token == Some(own));
        if let Some(ours) = own.map(|(_, ours)| *ours) {
            self.received.send_replace(true);
            let named = message.pointer("/params/_meta").and_then(|meta| meta.get(META_REQUEST_ID)?.as_str());
            self.named = named.and_then(|id| RequestId::parse(id).ok()).or(self.named);
            if ours {
                return;
            }
        }
        if !self.forgotten.is_cancelled() {
            self.shim.say(message).await;
        }
    }
}

fn is_answer(message: &Value) -> bool {
    message.get("result").is_some() || message.get("error").is_some()
}

/// Carries a notification. One that cancels a request ends that here too; a call's goes to the host, once
/// the host has the call: what came before it would find nothing.
pub(super) async fn notification(shim: Shim, message: Message) {
    if let Some(mut going) = message.cancels().and_then(|name| shim.going(&name)) {
        going.forgotten.cancel();
        if !going.is_call || going.received.wait_for(|received| *received).await.is_err() {
            return;
        }
    }
    let headers = message.headers(shim.agreed().as_deref());
    let answer = shim.host.post(&headers, message.body.to_string().into_bytes()).await;
    if answer.is_err() {
        tracing::debug!("a notification did not reach the host");
    }
}

/// Hears, for a client of the older revision, that the list of tools has changed; also that nobody could say
/// so for a while.
pub(super) async fn changes(shim: Shim) {
    let mut missed = false;
    loop {
        let headers: Vec<_> =
            shim.agreed().into_iter().map(|version| ("mcp-protocol-version", version)).collect();
        if let Ok(mut answer) = shim.host.get(&headers).await {
            if !answer.is_stream() {
                tracing::debug!(status = answer.status(), "the host tells nothing of changes");
                return;
            }
            if missed {
                shim.say(&reply::list_changed()).await;
            }
            let mut events = Events::default();
            while let Ok(Some(bytes)) = answer.next().await {
                for event in events.take(&bytes) {
                    if let Ok(message) = serde_json::from_slice(&event) {
                        shim.say(&message).await;
                    }
                }
            }
        }
        missed = true;
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}
