//! `overlaid restore`

use crate::plan::Wanted;
use crate::upstream::Upstream;

use super::apply::{Place, Saying, bring};
use super::locked;
use super::{Answer, Context, Failure, Ui, without_problems};

/// Put upstream's bytes back: the pin without overlays
///
/// The opposite of `apply`. In a folder that something else filled (--tree), only what `apply` wrote there is put
/// back. Edits of yours stop it; --force keeps a copy and says where.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    place: Place,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
///
/// # Errors
/// If the manifest, the upstream or the tree cannot be read, or the tree cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let workspace = without_problems(context.workspace()?)?;
    locked::refuse_unfilled(context, &workspace, &args.place)?;
    let locked = match &args.place.tree {
        Some(dir) => locked::try_restore(&workspace, dir),
        None => locked::Tried::NoLock,
    };
    let saying = Saying::Report("restore");
    if let locked::Tried::Ready(ready) = &locked {
        let (locked, wanted, _) = ready.as_ref();
        return locked::bring(context, &workspace, locked, wanted, &args.place, args.dry_run, saying, ui)
            .map(|(answer, _)| answer);
    }
    let store = locked.or_store(context, &workspace, ui)?;
    let upstream = &workspace.manifest.upstream;
    let pin = upstream.pin.value;
    let fingerprint = crate::overlay::fingerprint(pin, &Default::default(), &Default::default());
    let wanted = Wanted::pristine(upstream.name.value.clone(), pin, store.listing(pin)?, fingerprint);
    bring(context, &workspace, &wanted, &store, &args.place, args.dry_run, saying, ui)
        .map(|(answer, _)| answer)
}
