//! Finding out what became of a create: page through the resource's list and look for the reference
//! that every create carries in its metadata.
//!
//! The search API is not used, since it lags behind writes: what it does not show may well exist.

use crate::api;
use proofport_sdk::{Call, Evidence, Exchange, Fault, HttpRequest, Reason, ReconcileStep, Verdict, json};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The largest page that Stripe gives.
const PAGE: &str = "100";

/// Pages beyond which a search gives up and leaves the outcome unknown. The host takes 32 steps.
const MAX_PAGES: usize = 25;

/// How far before the first dispatch a search begins, since Stripe's clock is not the host's. Too
/// short a margin would miss the object and call it absent; a longer one costs pages.
const CLOCK_MARGIN_SECONDS: u64 = 60 * 60;

/// How far behind the last dispatch it ends: the longest deadline that a host has, and the margin. Stripe
/// lists the newest first, so that without an end an account with many objects would soon hide ours.
const LATEST_SECONDS: u64 = 60 * 60 + CLOCK_MARGIN_SECONDS;

/// A resource that a search can find.
pub(crate) trait Found: DeserializeOwned + Serialize {
    /// Its identifier, from which the next page continues.
    fn id(&self) -> &str;

    /// Its metadata.
    fn metadata(&self) -> &Metadata;
}

/// The part of a resource's metadata that is ours.
#[derive(Default, Deserialize)]
pub(crate) struct Metadata {
    /// The reference of the call that created it.
    #[serde(default)]
    proofport_reference: Option<String>,
}

#[derive(Deserialize)]
struct Page<T> {
    data: Vec<T>,
    has_more: bool,
}

/// A search through one list.
pub(crate) struct Search {
    /// The list.
    pub(crate) path: &'static str,
    /// What narrows it. Everything that the call can have created passes it.
    pub(crate) filters: Vec<(&'static str, String)>,
    /// Whether the list shows everything that was ever created, so that what it lacks was not.
    pub(crate) shows_all: bool,
    /// What is looked for, for people.
    pub(crate) what: &'static str,
}

/// The filters for objects created between the first dispatch and whatever came of the last.
pub(crate) fn created_around(evidence: &Evidence) -> Vec<(&'static str, String)> {
    let until = (evidence.last_dispatched_at / 1000).saturating_add(LATEST_SECONDS);
    vec![
        ("created[gte]", evidence.searched_since(CLOCK_MARGIN_SECONDS).to_string()),
        ("created[lte]", until.to_string()),
    ]
}

impl Search {
    /// The next step of this search.
    ///
    /// # Errors
    /// [`Fault::Unreadable`] where a page is not a list of the resource.
    pub(crate) fn step<T: Found>(&self, call: &Call, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
        // A service that implements a part of the API may refuse the filters. Without them the list is
        // longer and just as complete.
        let refused = matches!(history.first().map(Exchange::http).transpose()?, Some(r) if r.status == 400);
        let pages = if refused { history.get(1..).unwrap_or_default() } else { history };
        let Some(last) = pages.last() else {
            return Ok(self.ask(!refused, None));
        };
        let response = last.http()?;
        if response.status != 200 {
            // Not being able to ask says nothing about the object.
            return Ok(Verdict::unknown(Reason::Unavailable).into());
        }
        let page: Page<T> = response.json()?;
        let ours = |item: &&T| item.metadata().proofport_reference.as_deref() == Some(&call.reference);
        if let Some(found) = page.data.iter().find(ours) {
            return Ok(Verdict::present(json!(found)).into());
        }
        Ok(match (page.has_more, page.data.last()) {
            (false, _) if self.shows_all => Verdict::absent().into(),
            (false, _) => Verdict::unknown(Reason::NotFound).into(),
            (true, Some(item)) if pages.len() < MAX_PAGES => self.ask(!refused, Some(item.id())),
            // Not all of the list was seen, so that nothing is proved.
            (true, _) => Verdict::unknown(Reason::Unavailable).into(),
        })
    }

    fn ask(&self, filtered: bool, after: Option<&str>) -> ReconcileStep {
        let mut request = HttpRequest::get(self.path).query("limit", PAGE);
        if filtered {
            request = self.filters.iter().fold(request, |request, (name, value)| request.query(name, value));
        }
        if let Some(id) = after {
            request = request.query("starting_after", id);
        }
        api::authenticated(request).as_query(format!("Look for {} by its reference", self.what))
    }
}
