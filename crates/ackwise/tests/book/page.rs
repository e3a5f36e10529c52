//! A page and its blocks of code.

use std::{env, path::Path, time::Duration};

use nix::unistd::geteuid;

/// How long a disturbed page waits before it is tried again, times the number of the attempt.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// Whether and how the commands of a block are tried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Class {
    Exact,
    Live,
    Shown,
}

#[derive(Debug)]
pub(crate) struct Block {
    /// Of the fence.
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) class: Option<Class>,
    pub(crate) file: Option<String>,
    pub(crate) needs: Vec<String>,
    pub(crate) exit_code: i32,
    pub(crate) text: String,
}

#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) blocks: Vec<Block>,
}

impl Page {
    pub(crate) fn read(path: &str, text: &str) -> Self {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (number, line) in text.lines().enumerate() {
            match (open.take(), line.strip_prefix("```")) {
                (Some(block), Some(_)) => blocks.push(block),
                (Some(mut block), None) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                    open = Some(block);
                }
                (None, Some(fence)) => open = Some(Block::at(number + 1, fence)),
                (None, None) => {}
            }
        }
        Self { path: path.to_owned(), blocks }
    }

    pub(crate) fn commands(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.is_commands())
    }

    pub(crate) fn runs(&self) -> bool {
        self.blocks.iter().any(Block::runs)
    }

    /// What this machine lacks, with how to get it.
    pub(crate) fn missing(&self) -> Option<String> {
        let blocks = self.blocks.iter().filter(|block| block.runs());
        blocks.flat_map(|block| &block.needs).find_map(|need| match need.as_str() {
            "root" => (!geteuid().is_root()).then(|| "root: run the test as root".to_owned()),
            "parquet" => (!cfg!(feature = "parquet"))
                .then(|| "parquet: run the test with `--features parquet`".to_owned()),
            program => (!is_installed(program)).then(|| format!("{program}: install it")),
        })
    }
}

impl Block {
    fn at(line: usize, fence: &str) -> Self {
        let mut words = fence.split_whitespace();
        let language = words.next().unwrap_or_default().to_owned();
        let mut block = Self {
            line,
            language,
            class: None,
            file: None,
            needs: Vec::new(),
            exit_code: 0,
            text: String::new(),
        };
        for word in words {
            match (word, word.split_once('=')) {
                ("exact", _) => block.class = Some(Class::Exact),
                ("live", _) => block.class = Some(Class::Live),
                ("shown", _) => block.class = Some(Class::Shown),
                (_, Some(("file", name))) => block.file = Some(name.to_owned()),
                (_, Some(("needs", names))) => {
                    block.needs = names.split(',').map(str::to_owned).collect();
                }
                (_, Some(("exit", code))) => {
                    block.exit_code = code.parse().expect("an exit code is a number");
                }
                _ => panic!("line {line}: `{word}` after the language of a block"),
            }
        }
        block
    }

    pub(crate) fn runs(&self) -> bool {
        matches!(self.class, Some(Class::Exact | Class::Live))
    }

    fn is_commands(&self) -> bool {
        ["sh", "console", "bash"].contains(&self.language.as_str())
    }

    /// Each long option of a command of ours, with that command.
    pub(crate) fn options(&self) -> Vec<(String, String)> {
        let text = self.text.replace("\\\n", " ");
        let mut options = Vec::new();
        for line in text.lines() {
            let line = line.split(" # ").next().unwrap_or_default();
            for part in line.split(['|', ';', '&']) {
                let mut words = part.split_whitespace().skip_while(|word| *word != "ackwise");
                let Some(command) = words.nth(1) else { continue };
                // What follows `--` is the command line of another program.
                for word in words.take_while(|word| *word != "--") {
                    let word = word.trim_start_matches('[');
                    let name = word.split(['=', ']']).next().unwrap_or_default();
                    if command.starts_with(char::is_alphabetic) && name.starts_with("--") {
                        options.push((command.to_owned(), name.to_owned()));
                    }
                }
            }
        }
        options
    }
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(Into::into);
    env::split_paths(&path)
        .chain(system)
        .any(|directory| Path::new(&directory).join(program).exists())
}

#[test]
fn a_block_is_read_with_its_class() {
    let text = "a\n```sh live exit=1 needs=root,nginx\nackwise check --quick URL\n```\nb\n```text\nout\n```\n";
    let page = Page::read("a.md", text);
    let [commands, output] = &page.blocks[..] else { panic!("{page:?}") };
    assert_eq!((commands.line, commands.class, commands.exit_code), (2, Some(Class::Live), 1));
    assert_eq!(commands.needs, ["root", "nginx"]);
    assert_eq!(commands.options(), [("check".to_owned(), "--quick".to_owned())]);
    assert_eq!((output.language.as_str(), output.text.as_str()), ("text", "out\n"));
}

#[test]
fn options_of_other_programs_are_not_ours() {
    let page = Page::read(
        "a.md",
        "```sh shown\ncurl --silent a | ackwise check --listen A -- curl --data b\n```\n",
    );
    assert_eq!(page.blocks[0].options(), [("check".to_owned(), "--listen".to_owned())]);
}
