//! Messages to SQS, objects in S3, items in `DynamoDB` and instances of EC2.
//!
//! One folder per service; [`api`] holds what AWS publishes about all of them, [`failure`] reads their
//! errors, [`batch`] puts a batch's children together and [`config`] says which service a connection is
//! for. The host signs every request (AWS Signature Version 4); nothing here knows a key.
//!
//! There are no reads of SQS and `DynamoDB`, and no reconciliation there. Their JSON protocols spell every
//! operation as `POST /` and name it in a header, so that a query could not be told from a write by method
//! and path, which is what the host and the admin go by.

mod api;
mod batch;
mod config;
mod dynamodb;
mod ec2;
mod failure;
mod s3;
mod sqs;
mod xml;

use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, InjectionMode, Manifest, ReconcileStep, Slot, Step,
};

/// The connector.
pub struct Aws;

proofport_sdk::export!(Aws);

impl Connector for Aws {
    fn describe(_config: &str) -> Manifest {
        Manifest::new(
            "aws",
            env!("CARGO_PKG_VERSION"),
            "Messages to SQS, objects in S3, items in DynamoDB and instances of EC2.",
        )
        .config(&config::schema())
        .slot(Slot::new(
            api::SLOT,
            "A secret access key, bound for the region and the service that the connection is for.",
            &[InjectionMode::AwsSigv4],
        ))
        .operation(sqs::send::declare())
        .operation(sqs::send::declare_fifo())
        .operation(sqs::send_batch::declare())
        .operation(sqs::send_batch::declare_fifo())
        .operation(s3::write::declare_create())
        .operation(s3::write::declare_replace())
        .operation(s3::read::declare_get())
        .operation(s3::read::declare_head())
        .operation(dynamodb::declare())
        .operation(ec2::run::declare())
        .operation(ec2::describe::declare())
    }

    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        let answer = history.last().map(Exchange::http).transpose()?;
        match call.operation.as_str() {
            "sqs_send" => sqs::send::send(call, answer),
            "sqs_send_fifo" => sqs::send::send_fifo(call, answer),
            "sqs_send_batch" => sqs::send_batch::send(call, answer),
            "sqs_send_batch_fifo" => sqs::send_batch::send_fifo(call, answer),
            "s3_create_object" => s3::write::create(call, answer),
            "s3_replace_object" => s3::write::replace(call, answer),
            "s3_get_object" => s3::read::get(call, answer),
            "s3_head_object" => s3::read::head(call, answer),
            "dynamodb_batch_write" => dynamodb::write(call, answer),
            "ec2_run_instances" => ec2::run::run(call, answer),
            "ec2_describe_instances" => ec2::describe::describe(call, answer),
            _ => Err(Fault::no_such_operation()),
        }
    }

    fn reconcile(call: &Call, evidence: &Evidence, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
        let answer = history.last().map(Exchange::http).transpose()?;
        match call.operation.as_str() {
            "s3_create_object" | "s3_replace_object" => s3::reconcile::look(call, evidence, answer),
            "ec2_run_instances" => ec2::run::look(call, answer),
            _ => Err(Fault::no_such_operation()),
        }
    }
}
