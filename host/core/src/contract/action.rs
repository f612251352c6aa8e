use crate::closed::closed_enum;

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
