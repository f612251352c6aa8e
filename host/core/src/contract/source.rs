use crate::closed::closed_enum;

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
