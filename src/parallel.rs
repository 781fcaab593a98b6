//! The same question about many things, from as many threads as there are processors.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The answers for all items, in their order. A panic of one goes on here.
pub fn in_parallel<I: Sync, O: Send>(items: &[I], answer: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    if threads <= 1 {
        return items.iter().map(answer).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = Vec::new();
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            answers.push((index, answer(item)));
        }
        answers
    };
    let mut answers: Vec<(usize, O)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<(usize, O)>>| match thread.join() {
            Ok(answers) => answers,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().flat_map(join).collect()
    });
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
