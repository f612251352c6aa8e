//! Amazon EC2, by its query protocol: a form, or a query, that names the operation in `Action`.
//!
//! Reads go out as GET. The host and the admin take a GET for a query by its method, so what is asked by
//! GET here is `DescribeInstances` and nothing else.

pub(crate) mod describe;
mod instance;
pub(crate) mod run;

/// The version whose answers are read.
const VERSION: &str = "2016-11-15";
