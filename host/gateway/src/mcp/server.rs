//! What the protocol can ask of this server.

use super::attend::{Came, Client, Patience, attend};
use super::delivered::Handed;
use super::host_tools::HostTool;
use super::in_flight::{self, InFlight};
use super::{Asker, answer, input, name, tasks, tools, words};
use crate::agent::Agent;
use http::request::Parts;
use proofport_broker::{Delivery, Line};
use proofport_core::code::Code;
use proofport_core::envelope::Envelope;
use proofport_core::id::{OperationName, RequestId};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomRequest, CustomResult, ErrorCode,
    GetTaskParams, GetTaskResult, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ServerCapabilities, ServerConfig, SubscriptionFilter, ToolListChangedNotification,
    UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use std::borrow::Cow;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The revisions that are spoken. In all of them a tool's result has structured content.
const REVISIONS: &[ProtocolVersion] =
    &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// What serves one request; cheap to clone.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) in_flight: InFlight,
    pub(super) changes: watch::Receiver<u64>,
    pub(super) patience: Patience,
    /// Cancelled when the host stops.
    pub(super) stopping: CancellationToken,
}

/// Who asks, and where an answer is left that is to be marked as delivered.
struct Request {
    asker: Asker,
    handed: Handed,
}

impl Request {
    fn of(context: &RequestContext<RoleServer>) -> Result<Self, ErrorData> {
        let extensions = context.extensions.get::<Parts>().map(|parts| &parts.extensions);
        let found = extensions.and_then(|held| Some((held.get::<Asker>()?, held.get::<Handed>()?)));
        // The door lets no request through without both.
        let (asker, handed) = found.ok_or_else(|| ErrorData::internal_error(INTERNAL, None))?;
        Ok(Self { asker: asker.clone(), handed: handed.clone() })
    }

    /// The tool result that gives this answer, which is delivered once the client's protocol has it.
    fn give(&self, delivery: Delivery) -> CallToolResponse {
        let result = answer::result(&delivery.envelope);
        self.handed.hold(delivery);
        result.into()
    }
}

const INTERNAL: &str = "The host failed.";

/// Whether this request's client takes a task for an answer.
fn takes_tasks(context: &RequestContext<RoleServer>) -> bool {
    let new = context.meta.protocol_version().is_some_and(|said| said >= ProtocolVersion::V_2026_07_28);
    new && context.meta.client_capabilities().is_some_and(|said| said.supports_tasks())
}

impl Server {
    /// Calls an operation.
    async fn operation(
        &self,
        request: &Request,
        agent: &Agent,
        operation: OperationName,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let offered = agent.operation(&operation);
        let schema = offered.as_ref().map(|offered| &offered.operation.input_schema);
        let meta_key = context.meta.0.0.get(input::META_CALL_KEY);
        let Ok(taken) = input::take(schema, arguments, meta_key) else {
            return answer::result(&Envelope::refusal(Code::InvalidInput, Some(operation))).into();
        };
        let called = in_flight::called(agent, &context.id);
        let (line, end) = Line::new();
        let place = self.in_flight.enter(called.clone(), end.cancel);
        let work = {
            let (agent, operation) = (agent.clone(), operation.clone());
            tokio::spawn(async move {
                let _place = place;
                agent.call_on(operation, taken.input, taken.call_key, Some(line)).await
            })
        };
        let tasks = takes_tasks(context);
        let patience = if tasks { self.patience.task_after } else { self.patience.answer_after };
        let heard = |id: RequestId| self.in_flight.name(&called, id);
        let came = self.attend(agent, context, work, Some(end.named), heard, patience).await;
        let delivery = match came {
            Came::Answer(delivery) => *delivery,
            Came::GoesOn(id) => agent.result(&id),
            Came::Failed | Came::Gone => {
                return answer::result(&Envelope::refusal(Code::Internal, Some(operation))).into();
            }
        };
        let standing = tasks::Standing::of(&delivery.envelope);
        if let Some(id) = delivery.envelope.request_id().filter(|_| tasks && standing.goes_on())
            && let Some(task) = tasks::created(agent, &id, standing)
        {
            return CallToolResponse::Task(task);
        }
        request.give(delivery)
    }

    /// Does something about an earlier call.
    async fn host_tool(
        &self,
        request: &Request,
        agent: &Agent,
        tool: HostTool,
        arguments: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let refused = |code| answer::result(&Envelope::refusal(code, None)).into();
        let Some(asked) = tool.asked(arguments, self.patience.answer_after) else {
            return refused(Code::InvalidInput);
        };
        let Some(id) = asked.id else { return refused(Code::NoSuchInvocation) };
        let own = agent.clone();
        let work = tokio::spawn(async move { tool.carry_out(&own, &id, asked.most).await });
        // One more second, so that what waits itself answers first.
        let patience = self.patience.answer_after + Duration::from_secs(1);
        let came = self.attend(agent, context, work, None, |_| {}, patience).await;
        match came {
            Came::Answer(delivery) => request.give(*delivery),
            Came::GoesOn(_) | Came::Gone | Came::Failed => request.give(agent.result(&id)),
        }
    }

    async fn attend(
        &self,
        agent: &Agent,
        context: &RequestContext<RoleServer>,
        work: tokio::task::JoinHandle<Delivery>,
        named: Option<tokio::sync::oneshot::Receiver<RequestId>>,
        heard: impl Fn(RequestId),
        patience: Duration,
    ) -> Came {
        let client = Client {
            peer: context.peer.clone(),
            progress: context.meta.get_progress_token(),
            gone: context.ct.clone(),
        };
        attend(&client, agent, work, named, heard, (patience, self.patience.progress_every)).await
    }
}

/// The agent's task of this name, as its call's newest answer.
fn task(request: &Request, id: &str) -> Result<(Agent, RequestId, Delivery), ErrorData> {
    let none = || ErrorData::invalid_params(words::NO_SUCH_TASK, None);
    let agent = match &request.asker {
        Asker::Agent(agent) => agent.clone(),
        Asker::Refused(_) => return Err(none()),
    };
    let id = RequestId::parse(id).map_err(|_| none())?;
    let delivery = agent.result(&id);
    // Another's is as unknown as none.
    if delivery.envelope.request_id().is_none() { Err(none()) } else { Ok((agent, id, delivery)) }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_tasks().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("proofport", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
            .with_instructions(words::INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(REVISIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offered = match Request::of(&context)?.asker {
            // While the vault is locked, nothing is said about what exists.
            Asker::Agent(agent) => agent.operations().unwrap_or_default(),
            Asker::Refused(_) => Vec::new(),
        };
        let own = HostTool::ALL.into_iter().map(|tool| tool.tool(self.patience.answer_after));
        Ok(ListToolsResult::with_all_items(own.chain(offered.iter().map(tools::of)).collect()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let request = Request::of(&context)?;
        let arguments = params.arguments.unwrap_or_default();
        let tool = HostTool::parse(&params.name);
        let operation = name::parse(&params.name);
        let agent = match (&request.asker, tool.is_some() || operation.is_some()) {
            (_, false) => return Err(ErrorData::invalid_params(words::NO_SUCH_TOOL, None)),
            (Asker::Refused(code), true) => {
                return Ok(answer::result(&Envelope::refusal(*code, operation)).into());
            }
            (Asker::Agent(agent), true) => agent.clone(),
        };
        Ok(match (tool, operation) {
            (Some(tool), _) => self.host_tool(&request, &agent, tool, &arguments, &context).await,
            (None, Some(operation)) => self.operation(&request, &agent, operation, arguments, &context).await,
            (None, None) => return Err(ErrorData::invalid_params(words::NO_SUCH_TOOL, None)),
        })
    }

    /// Methods that nobody knows, and known ones whose parameters don't parse. What was asked for is not said back:
    /// it is anybody's text.
    async fn on_custom_request(
        &self,
        _request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words::NO_SUCH_METHOD, None))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let tools = SubscriptionFilter::builder().tools_list_changed().build();
        Some(requested.intersection(&tools))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.clone();
        changes.mark_unchanged();
        loop {
            tokio::select! {
                changed = changes.changed() => {
                    let told = subscription.sink().send(ToolListChangedNotification::default().into());
                    // The host stops, or nobody listens any more.
                    if changed.is_err() || told.await.is_err() {
                        return Ok(());
                    }
                }
                () = subscription.cancelled() => return Ok(()),
                () = self.stopping.cancelled() => return Ok(()),
            }
        }
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let request = Request::of(&context)?;
        let (agent, id, delivery) = task(&request, &params.task_id)?;
        let standing = tasks::standing(&agent, &id, &delivery.envelope)
            .ok_or_else(|| ErrorData::internal_error(INTERNAL, None))?;
        request.handed.hold(delivery);
        Ok(standing)
    }

    /// No task asks for anything, so that there is nothing to take.
    async fn update_task(
        &self,
        params: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        task(&Request::of(&context)?, &params.task_id).map(drop)
    }

    async fn cancel_task(
        &self,
        params: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (agent, id, _) = task(&Request::of(&context)?, &params.task_id)?;
        // Its client may go; the word is given.
        tokio::spawn(async move { agent.cancel(&id).await });
        Ok(())
    }
}
