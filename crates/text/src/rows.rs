//! JSON with a line for each row: indented down to what is in the document's own arrays and objects, and on one
//! line below. Reports have millions of rows, and half of each would be spaces.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// Where in the document it is.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    depth: usize,
    /// The innermost array or object has something in it.
    is_filled: bool,
}

/// The deepest lines: what the document holds, and what that holds.
const DEEPEST: usize = 2;

impl Rows {
    fn line<W: Write + ?Sized>(&self, writer: &mut W) -> io::Result<()> {
        match self.depth {
            0 => writer.write_all(b"\n"),
            1 => writer.write_all(b"\n  "),
            DEEPEST => writer.write_all(b"\n    "),
            _ => Ok(()),
        }
    }

    fn begin<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_filled = false;
        writer.write_all(bracket)
    }

    fn end<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.is_filled && self.depth < DEEPEST {
            self.line(writer)?;
        }
        writer.write_all(bracket)
    }

    fn item<W: Write + ?Sized>(&self, writer: &mut W) -> io::Result<()> {
        match (self.is_filled, self.depth > DEEPEST) {
            (false, _) => {}
            (true, true) => return writer.write_all(b", "),
            (true, false) => writer.write_all(b",")?,
        }
        self.line(writer)
    }
}

impl Formatter for Rows {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, writer: &mut W, _: bool) -> io::Result<()> {
        self.item(writer)
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

    fn begin_object_key<W: Write + ?Sized>(&mut self, writer: &mut W, _: bool) -> io::Result<()> {
        self.item(writer)
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

    fn written(document: &Value) -> String {
        let mut written = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut written, Rows::default());
        document.serialize(&mut serializer).unwrap();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn a_row_is_a_line() {
        let document = json!({
            "a": 1,
            "rows": [{ "id": 0, "packets": [1, 2], "none": {} }, { "id": 1 }],
            "sums": { "p50": { "ms": 1.5 }, "p99": null },
            "empty": [],
        });
        let lines = [
            r#"{"#,
            r#"  "a": 1,"#,
            r#"  "empty": [],"#,
            r#"  "rows": ["#,
            r#"    {"id": 0, "none": {}, "packets": [1, 2]},"#,
            r#"    {"id": 1}"#,
            r#"  ],"#,
            r#"  "sums": {"#,
            r#"    "p50": {"ms": 1.5},"#,
            r#"    "p99": null"#,
            r#"  }"#,
            r#"}"#,
        ];
        assert_eq!(written(&document), lines.join("\n"));
    }

    #[test]
    fn it_is_the_same_document() {
        let nested = (0..50).fold(json!([]), |inner, _| json!({ "in": inner, "beside": [1, {}] }));
        for document in [nested, json!({}), json!([[], {}, null, "a\nb"]), json!(1.5)] {
            assert_eq!(serde_json::from_str::<Value>(&written(&document)).unwrap(), document);
        }
    }
}
