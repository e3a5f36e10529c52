//! A line of text to a segment, or to a question about one.

use core::{error::Error, fmt, num::ParseIntError, str::FromStr};

use crate::{
    notation::Isns,
    segment::{Flags, Options, SackBlocks, Segment, TimeWaitHolder, Timestamps, WindowShift},
    seq::SeqNumber,
};

/// A segment as a line of text describes it. What the line leaves out may be anything.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pattern {
    /// The control bits besides ACK.
    pub flags: Flags,
    /// The relative sequence number and the bytes of data, `None` for any number and no data.
    pub seq: Option<(u32, u32)>,
    /// The relative acknowledgement, if the ACK bit is set.
    pub ack: Option<u32>,
    /// The window as it stands in the header.
    pub window: Option<u16>,
    /// The options, SACK blocks with relative numbers. `<>` asks for none.
    pub options: Option<Options>,
    /// Who holds TIME-WAIT, which is written among the options: if they are left out, it may be
    /// anything too.
    pub time_wait_holder: Option<TimeWaitHolder>,
}

impl Pattern {
    /// Whether `segment` is as described.
    #[must_use]
    pub fn matches(&self, segment: &Segment, isns: Isns) -> bool {
        let described = self.segment(isns, segment.seq, segment.window);
        let (options, time_wait_holder) = match self.options {
            Some(_) => (described.options, described.time_wait_holder),
            None => (segment.options, segment.time_wait_holder),
        };
        Segment { options, time_wait_holder, ..described } == *segment
    }

    /// The segment described; without sequence number it begins at `next`, without a window it has
    /// `window`, without options none.
    #[must_use]
    pub fn segment(&self, isns: Isns, next: SeqNumber, window: u16) -> Segment {
        let (seq, len) = match self.seq {
            Some((seq, len)) => (isns.sender + seq, len),
            None => (next, 0),
        };
        Segment {
            seq,
            ack: self.ack.map(|ack| isns.receiver + ack),
            flags: self.flags,
            window: self.window.unwrap_or(window),
            options: self.options.map_or(Options::NONE, |options| absolute(options, isns)),
            time_wait_holder: self.time_wait_holder,
            len,
        }
    }
}

fn absolute(options: Options, isns: Isns) -> Options {
    let mut sack = SackBlocks::default();
    for (left, right) in options.sack.iter() {
        sack.push(isns.receiver + left.0, isns.receiver + right.0);
    }
    Options { sack, ..options }
}

impl FromStr for Pattern {
    type Err = NotationError;

    fn from_str(line: &str) -> Result<Self, NotationError> {
        let mut cursor = Cursor { line, at: 0 };
        let (flags, acknowledges) = flags(&mut cursor)?;
        let seq = sequence(&mut cursor)?;
        let ack = if acknowledges {
            cursor.expect("ack")?;
            Some(cursor.number()?)
        } else {
            None
        };
        let window = if cursor.take("win") { Some(cursor.number()?) } else { None };
        let (options, time_wait_holder) = if cursor.take("<") {
            let (options, holder) = options(&mut cursor)?;
            (Some(options), holder)
        } else {
            (None, None)
        };
        cursor.end()?;
        Ok(Self { flags, seq, ack, window, options, time_wait_holder })
    }
}

fn flags(cursor: &mut Cursor<'_>) -> Result<(Flags, bool), NotationError> {
    let expected = cursor.error("control bits out of FSRPU. or -");
    let mut flags = Flags::NONE;
    let mut acknowledges = false;
    let word = cursor.word();
    if word.is_empty() {
        return Err(expected);
    }
    for letter in word.chars() {
        match letter {
            'F' => flags.fin = true,
            'S' => flags.syn = true,
            'R' => flags.rst = true,
            'P' => flags.psh = true,
            'U' => flags.urg = true,
            '.' => acknowledges = true,
            '-' if word.len() == 1 => {}
            _ => return Err(expected),
        }
    }
    Ok((flags, acknowledges))
}

/// `1:501(500)`, or nothing.
fn sequence(cursor: &mut Cursor<'_>) -> Result<Option<(u32, u32)>, NotationError> {
    if !cursor.rest().starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(None);
    }
    let seq: u32 = cursor.number()?;
    cursor.expect(":")?;
    let wrong_end = cursor.error("the sequence number plus the bytes of data");
    let end: u32 = cursor.number()?;
    cursor.expect("(")?;
    let len: u32 = cursor.number()?;
    cursor.expect(")")?;
    if seq.wrapping_add(len) == end { Ok(Some((seq, len))) } else { Err(wrong_end) }
}

/// What stands between `<` and `>`.
fn options(cursor: &mut Cursor<'_>) -> Result<(Options, Option<TimeWaitHolder>), NotationError> {
    let (mut options, mut holder) = (Options::NONE, None);
    if cursor.take(">") {
        return Ok((options, holder));
    }
    loop {
        if cursor.take("TW") {
            holder = Some(time_wait_holder(cursor)?);
        } else {
            option(&mut options, cursor)?;
        }
        if !cursor.take(",") {
            break;
        }
    }
    cursor.expect(">")?;
    Ok((options, holder))
}

fn option(options: &mut Options, cursor: &mut Cursor<'_>) -> Result<(), NotationError> {
    let unknown = cursor.error("an option: mss, sackOK, TS, wscale, TW, sack or nop");
    if cursor.take("mss") {
        options.mss = Some(cursor.number()?);
    } else if cursor.take("sackOK") {
        options.sack_permitted = true;
    } else if cursor.take("TS") {
        cursor.expect("val")?;
        let value = cursor.number()?;
        cursor.expect("ecr")?;
        options.timestamps = Some(Timestamps { value, echo: cursor.number()? });
    } else if cursor.take("wscale") {
        options.window_scale = Some(WindowShift::new(cursor.number()?));
    } else if cursor.take("sack") {
        options.sack = blocks(cursor)?;
    } else if !cursor.take("nop") {
        return Err(unknown);
    }
    Ok(())
}

fn time_wait_holder(cursor: &mut Cursor<'_>) -> Result<TimeWaitHolder, NotationError> {
    let found = [TimeWaitHolder::Mine, TimeWaitHolder::Yours]
        .into_iter()
        .find(|holder| cursor.take(holder.name()));
    found.ok_or_else(|| cursor.error("mine or yours"))
}

fn blocks(cursor: &mut Cursor<'_>) -> Result<SackBlocks, NotationError> {
    let mut blocks = SackBlocks::default();
    while blocks.len() < SackBlocks::MAX {
        let left = cursor.number()?;
        cursor.expect(":")?;
        blocks.push(SeqNumber(left), SeqNumber(cursor.number()?));
        if cursor.rest().starts_with([',', '>']) {
            return Ok(blocks);
        }
    }
    Err(cursor.error("at most four sack blocks"))
}

/// Where in the line we are. Blanks before a token mean nothing.
struct Cursor<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.line[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn word(&mut self) -> &'a str {
        let word = self.rest().split_whitespace().next().unwrap_or_default();
        self.at += word.len();
        word
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &'static str) -> Result<(), NotationError> {
        if self.take(token) { Ok(()) } else { Err(self.error(token)) }
    }

    fn number<T: FromStr<Err = ParseIntError>>(&mut self) -> Result<T, NotationError> {
        let rest = self.rest();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..digits].parse().map_err(|_| self.error(NUMBER))?;
        self.at += digits;
        Ok(number)
    }

    fn end(&mut self) -> Result<(), NotationError> {
        if self.rest().is_empty() { Ok(()) } else { Err(self.error("the end of the line")) }
    }

    fn error(&mut self, expected: &'static str) -> NotationError {
        self.rest();
        NotationError { at: self.at, expected }
    }
}

const NUMBER: &str = "a number that fits its field";

/// A line that does not describe a segment. Who wrote the line is at fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotationError {
    /// Bytes from the beginning of the line to where it goes wrong.
    pub at: usize,
    /// What would have been right there.
    pub expected: &'static str,
}

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at byte {}", self.expected, self.at)
    }
}

impl Error for NotationError {}
