//! `overlaid man` and `overlaid completions`: made from the same definitions that parse the arguments.

use std::path::{Path, PathBuf};

use crate::io::hashes::write_atomically;

use super::{Answer, Failure, Ui};

/// Write manual pages, one for each command
///
/// `man ./DIR/overlaid-prove.1` shows one; packages put them into share/man/man1.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that they go into
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Print what a shell needs to complete commands and options
///
/// For bash: `overlaid completions bash > ~/.local/share/bash-completion/completions/overlaid`
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: clap_complete::Shell,
}

/// Writes the manual pages.
///
/// # Errors
/// If a file cannot be written.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let mut command = super::definition();
    command.build();
    let mut pages = vec![("overlaid".to_owned(), command.clone())];
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        pages.push((format!("overlaid-{}", sub.get_name()), sub.clone()));
    }
    let count = pages.len();
    for (name, command) in pages {
        write_page(&args.folder.join(format!("{name}.1")), command)?;
    }
    ui.note(format_args!("{count} pages in {}", args.folder.display()));
    Ok(Answer::Yes)
}

fn write_page(file: &Path, command: clap::Command) -> Result<(), Failure> {
    let mut page = Vec::new();
    let written =
        clap_mangen::Man::new(command).render(&mut page).and_then(|()| write_atomically(file, &page));
    written
        .map_err(|error| Failure::environment(format!("cannot write `{}`", file.display())).caused_by(error))
}

/// Prints the completions.
///
/// # Errors
/// Never.
pub fn completions(args: &CompletionsArgs, ui: &mut Ui) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::definition(), "overlaid", &mut script);
    ui.bytes(&script);
    Ok(Answer::Yes)
}
