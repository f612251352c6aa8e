//! What a call of a guest can come to instead of an answer. Texts here are the host's own: nothing
//! that a guest wrote is in them, except a trap's log, which is for the protected record.

use proofport_core::id::Name;
use std::fmt;

/// A call gave no answer that may be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The guest trapped: a panic, a wild access, an exit, or a value that does not fit its type.
    #[error("the connector trapped ({kind})")]
    Trap {
        /// The runtime's name for it.
        kind: String,
        /// Bounded standard output and error, where a panic says why. For the protected record.
        log: Vec<u8>,
    },
    /// It used up its fuel.
    #[error("the connector used up its fuel")]
    OutOfFuel,
    /// It ran past its deadline.
    #[error("the connector ran past its deadline")]
    DeadlinePassed,
    /// It trapped after it was refused memory.
    #[error("the connector needs more memory than it may have")]
    MemoryLimit,
    /// It answered with more bytes than it may.
    #[error("the connector answered with more bytes than it may")]
    OutputLimit,
    /// Its answer breaks the world's rules.
    #[error("the connector broke a rule: {0}")]
    Breach(#[from] Breach),
    /// The host could not run it: its guest threads are gone, or the runtime failed by itself.
    #[error("the sandbox can't run a connector now")]
    Unavailable,
}

/// A rule of the world that an answer breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// The call's operation is not in the manifest that the rules carry.
    #[error("the manifest does not declare this operation")]
    UndeclaredOperation,
    /// A request sets a header that the host owns.
    #[error("a request sets a header that only the host may write")]
    HostOwnedHeader,
    /// A header's name is not a token or its value holds a forbidden byte (RFC 9110 section 5).
    #[error("a request has a header that is not a field name and value")]
    InvalidHeader,
    /// A request names an origin that the connection does not list.
    #[error("a request names an origin that the connection does not list")]
    UnlistedOrigin,
    /// A request names an SSH host that the connection does not list.
    #[error("a request names an SSH host that the connection does not list")]
    UnlistedHost,
    /// A request's target is not in origin-form.
    #[error("a request's path is not in origin-form")]
    InvalidPath,
    /// A request's method is not an upper-case token, or is one that the host does not send.
    #[error("a request's method is not one that may be sent")]
    InvalidMethod,
    /// A request in the role of a query is neither GET, HEAD nor a reviewed template.
    #[error("a request is called a query and is neither GET, HEAD nor a declared query template")]
    NotAQuery,
    /// A read operation sends an effect.
    #[error("an operation declared to read sends an effect")]
    EffectInRead,
    /// A reconciliation sends an effect.
    #[error("a reconciliation sends an effect")]
    EffectInReconcile,
    /// A call sends a second effect.
    #[error("a call sends a second effect")]
    SecondEffect,
    /// The input is refused after something was sent.
    #[error("the input is refused after something was sent")]
    RefuseAfterSend,
    /// A request names a credential slot that the manifest does not declare.
    #[error("a request names a credential slot that the manifest does not declare")]
    UnknownSlot,
    /// An argument vector is empty, or an argument, variable or command can't be sent.
    #[error("an SSH command is empty or holds what can't be sent")]
    InvalidCommand,
    /// A raw command, which the operation does not declare or the connection does not allow.
    #[error("a raw command, which the operation does not declare or the connection does not allow")]
    RawCommand,
    /// A summary is empty, too long or has control characters in it.
    #[error("a summary is empty, longer than 500 bytes or has control characters in it")]
    InvalidSummary,
    /// A refusal points at nothing that the input or its schema has.
    #[error("a refusal points at no field of the input")]
    InvalidField,
    /// A text that has to be JSON is not.
    #[error("{0} is not JSON")]
    InvalidJson(FieldPlace),
    /// A job has no identity, or one that is too long.
    #[error("a job's id is empty or longer than 500 bytes")]
    InvalidJob,
    /// The manifest can't be accepted.
    #[error("the manifest can't be accepted: {0}")]
    InvalidManifest(#[from] ManifestProblem),
}

/// Where a JSON text stands in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldPlace {
    /// A verdict's output.
    Output,
    /// A child's output.
    ChildOutput,
    /// The config schema.
    ConfigSchema,
    /// An operation's input schema.
    InputSchema,
    /// An operation's output schema.
    OutputSchema,
    /// An operation's failure schema.
    FailureSchema,
    /// The schema of a batch's children's outputs.
    ChildOutputSchema,
}

impl fmt::Display for FieldPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Output => "the output",
            Self::ChildOutput => "a child's output",
            Self::ConfigSchema => "the config schema",
            Self::InputSchema => "the input schema",
            Self::OutputSchema => "the output schema",
            Self::FailureSchema => "the failure schema",
            Self::ChildOutputSchema => "the child output schema",
        })
    }
}

/// Why a manifest can't be accepted. Names are repeated only once they have been read as names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestProblem {
    /// The connector's, a slot's or an operation's name is not a name.
    #[error("a name in it is not 1 to 64 lower-case letters, digits, `-` and `_`, beginning with a letter")]
    InvalidName,
    /// The version is not a semantic version.
    #[error("its version is not a semantic version such as 1.2.3")]
    InvalidVersion,
    /// A summary or purpose is empty, too long or has control characters in it.
    #[error("a summary or purpose in it is empty, longer than 500 bytes or has control characters in it")]
    InvalidText,
    /// It declares nothing that could be called.
    #[error("it declares no operation")]
    NoOperation,
    /// Two operations have one name.
    #[error("two operations are called `{0}`")]
    DuplicateOperation(Name),
    /// Two slots have one name.
    #[error("two credential slots are called `{0}`")]
    DuplicateSlot(Name),
    /// A slot takes its credential in no way.
    #[error("the credential slot `{0}` has no injection mode")]
    SlotWithoutMode(Name),
    /// A schema is not an object, or its root does not describe an object.
    #[error("{1} of `{0}` is not a JSON Schema whose root has \"type\": \"object\"")]
    SchemaRoot(Name, FieldPlace),
    /// A failure schema admits text that nobody reviewed.
    #[error(
        "the failure schema of `{operation}` may admit free text at `{pointer}`: give each string an enum, a \
         const or one of the formats date, time, date-time, duration and uuid, close each object with \
         \"additionalProperties\": false, and use no keyword beyond those of plain structure"
    )]
    FreeText {
        /// The operation.
        operation: Name,
        /// JSON Pointer into the failure schema.
        pointer: String,
    },
    /// A header that may not be kept: it carries credentials or is none.
    #[error("`{0}` keeps a response header that carries credentials or is not a header name")]
    KeptHeader(Name),
    /// The header of an idempotency key is one that the host owns, or is not a header name.
    #[error("`{0}` puts its idempotency key into a header that can't carry it")]
    KeyHeader(Name),
    /// A contract speaks of a status that can't have its meaning.
    #[error("`{0}` declares a status that can't mean what it is declared to mean")]
    Status(Name),
    /// A read operation declares what only a write can have.
    #[error("`{0}` only reads, and yet is keyed or a batch")]
    ReadContract(Name),
    /// A batch's pointers or maximum are unusable.
    #[error("the batch of `{0}` needs two JSON Pointers and a maximum of 1 to 1000")]
    Batch(Name),
    /// The operation that follows a job does not exist or does not read.
    #[error("the job operation of `{0}` is not another declared operation")]
    JobOperation(Name),
    /// The completion marker is empty, too long or more than one line.
    #[error("the completion marker of `{0}` is empty, longer than 200 bytes or not one line of text")]
    CompletionMarker(Name),
    /// A command that is asked to stop is waited for too long, or not at all.
    #[error("`{0}` has a command that is asked to stop waited for by less than 1 or more than 60 seconds")]
    Grace(Name),
    /// A query template is not one.
    #[error("a query template is not a method and a path, or not a command with a fixed program")]
    QueryTemplate,
}
