//! The numbers of event kinds in a block. They stay what they are for as long as there are exports: a new
//! kind gets the next one.

use proofport_core::event::EventKind;

/// The number of a kind.
pub(crate) const fn number(kind: EventKind) -> u8 {
    match kind {
        EventKind::ActionAccepted => 1,
        EventKind::PreflightValidated => 2,
        EventKind::ApprovalRequested => 3,
        EventKind::ApprovalDecided => 4,
        EventKind::CredentialAuthorized => 5,
        EventKind::ConnectionAttempted => 6,
        EventKind::QueryExchanged => 7,
        EventKind::Stopped => 8,
        EventKind::CancelRequested => 9,
        EventKind::LeaseTaken => 10,
        EventKind::DispatchStarted => 11,
        EventKind::RequestSent => 12,
        EventKind::RemoteResponseStarted => 13,
        EventKind::RemoteResponseComplete => 14,
        EventKind::AttemptEnded => 15,
        EventKind::ChildSettled => 16,
        EventKind::JobAccepted => 17,
        EventKind::OutcomeSettled => 18,
        EventKind::ResultCommitted => 19,
        EventKind::ResultDelivered => 20,
        EventKind::RetryScheduled => 21,
        EventKind::ReconcileScheduled => 22,
        EventKind::JobFollowed => 23,
        EventKind::EvidenceAttached => 24,
        EventKind::SessionDecided => 25,
        EventKind::VaultStateChanged => 26,
        EventKind::UnlockFailed => 27,
        EventKind::OperatorRefused => 28,
        EventKind::SecretChanged => 29,
        EventKind::ConnectorDecided => 30,
        EventKind::ConfigLoaded => 31,
    }
}

/// Kinds by their numbers.
const BY_NUMBER: [Option<EventKind>; 256] = {
    let mut table = [None; 256];
    let mut at = 0;
    while at < EventKind::ALL.len() {
        table[number(EventKind::ALL[at]) as usize] = Some(EventKind::ALL[at]);
        at += 1;
    }
    table
};

/// The kind with this number, if there is one.
pub(crate) const fn kind(number: u8) -> Option<EventKind> {
    BY_NUMBER[number as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_number_of_its_own() {
        for kind_ in EventKind::ALL {
            assert_eq!(kind(number(*kind_)), Some(*kind_));
        }
        assert_eq!(kind(0), None);
    }
}
