//! The peer behaves as its documentation says: other tests rest on it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use proofport_tests::moto::Moto;
use serde_json::json;

#[test]
fn moto_is_the_part_of_aws_that_its_page_says() {
    let moto = Moto::start().unwrap_or_else(|error| panic!("{error}"));
    let sqs = |target: &str, body: serde_json::Value| {
        let (status, answer) = moto.ask("sqs", &format!("AmazonSQS.{target}"), &body).unwrap();
        assert_eq!(status, 200, "{target}: {answer}");
        answer
    };
    sqs("CreateQueue", json!({ "QueueName": "q.fifo", "Attributes": { "FifoQueue": "true" } }));
    let url = format!("{}/q.fifo", moto.queues_at());
    for body in ["a", "a", "b"] {
        let message = json!({ "QueueUrl": url, "MessageBody": body, "MessageGroupId": "g", "MessageDeduplicationId": "d" });
        sqs("SendMessage", message);
    }
    assert_eq!(moto.messages("q.fifo").unwrap(), 1);
    let missing = json!({ "QueueUrl": format!("{}/missing", moto.queues_at()), "MessageBody": "a" });
    let (status, answer) = moto.ask("sqs", "AmazonSQS.SendMessage", &missing).unwrap();
    assert_eq!((status, &answer["__type"]), (400, &json!("com.amazonaws.sqs#QueueDoesNotExist")));

    let by_path = |service: &str, line: &str, body: &str, expected: u16| {
        let (status, answer) = moto.ask_by_path(service, line, body).unwrap();
        assert_eq!(status, expected, "{line}: {answer}");
        answer
    };
    by_path("s3", "PUT /bucket", "", 200);
    by_path("s3", "PUT /bucket/a/b", "content", 200);
    assert_eq!(by_path("s3", "GET /bucket/a/b", "", 200), "content");
    assert!(by_path("s3", "GET /bucket/missing", "", 404).contains("<Code>NoSuchKey</Code>"));

    // It ignores the client token: two launches with the same one are two instances.
    let launch = "POST /?Action=RunInstances&Version=2016-11-15&ImageId=ami-12345678&InstanceType=t3.micro\
                  &MinCount=1&MaxCount=1&ClientToken=ppx";
    by_path("ec2", launch, "", 200);
    by_path("ec2", launch, "", 200);
    assert_eq!(moto.instances().unwrap(), 2);
    let look =
        "GET /?Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=client-token&Filter.1.Value.1=";
    assert!(by_path("ec2", &format!("{look}ppx"), "", 200).contains("<clientToken>ppx</clientToken>"));
    assert!(by_path("ec2", &format!("{look}other"), "", 200).contains("<reservationSet/>"));
}
