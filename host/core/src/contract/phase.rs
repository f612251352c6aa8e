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
