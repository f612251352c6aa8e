//! Points at which a test may stop the process. They stand where transitions are: a new kind of
//! event is a new point without anybody's doing, since both come from the same closed list.

use proofport_core::event::EventKind;
use proofport_egress::WirePoint;

/// A moment in an invocation's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A commit that holds an event of this kind is about to be asked for.
    BeforeCommit(EventKind),
    /// A commit that holds an event of this kind is on disk.
    AfterCommit(EventKind),
    /// Something happened on the effect's connection.
    Wire(WirePoint),
}

/// Somebody who watches an invocation. The program has none.
pub trait Probe: Send + Sync {
    /// This moment is now.
    fn at(&self, point: Point);
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn at(&self, _: Point) {}
}
