//! The command line: a file per command; `ui` prints, `error` knows the exit codes.

mod accept;
mod apply;
mod base;
mod bench;
mod bisect;
mod build;
mod bump;
mod cmake;
mod command_line;
mod compiled;
mod context;
mod diff;
mod drop;
mod edit;
mod error;
mod explain;
mod export;
mod import;
mod init;
mod legend;
mod lock;
mod locked;
mod man;
mod page;
mod prove;
mod refresh;
mod refusal;
mod rename;
mod report;
mod restore;
mod same_names;
mod split;
mod status;
mod table;
mod test;
mod ui;
mod unchanged;
mod verify;
mod wanted;
mod which;
mod wrap;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::id::Name;

pub use context::{Context, without_problems};
pub use error::{Answer, Failure, FailureKind};
pub use ui::{Tone, Ui};

/// Carry changes on top of pinned upstream repositories: apply them, check them, and find out with proof
/// which of them can go.
///
/// A manifest, manifests/UPSTREAM.toml, names a pinned commit of an upstream repository and the overlays
/// that are carried on it. Start with `overlaid status`.
///
/// Exit codes: 0 done, the answer is yes. 1 done, the answer is no. 2 arguments or manifest are not right.
/// 3 a person must decide. 4 could not find out (files, git, tools, devices). 70 a bug.
#[derive(Debug, Parser)]
#[command(name = "overlaid", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of all commands.
#[derive(Debug, clap::Args)]
struct Global {
    /// The repository that holds manifests/ and overlays/
    #[arg(short = 'C', value_name = "DIR", default_value = ".", global = true)]
    directory: PathBuf,
    /// The manifest: a name (manifests/NAME.toml) or a path
    #[arg(short, long, value_name = "MANIFEST", global = true)]
    manifest: Option<String>,
    /// How to build and where to run: [profile.NAME] of the manifest
    #[arg(long, value_name = "NAME", global = true)]
    profile: Option<String>,
    /// Features to turn on, besides those of the profile
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = parse_name, global = true)]
    features: Vec<Name>,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
    /// Fetch nothing
    #[arg(long, global = true)]
    offline: bool,
}

fn parse_name(text: &str) -> Result<Name, &'static str> {
    Name::parse(text)
}

#[derive(Debug, Subcommand)]
enum Command {
    Status(status::Args),
    Apply(apply::Args),
    Restore(restore::Args),
    Verify(verify::Args),
    Lock(lock::Args),
    Diff(diff::Args),
    Base(base::Args),
    Build(build::Args),
    Cmake(cmake::Args),
    Test(test::Args),
    Prove(prove::Args),
    Bisect(bisect::Args),
    Bump(bump::Args),
    Accept(accept::Args),
    Edit(edit::Args),
    Refresh(refresh::Args),
    Which(which::Args),
    Rename(rename::Args),
    Split(split::Args),
    Export(export::Args),
    Report(report::Args),
    Drop(drop::Args),
    Man(man::Args),
    Completions(man::CompletionsArgs),
    Init(init::Args),
    Import(import::Args),
}

/// All commands and their options, as they are parsed.
#[must_use]
pub fn definition() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Parses the arguments, runs the command, says how it went.
#[must_use]
pub fn main() -> ExitCode {
    // A panic is a bug of ours, and has an exit code of its own.
    std::panic::catch_unwind(run).unwrap_or_else(|_| ExitCode::from(FailureKind::Bug.exit_code()))
}

fn run() -> ExitCode {
    let cli = Cli::parse();
    let mut ui = Ui::new(cli.global.json);
    let context = Context {
        root: cli.global.directory,
        manifest: cli.global.manifest,
        profile: cli.global.profile,
        features: cli.global.features,
        offline: cli.global.offline,
    };
    let result = match &cli.command {
        Command::Status(args) => status::run(&context, args, &mut ui),
        Command::Apply(args) => apply::run(&context, args, &mut ui),
        Command::Restore(args) => restore::run(&context, args, &mut ui),
        Command::Verify(args) => verify::run(&context, args, &mut ui),
        Command::Lock(args) => lock::run(&context, args, &mut ui),
        Command::Diff(args) => diff::run(&context, args, &mut ui),
        Command::Base(args) => base::run(&context, args, &mut ui),
        Command::Build(args) => build::run(&context, args, &mut ui),
        Command::Cmake(args) => cmake::run(args, &mut ui),
        Command::Test(args) => test::run(&context, args, &mut ui),
        Command::Prove(args) => prove::run(&context, args, &mut ui),
        Command::Bisect(args) => bisect::run(&context, args, &mut ui),
        Command::Bump(args) => bump::run(&context, args, &mut ui),
        Command::Accept(args) => accept::run(&context, args, &mut ui),
        Command::Edit(args) => edit::run(&context, args, &mut ui),
        Command::Refresh(args) => refresh::run(&context, args, &mut ui),
        Command::Which(args) => which::run(&context, args, &mut ui),
        Command::Rename(args) => rename::run(&context, args, &mut ui),
        Command::Split(args) => split::run(&context, args, &mut ui),
        Command::Export(args) => export::run(&context, args, &mut ui),
        Command::Report(args) => report::run(&context, args, &mut ui),
        Command::Drop(args) => drop::run(&context, args, &mut ui),
        Command::Man(args) => man::run(args, &mut ui),
        Command::Completions(args) => man::completions(args, &mut ui),
        Command::Init(args) => init::run(&context, args, &mut ui),
        Command::Import(args) => import::run(&context, args, &mut ui),
    };
    ui.end_progress();
    let for_bisect = matches!(&cli.command, Command::Test(args) if args.is_for_bisect());
    match result {
        Ok(answer) if for_bisect => ExitCode::from(answer.exit_code_for_bisect()),
        Ok(answer) => ExitCode::from(answer.exit_code()),
        Err(failure) => {
            ui.failure(&failure);
            match for_bisect {
                true => ExitCode::from(failure.kind.exit_code_for_bisect()),
                false => ExitCode::from(failure.kind.exit_code()),
            }
        }
    }
}
