//! What is shown of the story: each scene as it ended, then the service's books beside our claims.

use super::claim::Claim;
use super::service::Charge;
use super::telling::{Line, Scene};
use anstyle::{AnsiColor, Style};
use proofport_core::contract::Outcome;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The columns that a line may take.
const WIDTH: usize = 100;
/// The columns of a heading, with the space before and behind it.
const MARGIN: usize = 14;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const OPEN: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// The end of the story, also as `--json` prints it.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    schema: &'static str,
    scenes: Vec<Row>,
    /// How many charges the service's books hold.
    charges_made: usize,
    /// How many charges the program claims to have been made.
    charges_claimed: usize,
    /// How many charges in the books are there a second time.
    made_twice: usize,
    /// Whether every claim is what the books say.
    pub(super) agrees: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    scene: &'static str,
    code: Option<proofport_core::code::Code>,
    outcome: Option<Outcome>,
    source: Option<proofport_core::contract::Source>,
    exit_status: i32,
    charges_in_books: Vec<String>,
    disagreements: Vec<String>,
    #[serde(skip)]
    claim: String,
}

impl Summary {
    /// Adds up the scenes, and compares all claims with all the charges in the books.
    pub(super) fn of(scenes: &[Scene]) -> Self {
        let charges = scenes.last().map(|scene| scene.books.charges.as_slice()).unwrap_or_default();
        let committed = |scene: &&Scene| scene.claim.outcome() == Some(Outcome::Committed);
        let claimed: BTreeSet<&str> =
            scenes.iter().filter(committed).filter_map(|scene| scene.claim.charge()).collect();
        let made: BTreeSet<&str> = charges.iter().map(|charge| charge.id.as_str()).collect();
        let made_twice = made_twice(charges);
        let charges_claimed = scenes.iter().filter(committed).count();
        let doubted = scenes.iter().any(|scene| !scene.doubts.is_empty());
        Self {
            schema: "proofport.demo/1",
            scenes: scenes.iter().map(Row::of).collect(),
            charges_made: charges.len(),
            charges_claimed,
            made_twice,
            agrees: claimed == made && charges.len() == charges_claimed && made_twice == 0 && !doubted,
        }
    }

    /// Shows it as a table.
    ///
    /// # Errors
    /// When it can't be written.
    pub(super) fn show(&self, out: &mut impl Write) -> io::Result<()> {
        let head = format!("{:<36}{:<38}{:>4}   {}", "scene", "our last word", "exit", "service's books");
        writeln!(out, "{DIM}{head}{DIM:#}")?;
        for row in &self.scenes {
            let made = &row.charges_in_books;
            let books = if made.is_empty() { "nothing".to_owned() } else { made.join(", ") };
            writeln!(out, "{:<36}{:<38}{:>4}   {books}", row.scene, row.claim, row.exit_status)?;
        }
        for row in &self.scenes {
            for what in &row.disagreements {
                writeln!(out, "{BAD}DISAGREES{BAD:#} {}: {what}", row.scene)?;
            }
        }
        let Self { charges_made, charges_claimed, made_twice, .. } = self;
        let style = if self.agrees { GOOD } else { BAD };
        let line = format!(
            "charges made: {charges_made}, charges claimed: {charges_claimed}, made twice: {made_twice}"
        );
        writeln!(out, "{style}{line}{style:#}")
    }
}

impl Row {
    fn of(scene: &Scene) -> Self {
        Self {
            scene: scene.title,
            code: scene.claim.code(),
            outcome: scene.claim.outcome(),
            source: scene.claim.source(),
            exit_status: scene.claim.exit,
            charges_in_books: scene.made.clone(),
            disagreements: scene.doubts.clone(),
            claim: short(&scene.claim),
        }
    }
}

/// A claim without its advice.
fn short(claim: &Claim) -> String {
    let text = claim.to_string();
    text.split(" · retry").next().unwrap_or_default().to_owned()
}

/// Every scene charges an amount of its own, once. Whatever is there again was made twice, be it by
/// the same request or by a second one.
fn made_twice(charges: &[Charge]) -> usize {
    let intents: BTreeSet<(u64, &str)> = charges.iter().map(|c| (c.amount, c.currency.as_str())).collect();
    charges.len() - intents.len()
}

/// Shows one scene.
///
/// # Errors
/// When it can't be written.
pub(super) fn show(out: &mut impl Write, number: usize, scene: &Scene) -> io::Result<()> {
    let title = format!("{number}  {}", scene.title);
    let (count, more) = (scene.books.charges.len(), scene.made.len());
    let plural = if count == 1 { "charge" } else { "charges" };
    let books = format!("service's own books: {count} {plural} (+{more})");
    writeln!(out, "{BOLD}{title:<55}{BOLD:#}{books:>45}")?;
    for line in &scene.lines {
        match line {
            Line::Command(command) => writeln!(out, "   {DIM}${DIM:#} proofport {command}")?,
            Line::Service(text) => headed(out, "service", text)?,
            Line::Note(heading, text) => headed(out, heading, text)?,
            Line::Claim { text, exit } => {
                let style = if *exit == 0 { GOOD } else { OPEN };
                let room = WIDTH - MARGIN - 8;
                writeln!(out, "     {DIM}{:<9}{DIM:#}{style}{text:<room$}{style:#} exit {exit:>2}", "claim")?;
            }
        }
    }
    writeln!(out)
}

/// A text behind its heading, broken between words where it is too long for a line.
fn headed(out: &mut impl Write, heading: &str, text: &str) -> io::Result<()> {
    let mut heading = heading;
    for line in broken(text, WIDTH - MARGIN) {
        writeln!(out, "     {DIM}{heading:<9}{DIM:#}{line}")?;
        heading = "";
    }
    Ok(())
}

fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_books_again_was_made_twice() {
        let check = |amounts: &[u64], expected: usize| {
            let charge = |(n, amount): (usize, &u64)| Charge {
                id: format!("ch_{n}"),
                amount: *amount,
                currency: "eur".to_owned(),
                status: "succeeded".to_owned(),
                reference: format!("pp{n}"),
            };
            let charges: Vec<Charge> = amounts.iter().enumerate().map(charge).collect();
            assert_eq!(made_twice(&charges), expected, "{amounts:?}");
        };
        check(&[], 0);
        check(&[1, 2, 3], 0);
        check(&[1, 2, 1], 1);
        check(&[1, 1, 1], 2);
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        let check = |text: &str, width: usize, expected: &[&str]| assert_eq!(broken(text, width), expected);
        check("", 10, &[""]);
        check("one two", 7, &["one two"]);
        check("one two", 6, &["one", "two"]);
        check("a → b → c", 5, &["a → b", "→ c"]);
        check("longer-than-that x", 4, &["longer-than-that", "x"]);
    }
}
