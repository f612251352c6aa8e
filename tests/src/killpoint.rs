//! Where a host can be killed, and how a scenario brings it there.

use proofport_broker::{Point, Probe};
use proofport_core::event::EventKind;
use proofport_egress::WirePoint;

/// Where a host is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// At a point that the broker reports.
    At(Point),
    /// When half of the answer has been handed to the caller.
    MidDelivery,
    /// When the mark of delivery has been written with the journal's last commit.
    AfterDeliveryMark,
}

impl Kill {
    /// Every place: two for each kind of event that this host appends, each point on the wire, and
    /// the delivery. A new kind of event is here without anybody's doing.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let kinds = EventKind::ALL.iter().filter(|kind| scenario(**kind).is_some());
        let mut all: Vec<Self> = kinds
            .flat_map(|kind| {
                // It rides along with a later commit, so nobody waits for it.
                let after = if *kind == EventKind::ResultDelivered {
                    Self::AfterDeliveryMark
                } else {
                    Self::At(Point::AfterCommit(*kind))
                };
                [Self::At(Point::BeforeCommit(*kind)), after]
            })
            .collect();
        all.extend(WirePoint::ALL.iter().map(|point| Self::At(Point::Wire(*point))));
        all.push(Self::MidDelivery);
        all
    }

    /// A word for the command line.
    #[must_use]
    pub fn to_word(self) -> String {
        match self {
            Self::At(Point::BeforeCommit(kind)) => format!("before:{kind}"),
            Self::At(Point::AfterCommit(kind)) => format!("after:{kind}"),
            Self::At(Point::Wire(point)) => format!("wire:{}", wire_word(point)),
            Self::MidDelivery => "mid-delivery".to_owned(),
            Self::AfterDeliveryMark => "after-delivery-mark".to_owned(),
        }
    }

    /// The place with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::all().into_iter().find(|kill| kill.to_word() == word)
    }

    /// What brings a host there.
    #[must_use]
    pub fn scenario(self) -> Scenario {
        let kind = match self {
            Self::At(Point::BeforeCommit(kind) | Point::AfterCommit(kind)) => kind,
            Self::At(Point::Wire(_)) | Self::MidDelivery => EventKind::DispatchStarted,
            Self::AfterDeliveryMark => EventKind::ResultDelivered,
        };
        scenario(kind).unwrap_or(Scenario::Write)
    }
}

const fn wire_word(point: WirePoint) -> &'static str {
    match point {
        WirePoint::FirstByteOut => "first-byte-out",
        WirePoint::LastByteOut => "last-byte-out",
        WirePoint::FirstByteIn => "first-byte-in",
        WirePoint::LastByteIn => "last-byte-in",
    }
}

/// What is called, and what the peer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// A write that succeeds.
    Write,
    /// A read that succeeds.
    Read,
    /// A write that can't connect.
    NoConnection,
    /// A write that the remote takes on as a job.
    Job,
}

/// The scenario in which an event of this kind is appended; none for kinds that nothing in this host
/// appends on a call's way. There is no wildcard: a new kind has to be decided here.
#[must_use]
pub const fn scenario(kind: EventKind) -> Option<Scenario> {
    match kind {
        EventKind::ActionAccepted
        | EventKind::PreflightValidated
        | EventKind::CredentialAuthorized
        | EventKind::ConnectionAttempted
        | EventKind::LeaseTaken
        | EventKind::DispatchStarted
        | EventKind::RequestSent
        | EventKind::RemoteResponseStarted
        | EventKind::RemoteResponseComplete
        | EventKind::AttemptEnded
        | EventKind::OutcomeSettled
        | EventKind::ResultCommitted
        | EventKind::ResultDelivered => Some(Scenario::Write),
        EventKind::QueryExchanged => Some(Scenario::Read),
        EventKind::Stopped => Some(Scenario::NoConnection),
        EventKind::JobAccepted => Some(Scenario::Job),
        // Approvals, cancellation, batches, retries and questions are not driven here; late evidence comes after a call.
        EventKind::ApprovalRequested
        | EventKind::ApprovalDecided
        | EventKind::CancelRequested
        | EventKind::ChildSettled
        | EventKind::RetryScheduled
        | EventKind::ReconcileScheduled
        | EventKind::JobFollowed
        | EventKind::EvidenceAttached => None,
        // Facts about the host are no part of a call.
        EventKind::SessionDecided
        | EventKind::VaultStateChanged
        | EventKind::UnlockFailed
        | EventKind::OperatorRefused
        | EventKind::SecretChanged
        | EventKind::ConnectorDecided
        | EventKind::ConfigLoaded => None,
    }
}

/// Kills this process at one point, as `kill -9` would.
pub struct Killer(pub Kill);

impl Killer {
    /// Now, without any clean-up.
    pub fn now() -> ! {
        let pid = rustix::process::getpid();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}

impl Probe for Killer {
    fn at(&self, point: Point) {
        if self.0 == Kill::At(point) {
            Self::now();
        }
    }
}
