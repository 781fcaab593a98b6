//! The tokens of the contents that were compared last, on this thread.
//!
//! What an overlay is follows from a few contents, each of which is compared with the others in turn. So each is taken
//! apart once. Never says anything else than [`tokens`].

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::{Language, Token, Unlexable, tokens};

/// Contents that are kept: a base, a pin, what an overlay has, what a merge makes.
const MOST: usize = 4;

/// Bytes of a content beyond which it is not kept.
const LONGEST: usize = 256 << 10;

/// What taking a content apart gives.
pub(super) type Taken = Result<Vec<Token>, Unlexable>;

struct Known {
    language: Language,
    source: Arc<[u8]>,
    taken: Rc<Taken>,
}

thread_local! {
    static LAST: RefCell<VecDeque<Known>> = const { RefCell::new(VecDeque::new()) };
}

/// The tokens of a content, which is kept.
pub(super) fn tokens_of(language: Language, source: &Arc<[u8]>) -> Rc<Taken> {
    if let Some(known) = known(language, source) {
        return known;
    }
    let taken = Rc::new(tokens(language, source));
    if source.len() <= LONGEST {
        let known = Known { language, source: Arc::clone(source), taken: Rc::clone(&taken) };
        LAST.with_borrow_mut(|last| {
            last.truncate(MOST - 1);
            last.push_front(known);
        });
    }
    taken
}

/// The tokens of a content, if it is among the last.
pub(super) fn known(language: Language, source: &[u8]) -> Option<Rc<Taken>> {
    LAST.with_borrow_mut(|last| {
        let is_it = |known: &Known| known.language == language && *known.source == *source;
        let place = last.iter().position(is_it)?;
        let known = last.remove(place)?;
        let taken = Rc::clone(&known.taken);
        last.push_front(known);
        Some(taken)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_that_is_kept_is_taken_for_no_other() {
        let sources: Vec<Arc<[u8]>> = (0..MOST + 2)
            .map(|number| Arc::from(format!("int a{number}; // {number}").into_bytes()))
            .collect();
        for _ in 0..2 {
            for source in &sources {
                for language in [Language::C, Language::Python, Language::C] {
                    assert_eq!(*tokens_of(language, source), tokens(language, source));
                }
            }
        }
        assert!(known(Language::C, &sources[MOST + 1]).is_some());
        assert!(known(Language::Toml, &sources[MOST + 1]).is_none());
        assert!(known(Language::C, &sources[0]).is_none(), "it had to make room");
    }
}
