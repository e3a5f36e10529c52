//! Asks the reader what it takes: a small file that is right, with one value exchanged, is read again and
//! again. The reader's typed errors say which names it knows, what is missing, and where.
//!
//! Whether a value may stand in a place is tried, not guessed from a message.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    sync::LazyLock,
};

use super::{
    super::{
        Draft, Experiment, ExperimentError, Problem,
        document::{Item, Table, Value as Written},
        error::METRIC,
        path::NAMED,
        place::Place,
    },
    Alternative, Fields, Key, Need, Unit, Value, Varies,
    meanings::{canonical, default_value},
    spot::Spot,
};

/// Two hosts and one between them, a router, links, and users of the web: something stands in each section.
const BASE: &str = r#"
duration = "10 s"
host = { client = {}, middle = {}, server = {} }
router = { way = {} }
link.near = { ends = ["client", "middle"] }
link.far = { ends = ["middle", "server"] }
link.side = { ends = ["middle", "way"] }
application.app = { kind = "web", client = "client", server = "server", workload = "heidemann", transfer = "persistent" }
"#;

/// Everything that a file may contain.
pub(super) static KEYS: LazyLock<Found> = LazyLock::new(|| {
    let base = Item::parse("probe", BASE).expect("it is TOML");
    let probe = Probe { questions: Cell::new(0), defaults: RefCell::new(BTreeMap::new()) };
    match probe.table(&base, &Spot::top()) {
        Some((Alternative::Table(fields), _)) => {
            Found { fields, defaults: probe.defaults.into_inner() }
        }
        other => panic!("the document is a table, not {other:?}"),
    }
});

/// What the reader has said.
pub(super) struct Found {
    pub(crate) fields: Fields,
    /// For each default that `meanings.txt` gives as a value: whether the reader takes it for one.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test reads it"))]
    pub(crate) defaults: BTreeMap<String, IsDefault>,
}

/// Whether a file that says the value means the same as one without the key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum IsDefault {
    Yes,
    No,
}

struct Probe {
    questions: Cell<usize>,
    defaults: RefCell<BTreeMap<String, IsDefault>>,
}

/// Our choice: many times what is needed. More means that the probe does not end.
const MOST_QUESTIONS: usize = 1_000_000;

/// No table of the reader requires more keys. Our choice.
const MOST_REPAIRS: usize = 40;

/// A name that nothing has.
const NOBODY: &str = "?";

/// A file that is right with a value in question.
struct Trial {
    /// The value, if it is one word.
    word: Option<String>,
    document: Item,
}

impl Probe {
    fn ask(&self, document: &Item) -> Result<Experiment, ExperimentError> {
        self.questions.set(self.questions.get() + 1);
        assert!(self.questions.get() <= MOST_QUESTIONS, "the reader's keys have no end");
        Experiment::read(Draft { name: "probe".to_owned(), document: document.clone() })
    }

    /// What a file says, for comparison.
    fn meaning(&self, document: &Item) -> Option<String> {
        let Experiment { title, seeds, show, cases, .. } = self.ask(document).ok()?;
        let scenarios: Vec<_> = cases.iter().map(|case| &case.scenario).collect();
        Some(format!("{title:?} {seeds:?} {show:?} {scenarios:?}"))
    }

    /// What the reader says about `item` itself, if it stands at `spot`.
    fn objection(&self, document: &Item, spot: &Spot, item: Item) -> Option<Problem> {
        let error = self.ask(&spot.with(document, item)).err()?;
        spot.covers(error.path()).then(|| error.problem().clone())
    }

    /// Whether a simple value may stand there. That it contradicts another one is no objection.
    fn takes(&self, document: &Item, spot: &Spot, item: Item) -> bool {
        matches!(self.objection(document, spot, item), None | Some(Problem::Contradiction { .. }))
    }

    /// The document with what it lacks added and what nobody asks for removed, up to an error that is neither.
    fn repaired(&self, mut document: Item) -> Result<Item, (Item, ExperimentError)> {
        let mut added: Vec<Spot> = Vec::new();
        for _ in 0..MOST_REPAIRS {
            let Err(error) = self.ask(&document) else { return Ok(document) };
            let here = Spot::parse(error.path());
            let spot = match error.problem() {
                Problem::Missing { key, .. } => here.key(key),
                // It was taken while the reader looked for something else first.
                Problem::Wrong { .. } if added.contains(&here) => here,
                Problem::Unknown { kind: "key", found, .. } if found != NOBODY => {
                    document = here.key(found).without(&document);
                    continue;
                }
                _ => return Err((document, error)),
            };
            let Some(item) = self.example(&document, &spot) else { return Err((document, error)) };
            document = spot.with(&document, item);
            added.push(spot);
        }
        panic!("too much is missing in {document:?}")
    }

    /// A value that may stand there.
    fn example(&self, document: &Item, spot: &Spot) -> Option<Item> {
        let scalars = SAMPLES.iter().flat_map(|(_, samples)| *samples).map(|text| literal(text));
        let words = self.words(document, spot).into_iter().map(|word| text(&word));
        let mut simple = scalars.chain(words);
        if let Some(item) = simple.find(|it| self.objection(document, spot, it.clone()).is_none()) {
            return Some(item);
        }
        if self.has_items(document, spot) {
            let inner = spot.index(0);
            return self.example(&inner.with(document, text(NOBODY)), &inner).map(list);
        }
        let table = spot.with(document, empty());
        self.repaired(table).ok().and_then(|document| spot.find(&document).cloned())
    }

    /// The words that the reader names when it finds one that it does not know.
    fn words(&self, document: &Item, spot: &Spot) -> Vec<String> {
        match self.objection(document, spot, text(NOBODY)) {
            Some(Problem::Unknown { kind, known, .. }) if kind != "key" && kind != METRIC => known,
            Some(Problem::Wrong { expected, .. }) => {
                expected.split('"').skip(1).step_by(2).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What may stand at `spot`, and files that show it.
    fn value(&self, document: &Item, spot: &Spot) -> (Value, Vec<Trial>) {
        let mut trials = Vec::new();
        let mut alternatives = self.scalars(document, spot, &mut trials);
        alternatives.extend(self.names(document, spot, &mut trials));
        let complex = [self.list(document, spot), self.table(document, spot)];
        for (alternative, example) in complex.into_iter().flatten() {
            alternatives.push(alternative);
            trials.extend(example.and_then(|item| self.trial(document, spot, item)));
        }
        let expected = match self.objection(document, spot, text(NOBODY)) {
            Some(Problem::Wrong { expected, .. }) => Some(expected),
            _ => None,
        };
        let varies = self.varies(spot, &trials);
        (Value { alternatives, expected, varies }, trials)
    }

    /// The file with `item` in it, and with what the item needs.
    fn trial(&self, document: &Item, spot: &Spot, item: Item) -> Option<Trial> {
        let word = match &item.value {
            Written::Text(word) => Some(word.clone()),
            _ => None,
        };
        let document = self.repaired(spot.with(document, item)).ok()?;
        Some(Trial { word, document })
    }

    fn scalars(&self, document: &Item, spot: &Spot, trials: &mut Vec<Trial>) -> Vec<Alternative> {
        let mut found = Vec::new();
        for (scalar, samples) in SAMPLES {
            let mut samples: Vec<_> = samples.iter().map(|text| literal(text)).collect();
            samples.retain(|item| self.takes(document, spot, item.clone()));
            samples.sort_by_key(|item| self.objection(document, spot, item.clone()).is_some());
            let Some(item) = samples.into_iter().next() else { continue };
            trials.extend(self.trial(document, spot, item));
            let alternative = match scalar {
                Scalar::Flag => Alternative::Flag,
                // Every quantity is a text.
                Scalar::Text => return vec![Alternative::Text],
                Scalar::Quantity(unit) => Alternative::Quantity(*unit),
                // Every integer is a number.
                Scalar::Integer if matches!(found.last(), Some(Alternative::Number { .. })) => {
                    continue;
                }
                Scalar::Integer => {
                    let [least, most] = self.limits(document, spot, Written::Integer(i64::MIN));
                    Alternative::Integer { least, most }
                }
                Scalar::Number => {
                    let [least, most] = self.limits(document, spot, Written::Number(f64::MIN));
                    Alternative::Number { least, most }
                }
            };
            found.push(alternative);
        }
        found
    }

    /// The limits that the reader names when it finds `extreme`: "an integer from 1 to 255".
    fn limits<N: std::str::FromStr>(
        &self,
        document: &Item,
        spot: &Spot,
        extreme: Written,
    ) -> [N; 2] {
        let objection = self.objection(document, spot, item(extreme));
        let Some(Problem::Wrong { expected, .. }) = objection else {
            panic!("{} has no limits: {objection:?}", spot.path())
        };
        let (_, range) = expected.split_once(" from ").expect("it says from where");
        let (least, most) = range.split_once(" to ").expect("it says to where");
        [least, most].map(|text| {
            let number = text.parse().ok();
            number.unwrap_or_else(|| panic!("{}: {expected} has no limits", spot.path()))
        })
    }

    fn names(&self, document: &Item, spot: &Spot, trials: &mut Vec<Trial>) -> Option<Alternative> {
        match self.objection(document, spot, text(NOBODY)) {
            Some(Problem::Unknown { kind: METRIC, .. }) => return Some(Alternative::Text),
            Some(Problem::Unknown { kind: "node", .. }) => return Some(Alternative::Node),
            _ => {}
        }
        let mut words = self.words(document, spot);
        words.retain(|word| !word.contains(' ') && self.takes(document, spot, text(word)));
        trials.extend(words.iter().filter_map(|word| self.trial(document, spot, text(word))));
        (!words.is_empty()).then_some(Alternative::Words(words))
    }

    /// Whether the reader looks at the items of a list there.
    fn has_items(&self, document: &Item, spot: &Spot) -> bool {
        let error = self.ask(&spot.with(document, list(text(NOBODY)))).err();
        error.is_none_or(|error| spot.index(0).covers(error.path()))
    }

    fn list(&self, document: &Item, spot: &Spot) -> Option<(Alternative, Option<Item>)> {
        let there = spot.find(document).filter(|item| matches!(item.value, Written::List(_)));
        if there.is_none() && !self.has_items(document, spot) {
            return None;
        }
        let inner = spot.index(0);
        let long = there.map_or_else(|| inner.with(document, text(NOBODY)), |_| document.clone());
        let (value, _) = self.value(&long, &inner);
        let example = there.cloned().or_else(|| self.example(&long, &inner).map(list));
        Some((Alternative::List(Box::new(value)), example))
    }

    fn table(&self, document: &Item, spot: &Spot) -> Option<(Alternative, Option<Item>)> {
        let there = spot.find(document).filter(|item| matches!(item.value, Written::Table(_)));
        if let Some(section) = spot.section().filter(|section| NAMED.contains(section)) {
            return self.section(document, spot, section).map(|it| (it, None));
        }
        let start = spot.with(document, there.cloned().unwrap_or_else(empty));
        let with_nobody = spot.key(NOBODY).with(&start, empty());
        let (document, error) = self.repaired(with_nobody).err()?;
        let Problem::Unknown { kind, found, known } = error.problem() else { return None };
        if found != NOBODY || error.path() != spot.path() || *kind == "node" {
            return None;
        }
        if *kind != "key" {
            return Some(self.choice(&document, spot, known));
        }
        let document = spot.key(NOBODY).without(&document);
        let document = self.repaired(document).unwrap_or_else(|(document, _)| document);
        let fields = self.fields(&document, spot, known);
        Some((Alternative::Table(fields), spot.find(&document).cloned()))
    }

    fn section(&self, document: &Item, spot: &Spot, section: &str) -> Option<Alternative> {
        if section == "grid" {
            return Some(Alternative::Grid);
        }
        let Written::Table(table) = &spot.find(document)?.value else { return None };
        let (value, _) = self.value(document, &spot.key(&table.entries.first()?.key));
        Some(Alternative::Sections(Box::new(value)))
    }

    /// A table of one of the keys `known`.
    fn choice(
        &self,
        document: &Item,
        spot: &Spot,
        known: &[String],
    ) -> (Alternative, Option<Item>) {
        if let Some(again) = known.iter().find(|name| spot.passes(name)) {
            return (Alternative::Again(again.clone()), None);
        }
        let mut payloads = Vec::new();
        let mut example = None;
        for name in known {
            let (inner, bare) = (spot.key(name), spot.with(document, empty()));
            let document = inner.with(&bare, empty());
            let (value, _) = self.value(&document, &inner);
            if value.alternatives.is_empty() {
                continue;
            }
            payloads.push((name.clone(), value));
            let own = self.example(&document, &inner).map(|item| inner.with(&bare, item));
            example = example.or_else(|| own.and_then(|document| spot.find(&document).cloned()));
        }
        (Alternative::Choice(payloads), example)
    }

    /// The keys that the table there is asked for.
    fn known(&self, document: &Item, spot: &Spot) -> Option<Vec<String>> {
        let error = self.ask(&spot.key(NOBODY).with(document, empty())).err()?;
        match error.problem() {
            Problem::Unknown { kind: "key", known, .. } if error.path() == spot.path() => {
                Some(known.clone())
            }
            _ => None,
        }
    }

    fn fields(&self, document: &Item, spot: &Spot, known: &[String]) -> Fields {
        for name in known {
            let mut trials = Vec::new();
            self.names(document, &spot.key(name), &mut trials);
            let keys_of = |trial: &Trial| self.known(&trial.document, spot);
            let kinds: Vec<_> = trials.iter().filter_map(|it| Some((it, keys_of(it)?))).collect();
            let lacks = |keys: &Vec<String>| known.iter().any(|key| !keys.contains(key));
            if !kinds.iter().any(|(_, keys)| lacks(keys)) {
                continue;
            }
            let kinds = kinds.into_iter().map(|(trial, keys)| {
                let word = trial.word.clone().unwrap_or_default();
                (word, self.keys(&trial.document, spot, &keys, name))
            });
            let by = Some((name.clone(), kinds.collect()));
            return Fields { keys: vec![self.key(document, spot, name).0], by };
        }
        Fields { keys: self.keys(document, spot, known, ""), by: None }
    }

    /// The keys `known`, and those that some value of theirs brings, except one.
    fn keys(&self, document: &Item, spot: &Spot, known: &[String], except: &str) -> Vec<Key> {
        let mut todo: Vec<_> = known.iter().map(|key| (key.clone(), document.clone())).collect();
        todo.retain(|(key, _)| key != except);
        let mut keys = Vec::new();
        while let Some((name, document)) = todo.get(keys.len()).cloned() {
            let (key, trials) = self.key(&document, spot, &name);
            for trial in trials {
                for key in self.known(&trial.document, spot).unwrap_or_default() {
                    if key != except && todo.iter().all(|(known, _)| *known != key) {
                        todo.push((key, trial.document.clone()));
                    }
                }
            }
            keys.push(key);
        }
        keys
    }

    fn key(&self, document: &Item, table: &Spot, name: &str) -> (Key, Vec<Trial>) {
        let spot = table.key(name);
        let (value, trials) = self.value(document, &spot);
        let without = spot.without(document);
        let missing = self.ask(&without).err().is_some_and(|error| match error.problem() {
            Problem::Missing { key, .. } => key == name && error.path() == table.path(),
            // Another key is taken for this one with a slip of the fingers.
            Problem::Unknown { kind: "key", known, .. } => *known == [name],
            _ => false,
        });
        let label = canonical(&label(document, &spot));
        if let Some(default) = default_value(&label).filter(|_| !missing) {
            let meaning = self.meaning(&without);
            let same = self.meaning(&spot.with(&without, literal(default))) == meaning;
            let is_default = if same && meaning.is_some() { IsDefault::Yes } else { IsDefault::No };
            self.defaults.borrow_mut().insert(label, is_default);
        }
        let need = match self.default(&without, &spot, &value) {
            _ if missing => Need::Required,
            Some(default) if self.is_of_a_preset(&without, table, &spot, &default) => Need::Preset,
            default => Need::Optional(default),
        };
        (Key { name: name.to_owned(), need, value }, trials)
    }

    /// The only word that says what a file without it says.
    fn default(&self, without: &Item, spot: &Spot, value: &Value) -> Option<String> {
        let meaning = self.meaning(without)?;
        let words = value.alternatives.iter().flat_map(|alternative| match alternative {
            Alternative::Words(words) => words.iter().map(|word| format!("{word:?}")).collect(),
            Alternative::Flag => ["false", "true"].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        });
        let same = |word: &String| {
            self.meaning(&spot.with(without, literal(word))).as_ref() == Some(&meaning)
        };
        let same: Vec<_> = words.filter(same).collect();
        <[String; 1]>::try_from(same).ok().map(|[word]| word)
    }

    /// Whether some `preset` of the table has another default.
    fn is_of_a_preset(&self, without: &Item, table: &Spot, spot: &Spot, default: &str) -> bool {
        let preset = table.key("preset");
        *spot != preset
            && self.words(without, &preset).iter().any(|word| {
                let with_preset = preset.with(without, text(word));
                let with_default = spot.with(&with_preset, literal(default));
                self.meaning(&with_preset) != self.meaning(&with_default)
            })
    }

    /// Whether members of a group may differ in what is there.
    fn varies(&self, spot: &Spot, trials: &[Trial]) -> Varies {
        let each_and_cycle = |trial: &Trial| {
            let item = spot.find(&trial.document)?;
            let takes = |word: &str| {
                let varied =
                    spot.key(word).with(&spot.with(&trial.document, empty()), list(item.clone()));
                self.ask(&varied).is_ok()
            };
            Some(takes("each") && takes("cycle"))
        };
        match trials.iter().find_map(each_and_cycle) {
            Some(true) => Varies::Yes,
            _ => Varies::No,
        }
    }
}

/// The path of a key without the names that an author gives; the kind of an application stands for it.
fn label(document: &Item, spot: &Spot) -> String {
    let path = spot.path().replace("[0]", "");
    let parts: Vec<&str> = path.split('.').collect();
    match parts.as_slice() {
        ["application", name, rest @ ..] => {
            let kind = Spot::top().key("application").key(name).key("kind");
            let kind = kind.find(document).map(|item| &item.value);
            let kind = if let Some(Written::Text(kind)) = kind { kind } else { "application" };
            [&[kind], rest].concat().join(".")
        }
        [section, _, rest @ ..] if NAMED.contains(section) => {
            [&[*section], rest].concat().join(".")
        }
        _ => path,
    }
}

fn item(value: Written) -> Item {
    Item { value, place: Place::option("") }
}

fn text(word: &str) -> Item {
    item(Written::Text(word.to_owned()))
}

fn list(only: Item) -> Item {
    item(Written::List(vec![only]))
}

fn empty() -> Item {
    item(Written::Table(Table::default()))
}

fn literal(text: &str) -> Item {
    Item::parse_value("probe", text).expect("it is a value of TOML, or text")
}

#[derive(Clone, Copy, Debug)]
enum Scalar {
    Flag,
    Integer,
    Number,
    Quantity(Unit),
    Text,
}

/// Values that some key takes, more than one where limits differ.
const SAMPLES: &[(Scalar, &[&str])] = &[
    (Scalar::Flag, &["true"]),
    (Scalar::Number, &["0.5"]),
    (Scalar::Integer, &["1"]),
    (Scalar::Quantity(Unit::Duration), &["1 ms", "1 s"]),
    (Scalar::Quantity(Unit::Rate), &["1 Mb/s"]),
    (Scalar::Quantity(Unit::Size), &["1 KB", "64 B"]),
    (Scalar::Quantity(Unit::Share), &["1 %"]),
    (Scalar::Quantity(Unit::Packets), &["5 packets", "20 packets"]),
    (Scalar::Quantity(Unit::Segments), &["4 segments"]),
    (Scalar::Text, &[NOBODY]),
];
