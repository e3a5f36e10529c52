//! Reading captures: files made by hand in every format, cut anywhere, and beside tshark's opinion.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod broken;
mod files;
mod formats;
mod hand_made;
mod links;
mod tshark;
