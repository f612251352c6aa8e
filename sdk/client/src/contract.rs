//! The closed words of the contract. Each has one wire form, which `docs/envelope.schema.json` lists.

use crate::closed::closed_enum;

closed_enum! {
    /// Where an invocation stopped or stands. Diagnostic; never a retry policy.
    pub enum Phase {
        /// Refused before a secret was selected or used.
        Validation = "validation",
        /// The credential could not be obtained, authorised or attached.
        CredentialInjection = "credential_injection",
        /// Resolution, transport, identity or login failed before dispatch.
        ConnectionSetup = "connection_setup",
        /// The operation was dispatched, or a query before it ran.
        RemoteExecution = "remote_execution",
        /// The settled result could not be handed over.
        ResultDelivery = "result_delivery",
    }
}

closed_enum! {
    /// What the records prove about the remote. `Committed` is not success: exit status 23 and a
    /// complete 500 are committed.
    pub enum Outcome {
        /// Durable evidence shows that the dispatch boundary was not crossed.
        NotAttempted = "not_attempted",
        /// A complete, authoritative refusal.
        Rejected = "rejected",
        /// A complete, authoritative result.
        Committed = "committed",
        /// Dispatch may have happened and no complete result settles it.
        Unknown = "unknown",
    }
}

closed_enum! {
    /// What automation may do now, computed from the record and the declared contract only.
    pub enum Retry {
        /// Nothing.
        Never = "never",
        /// The same call after somebody corrected something.
        AfterCorrection = "after_correction",
        /// The same call after a delay.
        Backoff = "backoff",
        /// The stored bytes with the same idempotency key.
        SameIdempotencyKey = "same_idempotency_key",
        /// Ask the remote what happened; send no effect.
        Reconcile = "reconcile",
        /// Fetch the stored result; send nothing.
        FetchResult = "fetch_result",
    }
}

closed_enum! {
    /// Whose move it is.
    pub enum RetryOwner {
        /// The host carries it out by itself.
        Host = "host",
        /// The caller may call again.
        Caller = "caller",
        /// A person must act.
        Operator = "operator",
        /// There is nothing to retry.
        Nobody = "nobody",
    }
}

closed_enum! {
    /// What an agent should do next.
    pub enum Action {
        /// Call again after the delay.
        RetryAfterDelay = "retry_after_delay",
        /// Correct the input and call again.
        RepairInput = "repair_input",
        /// A person must permit it.
        RequestApproval = "request_approval",
        /// An operator must work on it.
        StopAndReport = "stop_and_report",
        /// It may have happened, or has: look before doing anything.
        InspectOutcome = "inspect_outcome",
    }
}

closed_enum! {
    /// How a fact came to be known.
    pub enum Source {
        /// Seen by our own transport.
        TransportObserved = "transport_observed",
        /// Said by the remote in a complete response to the effect.
        RemoteResponse = "remote_response",
        /// Learnt by a later query.
        RemoteQuery = "remote_query",
        /// Said by a person, with a reason.
        OperatorAttested = "operator_attested",
    }
}

closed_enum! {
    /// A step of connection setup. Failing in one proves that the effect was not attempted.
    pub enum Stage {
        /// The address was checked against the connection's policy.
        AddressCheck = "address_check",
        /// Waiting for a connection to the origin that is free or may be opened.
        Pool = "pool",
        /// Name resolution.
        Dns = "dns",
        /// TCP connection.
        TcpConnect = "tcp_connect",
        /// Tunnel through a proxy (RFC 9110 section 9.3.6).
        ProxyTunnel = "proxy_tunnel",
        /// TLS handshake.
        TlsHandshake = "tls_handshake",
        /// The peer's certificate was verified for the origin's name.
        IdentityVerified = "identity_verified",
        /// The HTTP connection is ready for a request.
        HttpHandshake = "http_handshake",
        /// SSH transport negotiation (RFC 4253).
        Transport = "transport",
        /// The SSH host key was verified.
        HostVerified = "host_verified",
        /// SSH user authentication (RFC 4252).
        UserAuth = "user_auth",
        /// SSH session channel.
        ChannelOpen = "channel_open",
        /// SSH environment requests.
        Env = "env",
    }
}

closed_enum! {
    /// The kind of a repeat contract, as callers see it in `evidence.contract.repeat`.
    pub enum RepeatKind {
        /// A second arrival may be a second effect.
        None = "none",
        /// Any number of identical requests has the effect of one.
        Idempotent = "idempotent",
        /// A precondition that the remote enforces refuses a second arrival.
        Conditional = "conditional",
        /// The remote deduplicates by a key.
        Keyed = "keyed",
    }
}

closed_enum! {
    /// The version of the envelope's schema.
    pub enum EnvelopeSchema {
        /// The first.
        V1 = "proofport.envelope/1",
    }
}

closed_enum! {
    /// Whether an operation may change anything, by its author's word.
    pub enum Effect {
        /// It changes nothing.
        Read = "read",
        /// It may change something.
        Write = "write",
    }
}
