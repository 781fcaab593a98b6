//! The blocks that indentation makes.
//!
//! As Python measures it: a tab goes to the next multiple of 8, and again with a tab as one column; where the two
//! disagree about what is deeper, the file is invalid. A form feed starts the count again.

/// How far a line is indented.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Width {
    tabs_of_eight: usize,
    tabs_of_one: usize,
}

/// What a line's indentation does.
pub(super) enum Step {
    /// The block goes on.
    Same,
    /// A block begins.
    Deeper,
    /// So many blocks end.
    Back(usize),
}

/// The open blocks.
#[derive(Default)]
pub(super) struct Indentation {
    blocks: Vec<Width>,
}

/// Measures the white space at `at` and goes past it.
pub(super) fn measure(source: &[u8], at: &mut usize) -> Width {
    let mut width = Width { tabs_of_eight: 0, tabs_of_one: 0 };
    loop {
        match source.get(*at) {
            Some(b' ') => {
                width.tabs_of_eight += 1;
                width.tabs_of_one += 1;
            }
            Some(b'\t') => {
                width.tabs_of_eight = (width.tabs_of_eight / 8 + 1) * 8;
                width.tabs_of_one += 1;
            }
            Some(b'\x0c') => width = Width { tabs_of_eight: 0, tabs_of_one: 0 },
            _ => return width,
        }
        *at += 1;
    }
}

impl Indentation {
    /// Takes the indentation of a line of code. `None` if it fits no block, or not with every width of a tab.
    pub fn enter(&mut self, width: Width) -> Option<Step> {
        let margin = Width { tabs_of_eight: 0, tabs_of_one: 0 };
        let top = self.blocks.last().copied().unwrap_or(margin);
        let order = width.tabs_of_eight.cmp(&top.tabs_of_eight);
        if order != width.tabs_of_one.cmp(&top.tabs_of_one) {
            return None;
        }
        match order {
            std::cmp::Ordering::Equal => Some(Step::Same),
            std::cmp::Ordering::Greater => {
                self.blocks.push(width);
                Some(Step::Deeper)
            }
            std::cmp::Ordering::Less => {
                let before = self.blocks.len();
                self.blocks.retain(|block| block.tabs_of_eight <= width.tabs_of_eight);
                let fits = self.blocks.last().copied().unwrap_or(margin) == width;
                fits.then_some(Step::Back(before - self.blocks.len()))
            }
        }
    }

    /// Ends all blocks; says how many there were.
    pub fn close_all(&mut self) -> usize {
        std::mem::take(&mut self.blocks).len()
    }
}
