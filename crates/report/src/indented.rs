//! JSON indented by two spaces, as serde_json does it, in one write for each line: reports have millions.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// Where in the document it is.
#[derive(Debug, Default)]
pub(crate) struct Indented {
    depth: usize,
    /// The innermost array or object has something in it.
    is_filled: bool,
}

/// A line feed, and more spaces than documents are deep.
const LINE: &str = "\n                                                                ";

impl Indented {
    fn line<W: Write + ?Sized>(&self, writer: &mut W) -> io::Result<()> {
        let width = LINE.len() - 1;
        let spaces = 2 * self.depth;
        writer.write_all(&LINE.as_bytes()[..=spaces.min(width)])?;
        // Deeper than that, the rest comes in pieces.
        for done in (width..spaces).step_by(width) {
            writer.write_all(&LINE.as_bytes()[1..=(spaces - done).min(width)])?;
        }
        Ok(())
    }

    fn begin<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_filled = false;
        writer.write_all(bracket)
    }

    fn end<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.is_filled {
            self.line(writer)?;
        }
        writer.write_all(bracket)
    }

    fn item<W: Write + ?Sized>(&self, writer: &mut W, is_first: bool) -> io::Result<()> {
        if !is_first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }
}

impl Formatter for Indented {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(writer, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_filled = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(writer, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_filled = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::{Serializer, Value, json};

    use super::*;

    #[test]
    fn it_is_what_serde_json_writes() {
        let nested = (0..50).fold(json!([]), |inner, _| json!({ "in": inner, "beside": [1, {}] }));
        for document in [nested, json!({}), json!([[], {}, null, "a\nb"]), json!(1.5)] {
            let mut written = Vec::new();
            let mut serializer = Serializer::with_formatter(&mut written, Indented::default());
            Value::serialize(&document, &mut serializer).unwrap();
            let expected = serde_json::to_string_pretty(&document).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }
}
