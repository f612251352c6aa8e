//! AWS's errors. Codes are passed on, by a closed list; messages never are.

use crate::xml;
use proofport_sdk::{HttpResponse, Outcome, Reason, Terms, Value, Verdict, json};
use serde::Deserialize;

/// What a code says, where the status leaves it open.
#[derive(Clone, Copy)]
enum Says {
    /// The request was refused, for this reason. It stands for statuses of class 3xx and 4xx alone: an
    /// error of class 5xx is the service's own, whatever its code.
    Refused(Reason),
    /// Although its status is of class 4xx, a part of the request may have been carried out.
    Unclear(Reason),
    /// No more than its status.
    Nothing,
}

use Says::{Nothing, Refused, Unclear};

/// The documented codes, as far as they concern these operations. Another one is left out of the output;
/// what its status means does not change.
const CODES: &[(&str, Says)] = &[
    // The key and the signature ("Common Error Types" of each API reference; S3: "Error responses").
    ("AuthFailure", Refused(Reason::Unauthenticated)),
    ("AuthorizationHeaderMalformed", Refused(Reason::Unauthenticated)),
    ("ExpiredToken", Refused(Reason::Unauthenticated)),
    ("ExpiredTokenException", Refused(Reason::Unauthenticated)),
    ("IncompleteSignature", Refused(Reason::Unauthenticated)),
    ("IncompleteSignatureException", Refused(Reason::Unauthenticated)),
    ("InvalidAccessKeyId", Refused(Reason::Unauthenticated)),
    ("InvalidClientTokenId", Refused(Reason::Unauthenticated)),
    ("InvalidSecurity", Refused(Reason::Unauthenticated)),
    ("InvalidSignatureException", Refused(Reason::Unauthenticated)),
    ("MissingAuthenticationToken", Refused(Reason::Unauthenticated)),
    ("MissingAuthenticationTokenException", Refused(Reason::Unauthenticated)),
    ("RequestExpired", Refused(Reason::Unauthenticated)),
    ("RequestTimeTooSkewed", Refused(Reason::Unauthenticated)),
    ("SignatureDoesNotMatch", Refused(Reason::Unauthenticated)),
    ("UnrecognizedClientException", Refused(Reason::Unauthenticated)),
    ("AccessDenied", Refused(Reason::Forbidden)),
    ("AccessDeniedException", Refused(Reason::Forbidden)),
    ("KmsAccessDenied", Refused(Reason::Forbidden)),
    ("OptInRequired", Refused(Reason::Forbidden)),
    ("UnauthorizedOperation", Refused(Reason::Forbidden)),
    // Throttled requests are counted before they are carried out.
    ("KmsThrottled", Refused(Reason::RateLimited)),
    ("ProvisionedThroughputExceededException", Refused(Reason::RateLimited)),
    ("RequestLimitExceeded", Refused(Reason::RateLimited)),
    ("RequestThrottled", Refused(Reason::RateLimited)),
    ("SlowDown", Refused(Reason::RateLimited)),
    ("Throttling", Refused(Reason::RateLimited)),
    ("ThrottlingException", Refused(Reason::RateLimited)),
    // SQS: `SendMessage`, `SendMessageBatch`.
    ("BatchEntryIdsNotDistinct", Refused(Reason::InvalidInput)),
    ("BatchRequestTooLong", Refused(Reason::InvalidInput)),
    ("EmptyBatchRequest", Refused(Reason::InvalidInput)),
    ("InvalidAddress", Refused(Reason::NotFound)),
    ("InvalidBatchEntryId", Refused(Reason::InvalidInput)),
    ("InvalidMessageContents", Refused(Reason::InvalidInput)),
    ("InvalidParameterValueException", Refused(Reason::InvalidInput)),
    ("KmsDisabled", Refused(Reason::Conflict)),
    ("KmsInvalidKeyUsage", Refused(Reason::Conflict)),
    ("KmsInvalidState", Refused(Reason::Conflict)),
    ("KmsNotFound", Refused(Reason::Conflict)),
    ("KmsOptInRequired", Refused(Reason::Conflict)),
    ("MissingRequiredParameterException", Refused(Reason::InvalidInput)),
    ("QueueDoesNotExist", Refused(Reason::NotFound)),
    ("TooManyEntriesInBatchRequest", Refused(Reason::InvalidInput)),
    ("UnsupportedOperation", Refused(Reason::InvalidInput)),
    // S3: `PutObject`, `GetObject`, `HeadObject`. On 409 its documentation says to try again; a request
    // that arrived in part adds nothing.
    ("ConditionalRequestConflict", Refused(Reason::Unavailable)),
    ("EntityTooLarge", Refused(Reason::InvalidInput)),
    ("InvalidArgument", Refused(Reason::InvalidInput)),
    ("InvalidObjectState", Refused(Reason::Conflict)),
    ("InvalidRequest", Refused(Reason::InvalidInput)),
    ("KeyTooLongError", Refused(Reason::InvalidInput)),
    ("NoSuchBucket", Refused(Reason::NotFound)),
    ("NoSuchKey", Refused(Reason::NotFound)),
    ("OperationAborted", Refused(Reason::Unavailable)),
    ("PermanentRedirect", Refused(Reason::Conflict)),
    ("PreconditionFailed", Refused(Reason::PreconditionFailed)),
    ("RequestTimeout", Refused(Reason::Unavailable)),
    // DynamoDB: `BatchWriteItem`. Of a too large collection it is not written that the whole batch is
    // refused, as it is of the other errors.
    ("ItemCollectionSizeLimitExceededException", Unclear(Reason::Conflict)),
    ("ReplicatedWriteConflictException", Unclear(Reason::Conflict)),
    ("ResourceNotFoundException", Refused(Reason::NotFound)),
    ("ValidationException", Refused(Reason::InvalidInput)),
    // EC2: `RunInstances`, `DescribeInstances`.
    ("IdempotentParameterMismatch", Refused(Reason::PayloadMismatch)),
    ("InstanceLimitExceeded", Refused(Reason::Conflict)),
    ("InsufficientFreeAddressesInSubnet", Refused(Reason::Conflict)),
    ("InsufficientInstanceCapacity", Refused(Reason::Unavailable)),
    ("InvalidAMIID.Malformed", Refused(Reason::InvalidInput)),
    ("InvalidAMIID.NotFound", Refused(Reason::NotFound)),
    ("InvalidAMIID.Unavailable", Refused(Reason::Conflict)),
    ("InvalidGroup.NotFound", Refused(Reason::NotFound)),
    ("InvalidInstanceID.Malformed", Refused(Reason::InvalidInput)),
    ("InvalidInstanceID.NotFound", Refused(Reason::NotFound)),
    ("InvalidKeyPair.NotFound", Refused(Reason::NotFound)),
    ("InvalidParameterCombination", Refused(Reason::InvalidInput)),
    ("InvalidParameterValue", Refused(Reason::InvalidInput)),
    ("InvalidSubnetID.NotFound", Refused(Reason::NotFound)),
    ("MissingParameter", Refused(Reason::InvalidInput)),
    ("Unsupported", Refused(Reason::InvalidInput)),
    ("VcpuLimitExceeded", Refused(Reason::Conflict)),
    // The services' own failures.
    ("InternalError", Nothing),
    ("InternalFailure", Nothing),
    ("InternalServerError", Nothing),
    ("ServiceUnavailable", Nothing),
    ("Unavailable", Nothing),
];

/// The schema of a failure's output.
pub(crate) fn schema() -> Value {
    let codes: Vec<_> = CODES.iter().map(|(code, _)| code).collect();
    json!({ "type": "object", "properties": { "code": { "enum": codes } }, "additionalProperties": false })
}

#[derive(Deserialize)]
struct JsonError {
    #[serde(rename = "__type")]
    kind: String,
}

/// What an answer of the JSON protocol says.
pub(crate) fn json_verdict(response: &HttpResponse) -> Verdict {
    let kind = response.json::<JsonError>().ok().map(|error| error.kind);
    // `com.amazonaws.sqs#QueueDoesNotExist`, and in some services more behind a colon.
    let name = kind.as_deref().map(|kind| kind.rsplit('#').next().unwrap_or(kind));
    verdict(response, name.map(|name| name.split(':').next().unwrap_or(name)))
}

/// What an answer of S3 or EC2 says. One to HEAD has no content and no code.
pub(crate) fn xml_verdict(response: &HttpResponse) -> Verdict {
    let verdict = verdict(response, None);
    if verdict.success { verdict } else { self::verdict(response, xml::error_code(response).as_deref()) }
}

/// The verdict by status, and what the code adds to it.
fn verdict(response: &HttpResponse, code: Option<&str>) -> Verdict {
    let by_status = response.verdict(Terms::NONE);
    if by_status.success {
        return by_status;
    }
    let known = code.and_then(known);
    let (outcome, reason) = match (by_status.outcome, known.map_or(Nothing, |(_, says)| says)) {
        (Outcome::Rejected, Refused(reason)) => (Outcome::Rejected, reason),
        (Outcome::Rejected, Unclear(reason)) => (Outcome::Unknown, reason),
        (Outcome::Unknown, Refused(reason)) if (300..400).contains(&response.status) => {
            (Outcome::Rejected, reason)
        }
        (Outcome::Rejected | Outcome::Unknown, Refused(_) | Unclear(_) | Nothing) => {
            (by_status.outcome, by_status.reason)
        }
        // AWS documents of no 500 that nothing was done, nor that it was.
        (Outcome::Committed, Refused(_) | Unclear(_) | Nothing) => (Outcome::Unknown, Reason::RemoteFailed),
    };
    let output = known.map(|(code, _)| json!({ "code": code }).to_string());
    Verdict { outcome, reason, output, ..by_status }
}

/// Why an entry of a batch failed with this code, and the output that says it.
pub(crate) fn of_entry(code: &str) -> (Option<Reason>, Option<Value>) {
    match known(code) {
        Some((code, Refused(reason))) => (Some(reason), Some(json!({ "code": code }))),
        Some((code, Unclear(_) | Nothing)) => (None, Some(json!({ "code": code }))),
        None => (None, None),
    }
}

fn known(code: &str) -> Option<(&'static str, Says)> {
    CODES.iter().find(|(listed, _)| *listed == code).copied()
}
