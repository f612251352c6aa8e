//! Nothing is wrong with this one: it shows that the sandbox still works.

use proofport_hostile_guests::Hostile;

struct This;

impl Hostile for This {}

proofport_hostile_guests::hostile!(This);
