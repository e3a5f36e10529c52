//! Fields of a response, all of them.

use std::rc::Rc;

use ackwise_http::{Fields, http2::hpack::Field};

/// A field; copies are cheap, since one byte may name it again.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    name: Rc<[u8]>,
    value: Rc<[u8]>,
}

impl Kept {
    pub(crate) fn name_and_value(&self) -> (&[u8], &[u8]) {
        (&self.name, &self.value)
    }
}

impl Field for Kept {
    type Name = Rc<[u8]>;

    fn name_of(name: &[u8]) -> Rc<[u8]> {
        name.into()
    }

    fn new(name: Rc<[u8]>, value: &[u8]) -> Self {
        Self { name, value: value.into() }
    }

    fn name(&self) -> Rc<[u8]> {
        Rc::clone(&self.name)
    }

    /// No block is ever missed.
    fn missed() -> Self {
        Self::new(Self::name_of(b""), b"")
    }
}

/// What a block says.
#[derive(Clone, Debug, Default)]
pub(super) struct Response {
    pub(super) status: Option<u16>,
    fields: Vec<Kept>,
    size: usize,
}

impl Response {
    pub(super) fn note(&mut self, field: &Kept) {
        self.size += field.name.len() + field.value.len();
        match &*field.name {
            b":status" => {
                self.status = std::str::from_utf8(&field.value).ok().and_then(|it| it.parse().ok())
            }
            _ if self.size > FIELDS_LIMIT => {}
            _ => self.fields.push(field.clone()),
        }
    }

    pub(super) fn fields(&self) -> Fields {
        Fields::of(self.fields.iter().map(|field| (&*field.name, &*field.value)))
    }
}

/// Bytes of fields that are kept. Our choice: a few bytes may stand for megabytes.
const FIELDS_LIMIT: usize = 256 << 10;
