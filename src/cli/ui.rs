//! The only printer. The result goes to standard output, everything else to standard error.
//!
//! Colour follows `NO_COLOR`, `CLICOLOR_FORCE` and whether the stream is a terminal. Progress is shown on
//! terminals only.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};

use super::error::Failure;

/// What stands before the command that runs one case alone.
pub const ONE_ALONE: &str = "one alone:";

/// Where a command says things.
pub struct Ui {
    json: bool,
    silent: bool,
    width: usize,
    progress: Option<indicatif::ProgressBar>,
}

/// How a piece of text is meant; the colour follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Needs a look.
    Warning,
    /// Wrong.
    Bad,
    /// Beside the point.
    Dim,
    /// A heading or a name.
    Strong,
}

impl Tone {
    fn style(self) -> Style {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Tone::Good => color(AnsiColor::Green),
            Tone::Warning => color(AnsiColor::Yellow),
            Tone::Bad => color(AnsiColor::Red).bold(),
            Tone::Dim => Style::new().dimmed(),
            Tone::Strong => Style::new().bold(),
        }
    }

    /// The text in this tone. The printer takes the codes out again where there is no colour.
    #[must_use]
    pub fn paint(self, text: impl std::fmt::Display) -> String {
        let style = self.style();
        format!("{style}{text}{style:#}")
    }
}

impl Ui {
    /// A printer; `json`: the result is one JSON document.
    #[must_use]
    pub fn new(json: bool) -> Self {
        let width = std::io::stdout()
            .is_terminal()
            .then(terminal_size::terminal_size)
            .flatten()
            .map_or(100, |(width, _)| usize::from(width.0).clamp(60, 200));
        Self { json, silent: false, width, progress: None }
    }

    /// A printer that prints no result: for a step of another command, which says itself what was done.
    #[must_use]
    pub fn silent() -> Self {
        Self { silent: true, ..Self::new(false) }
    }

    /// Whether the result is one JSON document.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether the result is shown in colour.
    #[must_use]
    pub fn shows_colour(&self) -> bool {
        anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
    }

    /// Whether a person looks at the result, and not a file or a program.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        std::io::stdout().is_terminal()
    }

    /// How many columns a table can use.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// How wide a line may be; `None` if no person looks at the result.
    #[must_use]
    pub fn line_width(&self) -> Option<usize> {
        self.is_terminal().then_some(self.width)
    }

    /// A line of the result, broken at spaces on a terminal: a lead of this tone, and a text below which the rest of
    /// the lines stand a bit further in.
    pub fn text(&mut self, indent: usize, lead: Option<(Tone, &str)>, text: &str) {
        let (lead, width) = match lead {
            Some((tone, lead)) => (tone.paint(lead), lead.chars().count()),
            None => (String::new(), 0),
        };
        let lead = format!("{}{lead}", " ".repeat(indent));
        self.line(super::wrap::wrap(&lead, indent + width, text, indent + 4, self.line_width()));
    }

    /// Lines of the result, broken at spaces on a terminal, save those with a command that is there to be copied.
    pub fn lines(&mut self, text: &str) {
        let width = self.line_width();
        let shown = text.lines().map(|line| match line.trim_start().starts_with(ONE_ALONE) {
            true => line.to_owned(),
            false => super::wrap::wrap_painted(line, width),
        });
        let shown: Vec<String> = shown.collect();
        self.line(shown.join("\n"));
    }

    /// A line of the result.
    pub fn line(&mut self, text: impl std::fmt::Display) {
        if self.silent {
            return;
        }
        self.suspend(|| print_or_quit(&mut anstream::stdout().lock(), &format!("{text}\n")));
    }

    /// A part of the result, as it is, bytes of others included.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.silent {
            return;
        }
        self.suspend(|| {
            let mut out = std::io::stdout().lock();
            quit_on_broken_pipe(out.write_all(bytes).and_then(|()| out.flush()));
        });
    }

    /// The result as a JSON document.
    pub fn document(&mut self, document: &impl serde::Serialize) {
        // It has no colours to take out, and can be long.
        let mut text = serde_json::to_vec_pretty(document).unwrap_or_default();
        text.push(b'\n');
        self.bytes(&text);
    }

    /// What is going on.
    pub fn note(&mut self, text: impl std::fmt::Display) {
        self.stderr(&format!("{text}\n"));
    }

    /// Something to look at that stops nothing.
    pub fn warn(&mut self, text: impl std::fmt::Display) {
        self.stderr(&format!("{} {text}\n", Tone::Warning.paint("warning:")));
    }

    /// Starts or changes the progress line; shown on a terminal only.
    pub fn progress(&mut self, text: impl Into<String>) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let bar = self.progress.get_or_insert_with(|| {
            let bar = indicatif::ProgressBar::new_spinner();
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        bar.set_message(text.into());
    }

    /// Ends the progress line.
    pub fn end_progress(&mut self) {
        if let Some(bar) = self.progress.take() {
            bar.finish_and_clear();
        }
    }

    /// A failure: what, where, why, what to do.
    pub fn failure(&mut self, failure: &Failure) {
        self.end_progress();
        let mut text = String::new();
        for diagnostic in &failure.diagnostics {
            text.push_str(&diagnostic.render(true, self.width));
            text.push_str("\n\n");
        }
        if !failure.message.is_empty() {
            text.push_str(&format!("{} {}\n", Tone::Bad.paint("error:"), failure.message));
        }
        for cause in &failure.causes {
            text.push_str(&format!("caused by: {cause}\n"));
        }
        if let Some(hint) = &failure.hint {
            text.push_str(&format!("{} {hint}\n", Tone::Strong.paint("hint:")));
        }
        self.stderr(&text);
    }

    fn stderr(&self, text: &str) {
        self.suspend(|| {
            let _ = anstream::stderr().lock().write_all(text.as_bytes());
        });
    }

    fn suspend(&self, print: impl FnOnce()) {
        match &self.progress {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

fn print_or_quit(out: &mut impl Write, text: &str) {
    quit_on_broken_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Nobody reads any more (`overlaid status | head`): that is no failure.
fn quit_on_broken_pipe(written: std::io::Result<()>) {
    if let Err(error) = written {
        let code = if error.kind() == std::io::ErrorKind::BrokenPipe { 0 } else { 4 };
        if code != 0 {
            let _ = writeln!(std::io::stderr(), "error: cannot write to standard output: {error}");
        }
        std::process::exit(code);
    }
}
