//! `overlaid report`

use std::path::PathBuf;

use super::{Answer, Context, Failure, Ui, page};

/// The page of all overlays
///
/// One HTML file that needs no network and no script: what there is to do with each overlay and why, its verdict and its
/// cells, the upstream work that it undoes, and its own change. It says what evidence on this machine says; it
/// runs nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write the page to FILE (default: .overlaid/report.html; `-`: standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, required = true)]
    html: Option<Option<PathBuf>>,
    /// Write the pictures of the cells, an SVG file for each overlay, into DIR
    #[arg(long, value_name = "DIR", requires = "html")]
    pictures: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// If a manifest or an upstream cannot be read, or the page cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    page::run(context, args.html.clone().flatten(), args.pictures.as_deref(), ui)
}
