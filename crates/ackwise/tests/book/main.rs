//! The commands in the book do what it says. Each block of commands has a class after its language:
//!
//! - `exact`: standard output is the next block of text;
//! - `live`: exit code and the lines of the next block of text, in order, with numbers masked;
//! - `shown`: needs another machine; only the options of `ackwise` are compared with its help.
//!
//! `exit=N` is the exit code of a block if it is not 0, `needs=PROGRAM` a program that may be missing (or `root`, or the feature `parquet`). A
//! block with `file=NAME` is written to that file first. In text, a line with only `…` stands for any
//! lines. The blocks of a page run in order in one shell, in a directory of their own.

#![cfg(target_os = "linux")]

mod compare;
mod page;
mod session;

use std::{fs, path::Path, thread};

use ackwise_testing::{in_namespace, inconclusive, skip};

use self::page::{Class, Page};

#[test]
fn commands_do_what_the_book_says() {
    let mut complaints = Vec::new();
    for page in pages().iter().filter(|page| page.runs()) {
        match page.missing() {
            Some(missing) => skip(TEST, format!("{}: {missing}", page.path)),
            // A page's ports are its own there.
            None => in_namespace(TEST, || complaints.extend(tried(page))),
        }
    }
    // A busy machine is not a wrong page, if it is what the program itself says.
    let is_disturbed = |complaint: &String| complaint.contains("run the check again");
    let (disturbed, wrong): (Vec<_>, Vec<_>) = complaints.into_iter().partition(is_disturbed);
    for complaint in disturbed {
        inconclusive(TEST, complaint.lines().next().unwrap_or_default());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn each_block_of_commands_has_a_class_and_few_are_not_run() {
    let mut complaints = Vec::new();
    let mut shown = Vec::new();
    for page in pages() {
        for block in page.commands() {
            let place = format!("{}:{}", page.path, block.line);
            match block.class {
                Some(Class::Shown) => shown.push(place),
                Some(_) => {}
                None => complaints.push(format!("{place}: no class")),
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(shown.len() <= MOST_SHOWN, "{} blocks do not run:\n{}", shown.len(), shown.join("\n"));
}

#[test]
fn options_in_the_book_exist() {
    let mut complaints = Vec::new();
    let mut uses = 0;
    for page in pages() {
        for block in page.commands() {
            for (command, option) in block.options() {
                uses += 1;
                let help = session::help(&command);
                let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
                if !help.split(|letter| !is_of_name(letter)).any(|word| word == option) {
                    let place = format!("{}:{}", page.path, block.line);
                    complaints.push(format!("{place}: ackwise {command} has no {option}"));
                }
            }
        }
    }
    assert!(uses > 20, "{uses} options found");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What a page claims and its commands do not do, on each of its attempts.
fn tried(page: &Page) -> Vec<String> {
    let mut complaints = Vec::new();
    for attempt in 0..ATTEMPTS {
        complaints = session::run(page);
        if complaints.is_empty() {
            break;
        }
        // What the machine did beside it may be over by then.
        thread::sleep(page::PAUSE * attempt);
    }
    complaints
}

/// The chapters of the book.
fn pages() -> Vec<Page> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("the book has a summary");
    let links = summary.split("](").skip(1).filter_map(|part| part.split_once(')'));
    let pages: Vec<_> = links
        .map(|(link, _)| {
            let text = fs::read_to_string(docs.join(link));
            Page::read(link, &text.unwrap_or_else(|error| panic!("docs/{link}: {error}")))
        })
        .collect();
    assert!(pages.len() > 20, "{} pages", pages.len());
    pages
}

const TEST: &str = "commands_do_what_the_book_says";

/// Blocks that are not run: our choice, so that a new one needs a reason.
const MOST_SHOWN: usize = 20;

/// Live commands measure time, which other programs on the machine disturb (our choice).
const ATTEMPTS: u32 = 3;
