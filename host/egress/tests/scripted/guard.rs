//! What logged in does not come back in output.

use crate::server::{Peer, Script, Step};
use crate::{options, run};
use Step::{Close, Eof, Err, Out, Status, Success};

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_the_output_is_masked_or_withholds_it() {
    let check = async |steps: &'static [Step], shown: Option<(&str, &str)>, masked: u32| {
        let peer = Peer::start(Script::new(steps)).await;
        let exchange = run(&peer, options(), 0).await;
        let got = exchange.response.as_ref().map(|response| {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            (text(&response.stdout), text(&response.stderr))
        });
        assert_eq!(got, shown.map(|(out, err)| (out.to_owned(), err.to_owned())), "{steps:?}");
        assert_eq!(exchange.evidence.masked, masked, "{steps:?}");
        assert_eq!(exchange.evidence.withheld, shown.is_none(), "{steps:?}");
        assert!(exchange.evidence.complete(), "the end is evidence all the same");
    };
    check(&[Success, Out("nothing"), Status(0), Eof, Close], Some(("nothing", "")), 0).await;
    check(
        &[
            Success,
            Out("it is correct ho"),
            Out("rse battery."),
            Err("correct horse battery"),
            Status(0),
            Eof,
            Close,
        ],
        Some(("it is [masked by proofport].", "[masked by proofport]")),
        2,
    )
    .await;
    // In base64.
    check(&[Success, Out("Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"), Status(0), Eof, Close], None, 0).await;
    check(&[Success, Err("correct%20horse%20battery"), Status(0), Eof, Close], None, 0).await;
}
