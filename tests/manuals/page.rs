//! A page of Markdown: its blocks of commands, what stands after them, and what its sentences mention.

/// A page.
pub struct Page {
    name: String,
    /// Its fenced blocks.
    pub blocks: Vec<Block>,
    /// Lines of indented blocks, with their numbers.
    pub indented: Vec<(usize, String)>,
    /// Commands in sentences, with the numbers of their lines.
    pub mentioned: Vec<(usize, String)>,
}

/// A fenced block.
pub struct Block {
    /// Where it begins.
    pub line: usize,
    language: String,
    /// What stands in it.
    pub text: String,
    /// The file that it is the content of.
    pub file: Option<String>,
    /// Why it is not run.
    pub not_run: Option<String>,
    ends: Vec<i32>,
    /// What its last command prints.
    pub output: Option<String>,
}

impl Page {
    pub fn read(name: &str, text: &str) -> Self {
        let mut page =
            Self { name: name.to_owned(), blocks: Vec::new(), indented: Vec::new(), mentioned: Vec::new() };
        let mut open: Option<Block> = None;
        let mut comment = String::new();
        let mut is_right_behind = false;
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(block) = &mut open {
                if line.trim_end() != "```" {
                    block.text.push_str(line);
                    block.text.push('\n');
                    continue;
                }
                let block = open.take().expect("it is open");
                let is_output = block.language == "text" && is_right_behind;
                match page.blocks.last_mut().filter(|_| is_output) {
                    Some(before) => before.output = Some(block.text),
                    None => page.blocks.push(block),
                }
                is_right_behind = page.blocks.last().is_some_and(Block::is_commands);
                continue;
            }
            if let Some(language) = line.strip_prefix("```") {
                open = Some(page.block(number, language, &comment));
                comment.clear();
            } else if line.starts_with("<!--") {
                comment = line.to_owned();
            } else if !line.trim().is_empty() {
                comment.clear();
                is_right_behind = false;
                if line.starts_with("    ") {
                    page.indented.push((number, line.to_owned()));
                } else {
                    let spans = line.split('`').skip(1).step_by(2);
                    let spans = spans.filter(|span| span.starts_with("overlaid "));
                    page.mentioned.extend(spans.map(|span| (number, span.to_owned())));
                }
            }
        }
        assert!(open.is_none(), "{name}: a block has no end");
        page
    }

    fn block(&self, line: usize, language: &str, comment: &str) -> Block {
        let words = |key: &str| {
            let words = comment.strip_prefix(&format!("<!-- {key}: "))?.strip_suffix(" -->")?;
            Some(words.to_owned())
        };
        let ends = words("ends").unwrap_or_default();
        let ends = ends.split_whitespace().map(|code| {
            code.parse().unwrap_or_else(|_| panic!("{}:{line}: `{code}` is no exit code", self.name))
        });
        let block = Block {
            line,
            language: language.trim().to_owned(),
            text: String::new(),
            file: words("file"),
            not_run: words("not run"),
            ends: ends.collect(),
            output: None,
        };
        assert!(block.language != "console", "{}:{line}: commands stand in a block ```sh", self.name);
        block
    }

    /// Blocks of commands.
    pub fn commands(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.is_commands())
    }
}

impl Block {
    /// Whether it has commands.
    pub fn is_commands(&self) -> bool {
        self.language == "sh"
    }

    /// Its commands, each on one line.
    pub fn lines(&self) -> Vec<String> {
        let joined = self.text.replace("\\\n", "");
        let lines =
            joined.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
        lines.map(ToOwned::to_owned).collect()
    }

    /// The exit codes of so many commands: one number is that of the last.
    pub fn exit_codes(&self, commands: usize) -> Vec<i32> {
        match self.ends.as_slice() {
            [] => vec![0; commands],
            [last] => {
                let mut codes = vec![0; commands];
                codes[commands - 1] = *last;
                codes
            }
            all => {
                assert_eq!(all.len(), commands, "line {}: an exit code for each command", self.line);
                all.to_vec()
            }
        }
    }
}

/// Where what is shown and what was printed first differ.
pub fn difference(shown: &str, printed: &str) -> Option<String> {
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let is_like = |shown: &str, printed: &str| match shown.strip_suffix("...") {
        Some(start) => printed.starts_with(start),
        None => shown == printed,
    };
    let mut at = 0;
    let mut may_skip = false;
    for line in shown {
        if line == "..." {
            may_skip = true;
            continue;
        }
        let found = printed[at..].iter().position(|printed| is_like(line, printed));
        match found {
            Some(skipped) if skipped == 0 || may_skip => at += skipped + 1,
            _ => return Some(format!("this is not printed there: {line}")),
        }
        may_skip = false;
    }
    (at < printed.len() && !may_skip).then(|| format!("this is printed, too: {}", printed[at]))
}
