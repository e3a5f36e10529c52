//! The commands, one file each. A new one is a file here and a variant of [`Command`].
//!
//! Nothing here measures or judges: a command turns arguments into a call of the library and its
//! answer into text and an exit code.
//!
//! The program `ackwise` and the one in the Python package call the same [`run()`].

mod check;
mod colour;
#[cfg(target_os = "linux")]
mod doctor;
mod error;
mod explain;
mod files;
mod interrupt;
mod load;
mod model;
mod number;
mod outcome;
mod output;
mod preset;
mod privileges;
mod progress;
mod quantity;
mod record;
mod reproduce;
mod rows;
mod run;
mod schema;
mod serve;
#[cfg(target_os = "linux")]
mod tune;
mod version;

use std::ffi::OsString;

use ackwise_text::{escape, output_file, printable};
use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ErrorKind},
};

use outcome::{Failure, Outcome};

/// Find, explain and reproduce stalls caused by the way HTTP and TCP interact
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
#[command(after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ackwise check http://localhost:8080/   test a server
  ackwise explain capture.pcap           explain a capture
  ackwise explain --sample               explain a recording that comes with Ackwise
  ackwise check                          see stalls at two servers of its own

`ackwise --version --verbose` prints how this program was built.";

#[derive(Debug, Subcommand)]
enum Command {
    Check(Box<check::Check>),
    Explain(explain::Explain),
    Load(Box<load::LoadArguments>),
    Run(run::Run),
    Reproduce(reproduce::Reproduce),
    Model(model::Model),
    Serve(serve::Serve),
    #[cfg(target_os = "linux")]
    Tune(Box<tune::Tune>),
    #[cfg(target_os = "linux")]
    Doctor(doctor::Doctor),
    Schema(schema::Schema),
}

/// Does what the command line asks for, and prints at most one error. `arguments` begin with the program's name. Returns
/// the exit code.
///
/// It may change the process for good: signal handlers, limits, namespaces. A program that goes on afterwards starts
/// another process for it.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    #[cfg(target_os = "linux")]
    ackwise_linux::static_names::configure();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let command = match command_line(&arguments) {
        Ok(cli) => cli.command,
        Err(error) => return refused(error, &arguments),
    };
    let json = command.prints_json();
    let ended = command.run();
    // An interrupted worker may not have noticed yet.
    output_file::discard_unfinished();
    match ended {
        Ok(outcome) => outcome.exit_code(),
        Err(failure) => {
            let message = failure.to_string();
            // It may quote a server, whose bytes must not drive the terminal.
            anstream::eprintln!("ackwise: {}", printable(&message));
            if json && failure.is_error() {
                error::print(&message);
            }
            failure.exit_code()
        }
    }
}

/// Reads the arguments.
fn command_line(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Cli, clap::Error> {
    // `-3`, `-3s` and `-3KB` go to the option's own parser, whose message says what was expected.
    let definition = Cli::command().mut_subcommands(|command| {
        command.mut_args(|argument| {
            // A flag has a name for its value, too, but takes none.
            let is_option = argument.get_long().is_some() && argument.get_action().takes_values();
            match argument.get_value_names() {
                Some([name]) if is_option && (name == "TIME" || name == "SIZE") => {
                    argument.allow_hyphen_values(true)
                }
                _ => argument.allow_negative_numbers(is_option),
            }
        })
    });
    definition.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches))
}

/// The arguments are wrong, or ask for help.
fn refused(mut error: clap::Error, arguments: &[OsString]) -> u8 {
    if error.kind() == ErrorKind::UnknownArgument {
        // clap would advise `-- ARGUMENT`, which makes a file or a URL of a mistyped option.
        error.remove(ContextKind::Suggested);
    }
    print(&error, arguments);
    if error.kind() == ErrorKind::DisplayVersion && is_among("--verbose", arguments) {
        anstream::print!("{}", version::details());
    }
    if error.use_stderr() && is_among("--json", arguments) {
        error::print(&message(&error));
    }
    u8::try_from(error.exit_code()).unwrap_or(1)
}

/// What is wrong, in one line.
fn message(error: &clap::Error) -> String {
    let text = error.to_string();
    // What is missing, or not allowed together, stands on lines of its own below.
    let lines = text.lines().take_while(|line| !line.is_empty());
    let message = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    message.strip_prefix("error: ").unwrap_or(&message).to_owned()
}

/// clap says where: help is a result, the rest is not. It quotes the arguments, of which a pattern of the
/// shell may have made some from the names of files.
fn print(error: &clap::Error, arguments: &[OsString]) {
    let arguments = arguments.iter().map(|it| it.to_string_lossy().into_owned());
    let hostile: Vec<_> = arguments.filter(|it| *it != *printable(it)).collect();
    if hostile.is_empty() {
        let _ = error.print();
        return;
    }
    let mut text = error.to_string();
    for argument in hostile {
        text = text.replace(&argument, &printable(&argument));
    }
    anstream::eprint!("{}", escape::lines(&text));
}

/// Whether an option is among the arguments, as far as that can be told of wrong ones.
fn is_among(option: &str, arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|it| *it != "--").any(|it| it == option)
}

/// The document of `ackwise model --json` for these options, `--rtt` and `20ms` for example.
///
/// # Errors
///
/// What is wrong with them, in the words of the command.
pub fn model(options: impl IntoIterator<Item = OsString>) -> Result<String, String> {
    let definition = model::Model::augment_args(clap::Command::new("model").no_binary_name(true));
    let matches = definition.try_get_matches_from(options);
    let model = matches.and_then(|matches| model::Model::from_arg_matches(&matches));
    Ok(model.map_err(|error| message(&error))?.document().json())
}

/// The JSON Schema of a format, by its name.
#[must_use]
pub fn schema(name: &str) -> Option<String> {
    schema::all().into_iter().find(|(known, _)| *known == name).map(|(_, schema)| schema())
}

/// The names of all formats that [`schema()`] describes.
#[must_use]
pub fn schema_names() -> Vec<&'static str> {
    schema::all().into_iter().map(|(name, _)| name).collect()
}

impl Command {
    fn run(self) -> Result<Outcome, Failure> {
        match self {
            Self::Check(check) => check::run(*check),
            Self::Explain(explain) => explain::run(&explain),
            Self::Load(load) => load::run(&load),
            Self::Run(run) => run::run(&run),
            Self::Reproduce(reproduce) => reproduce::run(reproduce),
            Self::Model(model) => model::run(model),
            Self::Serve(serve) => serve::run(&serve),
            #[cfg(target_os = "linux")]
            Self::Tune(tune) => tune::run(&tune),
            #[cfg(target_os = "linux")]
            Self::Doctor(doctor) => doctor::run(&doctor),
            Self::Schema(schema) => schema::run(&schema),
        }
    }

    /// Whether `--json` was given.
    const fn prints_json(&self) -> bool {
        match self {
            Self::Check(check) => check.json(),
            Self::Explain(explain) => explain.json(),
            Self::Load(load) => load.json(),
            Self::Run(run) => run.json(),
            Self::Reproduce(reproduce) => reproduce.json(),
            Self::Model(model) => model.json(),
            Self::Serve(serve) => serve.json(),
            #[cfg(target_os = "linux")]
            Self::Tune(tune) => tune.json(),
            #[cfg(target_os = "linux")]
            Self::Doctor(doctor) => doctor.json(),
            Self::Schema(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::PathBuf};

    use clap_complete::Shell;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    #[cfg(unix)]
    fn each_example_in_the_help_can_be_typed() {
        let mut tried = 0;
        for command in Cli::command().get_subcommands() {
            let ends = [command.get_after_help(), command.get_after_long_help()];
            let ends = ends.into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
            let examples = ends.iter().filter_map(|it| it.split_once("Examples:\n"));
            for line in examples.flat_map(|(_, examples)| examples.lines()) {
                let typed = line.strip_prefix("  ").filter(|it| !it.starts_with(' '));
                let Some(at) = typed.and_then(|it| it.find("ackwise ")) else { continue };
                // What it is for follows behind two spaces.
                let typed = &line[2 + at..];
                let ends = ["  ", " | ", " > "].map(|end| typed.find(end).unwrap_or(typed.len()));
                let typed = &typed[..ends.into_iter().min().unwrap_or_default()];
                assert!(2 + at + typed.len() <= 100, "it would be printed on two lines: {line}");
                let words = split(typed);
                command_line(&words).unwrap_or_else(|error| panic!("{line}: {error}"));
                tried += 1;
            }
        }
        assert!(tried >= 60, "{tried}");
    }

    /// The words of a command line, as the shell splits it.
    fn split(line: &str) -> Vec<String> {
        let script = format!("pidof() {{ echo 4711; }}; printf '%s\\n' {line}");
        let shell = std::process::Command::new("sh").args(["-c", &script]).output();
        let output = String::from_utf8(shell.expect("sh runs").stdout).expect("text");
        output.lines().map(str::to_owned).collect()
    }

    /// Writes `man/*.1` and the completions into the directory that `ACKWISE_PAGES` names, if it is set:
    /// `cargo xtask dist` packs them.
    #[test]
    fn manual_pages_and_completions_name_each_command_and_its_options() {
        let kept = env::var_os("ACKWISE_PAGES").map(PathBuf::from);
        let directory = kept.clone().unwrap_or_else(|| {
            env::temp_dir().join(format!("ackwise-pages-{}", std::process::id()))
        });
        let [man, completions] = ["man", "completions"].map(|it| directory.join(it));
        fs::create_dir_all(&man).unwrap();
        fs::create_dir_all(&completions).unwrap();
        clap_mangen::generate_to(Cli::command(), &man).unwrap();
        for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
            clap_complete::generate_to(shell, &mut Cli::command(), "ackwise", &completions)
                .unwrap();
        }
        let bash = fs::read_to_string(completions.join("ackwise.bash")).unwrap();
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let page = fs::read_to_string(man.join(format!("ackwise-{name}.1"))).unwrap();
            for option in command.get_arguments().filter_map(|it| it.get_long()) {
                let escaped = option.replace('-', "\\-");
                assert!(page.contains(&escaped), "{name}: no --{option} in the page");
                assert!(
                    bash.contains(&format!("--{option}")),
                    "{name}: --{option} is not completed"
                );
            }
        }
        if kept.is_none() {
            fs::remove_dir_all(directory).unwrap();
        }
    }
}
