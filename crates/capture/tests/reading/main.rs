//! Reading captures: files made by hand in every format, cut anywhere, and beside tshark's opinion.

mod broken;
mod files;
mod formats;
mod hand_made;
mod links;
mod tshark;
