//! Runs the commands of a page in one shell, so that a later block can use what an earlier one started.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write as _,
    fs,
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use super::{
    compare,
    page::{Block, Class, Page},
};

/// Runs the page, and returns how it differs from what the page says.
pub(crate) fn run(page: &Page) -> Vec<String> {
    let directory = Directory::new(page);
    fs::write(directory.0.join(SCRIPT), script(page)).expect("the directory was made");
    let mut shell = Command::new("timeout");
    shell.args([LIMIT_S, "bash", SCRIPT]).current_dir(&directory.0).env("PATH", path());
    shell.stdin(Stdio::null()).process_group(0);
    let mut shell = shell.spawn().expect("bash runs");
    let status = shell.wait().expect("a child can be waited for");
    // The servers that the page started. `timeout` has made the group its own.
    let group = Pid::from_raw(shell.id().try_into().expect("a process ID"));
    let _ = killpg(group, Signal::SIGTERM);
    let mut complaints = Vec::new();
    for (number, block) in page.blocks.iter().enumerate().filter(|(_, block)| block.runs()) {
        let expected = page.blocks.get(number + 1).filter(|next| next.language == "text");
        let difference = match directory.result(number) {
            None => Some(format!("did not end: {status}")),
            Some(result) => differs(block, expected, &result),
        };
        if let Some(difference) = difference {
            complaints.push(format!("docs/{}:{}: {difference}", page.path, block.line));
        }
    }
    complaints
}

/// What `ackwise COMMAND --help` prints.
pub(crate) fn help(command: &str) -> String {
    static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let help = known.entry(command.to_owned()).or_insert_with(|| {
        let mut ackwise = Command::new(env!("CARGO_BIN_EXE_ackwise"));
        let output = ackwise.args([command, "--help"]).output().expect("it was built");
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    help.clone()
}

struct Output {
    exit_code: i32,
    stdout: String,
    stderr: String,
}

fn differs(block: &Block, expected: Option<&Block>, output: &Output) -> Option<String> {
    let Output { exit_code, stdout, stderr } = output;
    if *exit_code != block.exit_code {
        let wanted = block.exit_code;
        return Some(format!("exit code {exit_code} instead of {wanted}\n{stdout}\n{stderr}"));
    }
    let expected = &expected?.text;
    match block.class? {
        Class::Exact if compare::is_equal(expected, stdout) => None,
        Class::Exact => Some(format!("prints\n{stdout}instead of\n{expected}")),
        Class::Live => {
            let line = compare::missing_line(expected, &format!("{stdout}\n{stderr}"))?;
            Some(format!("does not print `{line}`, but\n{stdout}\n{stderr}"))
        }
        Class::Shown => None,
    }
}

/// Writes the files, runs the blocks that are to run, and keeps what each printed.
fn script(page: &Page) -> String {
    let mut script = PRELUDE.to_owned();
    for (number, block) in page.blocks.iter().enumerate() {
        if let Some(file) = &block.file {
            let text = &block.text;
            write!(script, "cat > {file} <<'END_OF_FILE'\n{text}END_OF_FILE\n").expect(STRING);
        }
        if !block.runs() {
            continue;
        }
        let text = &block.text;
        write!(script, "{{\n{text}}} > stdout.{number} 2> stderr.{number}\n").expect(STRING);
        writeln!(script, "echo $? > exit.{number}").expect(STRING);
        // A program in the background; lines that keep its process or wait for it may follow.
        let follows = |line: &&str| line.ends_with("=$!") || line.starts_with("sleep ");
        let last = text.lines().rfind(|line| !follows(line));
        if last.is_some_and(|line| line.ends_with('&')) {
            for port in ports(&page.blocks[..=number]) {
                writeln!(script, "await {port}").expect(STRING);
            }
        }
    }
    script
}

/// The ports of this host that these blocks name.
fn ports(blocks: &[Block]) -> BTreeSet<&str> {
    let names = ["127.0.0.1:", "(\"127.0.0.1\", "];
    let parts = blocks.iter().flat_map(|block| names.map(|name| block.text.split(name).skip(1)));
    let digits = parts.flatten().map(|part| {
        let end = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
        &part[..end]
    });
    digits.filter(|port| !port.is_empty()).collect()
}

fn path() -> std::ffi::OsString {
    let program = Path::new(env!("CARGO_BIN_EXE_ackwise"));
    let mut all: Vec<PathBuf> = program.parent().map(Path::to_path_buf).into_iter().collect();
    all.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    all.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    env::join_paths(all).expect("no path has a colon")
}

/// Removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn new(page: &Page) -> Self {
        let name = page.path.replace(['/', '.'], "-");
        let path = env::temp_dir().join(format!("ackwise-book-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("there is room for temporary files");
        // Some commands use files of the repository.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for name in ["crates", "docs"] {
            let link = path.join(name);
            if !link.is_symlink() {
                symlink(root.join(name), link).expect("the directory was made");
            }
        }
        Self(path)
    }

    fn result(&self, number: usize) -> Option<Output> {
        let read = |name: &str| {
            let bytes = fs::read(self.0.join(format!("{name}.{number}"))).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let exit_code = read("exit")?.trim().parse().ok()?;
        Some(Output { exit_code, stdout: read("stdout")?, stderr: read("stderr")? })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SCRIPT: &str = "page.sh";

/// `await PORT` waits until a server of the page accepts, for at most 5 s. A page whose commands need root
/// is skipped without, so `sudo` has nothing to do.
const PRELUDE: &str = "\
sudo() { \"$@\"; }
await() {
    for attempt in $(seq 50); do
        (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null && return
        sleep 0.1
    done
}
";

/// For one page, in seconds: the slowest takes 15 (our choice).
const LIMIT_S: &str = "60";

const STRING: &str = "a string takes everything";
