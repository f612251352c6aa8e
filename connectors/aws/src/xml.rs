//! Reading the XML of S3's errors and of EC2's answers.

use proofport_sdk::{Fault, HttpResponse};
use roxmltree::{Document, Node};

/// Reads an answer.
///
/// # Errors
/// [`Fault::Unreadable`] where it is not XML. A document type declaration is not read either, since
/// entities could make much of little, and AWS sends none.
pub(crate) fn parse(response: &HttpResponse) -> Result<Document<'_>, Fault> {
    let text = std::str::from_utf8(&response.body).map_err(|_| Fault::Unreadable)?;
    Document::parse(text).map_err(|_| Fault::Unreadable)
}

/// The error's code: S3 sends an `Error` element alone, EC2 one within others.
pub(crate) fn error_code(response: &HttpResponse) -> Option<String> {
    let document = parse(response).ok()?;
    let error = document.descendants().find(|node| node.tag_name().name() == "Error")?;
    text(error, "Code").map(str::to_owned)
}

/// The element's children of this name.
pub(crate) fn children<'a, 'input>(
    of: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    of.children().filter(move |node| node.tag_name().name() == name)
}

/// The text in the element's first child of this name.
pub(crate) fn text<'a>(of: Node<'a, '_>, name: &'static str) -> Option<&'a str> {
    children(of, name).next()?.text()
}
