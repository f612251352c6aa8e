//! Which exchanges get a connection that carried nothing before.

use super::reader::{Field, Reader};
use proofport_broker::Fresh;

/// The default where it is wrong, since that is reported.
pub(super) fn read<'a>(reader: &mut Reader<'a>, field: &Field<'a>) -> Fresh {
    match reader.text(field) {
        Some("effects") => Fresh::Effects,
        Some("always") => Fresh::Always,
        Some("never") => Fresh::Never,
        Some(_) => {
            let what = "is none of \"effects\", \"always\" and \"never\"";
            let todo = "write one of these, or leave it out: effects that may not be repeated get a fresh \
                        connection then";
            reader.report(field.place, &field.path, what, todo);
            Fresh::default()
        }
        None => Fresh::default(),
    }
}
