//! Operations as MCP spells them.
//!
//! A tool's name is 1 to 128 letters, digits, `_`, `-` and `.`; many models' interfaces refuse the dot. So
//! `connection.operation` becomes `connection__operation`, and where that could be read in two ways, because
//! a name has `__` in it or the connection ends in `_`, it keeps its dot. Every name is read back to exactly
//! the operation that it was made of. A host tool's name has neither, so that none is an operation's. Two
//! names of the full 64 characters each make one of 129 or 130, which no client that we know refuses.

use proofport_core::id::{Name, OperationName};

const JOINT: &str = "__";

/// The tool's name of this operation.
pub(super) fn of(operation: &OperationName) -> String {
    let (connection, name) = (operation.connection.as_str(), operation.operation.as_str());
    if connection.contains(JOINT) || connection.ends_with('_') || name.contains(JOINT) {
        operation.to_string()
    } else {
        format!("{connection}{JOINT}{name}")
    }
}

/// The operation that a tool's name is made of; none: it is no such name.
pub(super) fn parse(tool: &str) -> Option<OperationName> {
    let read = match tool.split_once(JOINT) {
        Some((connection, operation)) if !tool.contains('.') => OperationName {
            connection: Name::parse(connection).ok()?,
            operation: Name::parse(operation).ok()?,
        },
        Some(_) | None => OperationName::parse(tool).ok()?,
    };
    // One spelling for one operation.
    (of(&read) == tool).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(operation: &str, tool: &str) {
        let operation = OperationName::parse(operation).unwrap();
        assert_eq!(of(&operation), tool);
        assert_eq!(parse(tool), Some(operation));
        assert!(tool.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)));
    }

    #[test]
    fn every_operation_has_one_name_and_is_read_back() {
        check("stripe-live.charge", "stripe-live__charge");
        check("a.b_c", "a__b_c");
        check("a_.b", "a_.b");
        check("a__b.c", "a__b.c");
        check("a.b__c", "a.b__c");
        check("a.b_", "a__b_");
    }

    #[test]
    fn nothing_else_is_read() {
        for tool in ["", "wait", "fetch_result", "a.b", "a___b", "a__", "__b", "A__b", "a__b__c", "a..b"] {
            assert_eq!(parse(tool), None, "{tool}");
        }
    }

    #[test]
    fn no_two_operations_share_a_name() {
        let names: Vec<String> = ["a", "a_", "a__a", "a_a", "b", "a__", "a-a"].map(str::to_owned).to_vec();
        let mut seen = std::collections::HashMap::new();
        for connection in &names {
            for operation in &names {
                let full = OperationName::parse(&format!("{connection}.{operation}")).unwrap();
                assert_eq!(parse(&of(&full)), Some(full.clone()));
                assert_eq!(seen.insert(of(&full), full), None);
            }
        }
    }
}
