//! Manifests with one mistake each, and some with several.

use super::HEAD;

const SHA: &str = "2222222222222222222222222222222222222222";

/// A title and a whole manifest.
pub fn manifests() -> Vec<(&'static str, String)> {
    let mut all: Vec<(&str, String)> =
        WHOLE.iter().map(|(title, text)| (*title, (*text).to_owned())).collect();
    all.extend(UPSTREAM.iter().map(|(title, lines)| (*title, format!("version = 1\n[upstream]\n{lines}"))));
    all.extend(
        TABLES.iter().map(|(title, tables)| (*title, format!("{HEAD}\n{}", tables.replace("SHA", SHA)))),
    );
    all.extend(OVERLAY.iter().map(|(title, lines)| {
        let lines = lines.replace("SHA", SHA);
        (*title, format!("{HEAD}\n[[overlay]]\nname = \"fix\"\n{lines}"))
    }));
    all.extend(TEST.iter().map(|(title, lines)| {
        (*title, format!("{HEAD}\n[[test]]\nname = \"sweep\"\ntarget = \"sweep\"\n{lines}"))
    }));
    all
}

/// Nothing but this text.
const WHOLE: &[(&str, &str)] = &[
    ("an empty file", ""),
    ("only the version", "version = 1\n"),
    (
        "no version",
        "[upstream]\nname = \"up\"\nurl = \"up.git\"\npin = \"1111111111111111111111111111111111111111\"\n",
    ),
    ("a later version", "version = 2\n[upstream]\nfuture = \"keys\"\n"),
    ("a version in quotes", "version = \"1\"\n"),
    ("JSON", "{\n  \"version\": 1\n}\n"),
    ("YAML", "version: 1\nupstream:\n  name: up\n"),
    (
        "a merge conflict",
        "version = 1\n[upstream]\n<<<<<<< ours\nname = \"a\"\n=======\nname = \"b\"\n>>>>>>> theirs\n",
    ),
    ("two keys on one line", "version = 1\n[upstream]\nname = \"up\"  url = \"up.git\"\n"),
    ("no quotes", "version = 1\n[upstream]\nname = up\n"),
    ("an open quote", "version = 1\n[upstream]\nname = \"up\nurl = \"up.git\"\n"),
    ("an open bracket", "version = 1\n[[overlay]\nname = \"a\"\nfiles = [\"a\", \"b\"\nreason = \"r\"\n"),
    ("a key twice", "version = 1\n[upstream]\nname = \"up\"\nname = \"down\"\n"),
    ("a table twice", "version = 1\n[upstream]\nname = \"up\"\n[upstream]\nurl = \"up.git\"\n"),
    (
        "a regular expression in double quotes",
        "version = 1\n[[upstream.also-pinned]]\nfile = \"CMakeLists.txt\"\nregex = \"TAG\\s+([0-9a-f]{40})\"\n",
    ),
    (
        "syntax and other mistakes at once",
        "version = 1\n[upstream]\nname = up\nurl = \"\"\npin = \"1111\"\nbranchs = \"main\"\n",
    ),
    ("old Mac line ends", "version = 1\r[upstream]\rname = \"up\"\r"),
    ("an upstream that is not a table", "version = 1\nupstream = \"https://example.org/up.git\"\n"),
    ("a list of upstreams", "version = 1\n[[upstream]]\nname = \"up\"\n"),
];

/// The rest of `[upstream]`.
const UPSTREAM: &[(&str, &str)] = &[
    ("an upstream without anything", "\n"),
    ("an abbreviated pin", "name = \"up\"\nurl = \"up.git\"\npin = \"b7c3dd6\"\n"),
    ("a branch as the pin", "name = \"up\"\nurl = \"up.git\"\npin = \"main\"\n"),
    (
        "a pin with a typing error",
        "name = \"up\"\nurl = \"up.git\"\npin = \"b7c3dd6d27f45b5365b08a840310187dc503f1dg\"\n",
    ),
    (
        "a pin with 41 digits",
        "name = \"up\"\nurl = \"up.git\"\npin = \"11111111111111111111111111111111111111111\"\n",
    ),
    (
        "a pin of SHA-256",
        "name = \"up\"\nurl = \"up.git\"\npin = \"1111111111111111111111111111111111111111111111111111111111111111\"\n",
    ),
    ("the null id", "name = \"up\"\nurl = \"up.git\"\npin = \"0000000000000000000000000000000000000000\"\n"),
    ("a pin without quotes", "name = \"up\"\nurl = \"up.git\"\npin = 1111111\n"),
    (
        "a bad name",
        "name = \"my upstream/2\"\nurl = \"up.git\"\npin = \"1111111111111111111111111111111111111111\"\n",
    ),
    ("an empty URL", "name = \"up\"\nurl = \"\"\npin = \"1111111111111111111111111111111111111111\"\n"),
    (
        "a URL that is an option",
        "name = \"up\"\nurl = \"--upload-pack=touch x\"\npin = \"1111111111111111111111111111111111111111\"\n",
    ),
    (
        "a URL that runs a program",
        "name = \"up\"\nurl = \"ext::sh -c touch% x\"\npin = \"1111111111111111111111111111111111111111\"\n",
    ),
    (
        "a URL with an unknown scheme",
        "name = \"up\"\nurl = \"svn://example.org/up\"\npin = \"1111111111111111111111111111111111111111\"\n",
    ),
    (
        "a URL with a host that is an option",
        "name = \"up\"\nurl = \"ssh://-oProxyCommand=x/up\"\npin = \"1111111111111111111111111111111111111111\"\n",
    ),
    (
        "a misspelt key",
        "name = \"up\"\nurl = \"up.git\"\npin = \"1111111111111111111111111111111111111111\"\nbrunch = \"main\"\n",
    ),
    (
        "a key of nothing known",
        "name = \"up\"\nurl = \"up.git\"\npin = \"1111111111111111111111111111111111111111\"\ncolour = \"red\"\n",
    ),
    (
        "a bad branch",
        "name = \"up\"\nurl = \"up.git\"\npin = \"1111111111111111111111111111111111111111\"\nbranch = \"a..b\"\n",
    ),
    (
        "a tree outside",
        "name = \"up\"\nurl = \"up.git\"\npin = \"1111111111111111111111111111111111111111\"\ntree = \"../up\"\n",
    ),
    (
        "a tree among the overlays",
        "name = \"up\"\nurl = \"up.git\"\npin = \"1111111111111111111111111111111111111111\"\ntree = \"overlays/up/tree\"\n",
    ),
    (
        "a tree that is the repository",
        "name = \"up\"\nurl = \"up.git\"\npin = \"1111111111111111111111111111111111111111\"\ntree = \".\"\n",
    ),
];

/// Tables after a good `[upstream]`.
const TABLES: &[(&str, &str)] = &[
    (
        "an overlay in single brackets",
        "[overlay]\nname = \"a\"\ndelete = [\"a\"]\n[[test]]\nname = \"t\"\ntarget = \"t\"\ncommand = [\"t\"]\n",
    ),
    (
        "overlays in single brackets",
        "[overlay]\nname = \"a\"\nfiles = [\"a\"]\n\n[overlay]\nname = \"b\"\ndelete = [\"a\"]\nbase = \"1\"\n[overlay] # c\nname = \"c\"\n",
    ),
    (
        "an overlay in single brackets before others",
        "[overlay]\nname = \"a\"\n\n[[overlay]]\nname = \"b\"\nneeds = [\"a\", \"c\"]\ndelete = [\"x\"]\n[[overlay]]\nname = \"c\"\n",
    ),
    (
        "also-pinned with an absolute file",
        "[[upstream.also-pinned]]\nfile = \"/etc/passwd\"\nregex = '([0-9a-f]{40})'\n",
    ),
    (
        "also-pinned without a group",
        "[[upstream.also-pinned]]\nfile = \"CMakeLists.txt\"\nregex = 'TAG\\s+[0-9a-f]{40}'\n",
    ),
    (
        "also-pinned with two groups",
        "[[upstream.also-pinned]]\nfile = \"CMakeLists.txt\"\nregex = '(TAG|REV)\\s+([0-9a-f]{40})'\n",
    ),
    (
        "also-pinned with a bad regular expression",
        "[[upstream.also-pinned]]\nfile = \"CMakeLists.txt\"\nregex = 'TAG ([0-9a-f]{40}'\n",
    ),
    (
        "also-pinned with look-behind",
        "[[upstream.also-pinned]]\nfile = \"CMakeLists.txt\"\nregex = '(?<=TAG )([0-9a-f]{40})'\n",
    ),
    (
        "also-pinned with one bracket",
        "[upstream.also-pinned]\nfile = \"CMakeLists.txt\"\nregex = '([0-9a-f]{40})'\n",
    ),
    (
        "two remotes of one name",
        "[[upstream.remote]]\nname = \"fork\"\nurl = \"a.git\"\n[[upstream.remote]]\nname = \"fork\"\nurl = \"b.git\"\n",
    ),
    (
        "a submodule with a bad path",
        "[[upstream.submodule]]\npath = \"csrc/../../cutlass\"\nurl = \"c.git\"\n",
    ),
    ("an unknown table", "[overlays]\nname = \"x\"\n"),
    ("an overlay with one bracket", "[overlay]\nname = \"x\"\n"),
    ("a location outside", "[locations]\noverlays = \"/srv/overlays\"\n"),
    ("a location with a backslash", "[locations]\noverlays = 'over\\up'\n"),
    ("exclusive as a flat list", "[features]\nexclusive = [\"cuda\", \"rocm\"]\n"),
    ("a feature twice in a group", "[features]\nexclusive = [[\"cuda\", \"rocm\", \"cuda\"]]\n"),
    ("a group of one feature", "[features]\nexclusive = [[\"cuda\"]]\n"),
    ("a check without patterns", "[[check]]\nname = \"api\"\nglobs = [\"src/**\"]\nforbid = []\n"),
    ("a check with a bad glob", "[[check]]\nname = \"api\"\nglobs = [\"src/[a-\"]\nforbid = ['x']\n"),
    ("a check that finds everything", "[[check]]\nname = \"api\"\nglobs = [\"src/**\"]\nforbid = ['x*']\n"),
    (
        "a profile with exclusive features",
        "[features]\nexclusive = [[\"cuda\", \"rocm\"]]\n[profile.both]\nfeatures = [\"rocm\", \"cuda\"]\n",
    ),
    ("a profile with a truth value for CMake", "[profile.cpu]\ncmake = { UP_CUDA = false }\n"),
    ("a profile with a bad name", "[profile.\"my cpu\"]\ntargets = [\"up\"]\n"),
    ("a profile that is not a table", "[profile]\ntargets = [\"up\"]\n"),
    ("a target that is an option", "[profile.cpu]\ntargets = [\"--clean-first\"]\n"),
    ("a cache in a reserved variable", "[profile.cpu]\ncache-env = [\"PATH\"]\n"),
    (
        "two overlays of one name",
        "[[overlay]]\nname = \"a\"\ndelete = [\"x\"]\n[[overlay]]\nname = \"a\"\ndelete = [\"y\"]\n",
    ),
    (
        "an overlay that needs an unknown one",
        "[[overlay]]\nname = \"rms-norm\"\ndelete = [\"x\"]\n[[overlay]]\nname = \"b\"\ndelete = [\"y\"]\nneeds = [\"rms_norm\"]\n",
    ),
    (
        "overlays that need each other",
        "[[overlay]]\nname = \"a\"\ndelete = [\"x\"]\nneeds = [\"b\"]\n[[overlay]]\nname = \"b\"\ndelete = [\"y\"]\nneeds = [\"c\"]\n[[overlay]]\nname = \"c\"\ndelete = [\"z\"]\nneeds = [\"a\"]\n",
    ),
    (
        "an overlay that needs one of another platform",
        "[features]\nexclusive = [[\"cuda\", \"rocm\"]]\n[[overlay]]\nname = \"a\"\ndelete = [\"x\"]\nwhen = [\"cuda\"]\nneeds = [\"b\"]\n[[overlay]]\nname = \"b\"\ndelete = [\"y\"]\nwhen = [\"rocm\"]\n",
    ),
    (
        "an overlay that needs a rival that stands back",
        "[[overlay]]\nname = \"a\"\ndelete = [\"x\"]\nneeds = [\"b\"]\n[[overlay]]\nname = \"b\"\ndelete = [\"y\"]\nrivals = \"r\"\nactive = false\n[[overlay]]\nname = \"c\"\ndelete = [\"y\"]\nrivals = \"r\"\nactive = true\n",
    ),
    (
        "rivals that need each other",
        "[[overlay]]\nname = \"b\"\ndelete = [\"y\"]\nrivals = \"r\"\nactive = false\nneeds = [\"c\"]\n[[overlay]]\nname = \"c\"\ndelete = [\"y\"]\nrivals = \"r\"\nactive = true\n",
    ),
    (
        "rivals that do not say which is active",
        "[[overlay]]\nname = \"b\"\ndelete = [\"y\"]\nrivals = \"r\"\n[[overlay]]\nname = \"c\"\ndelete = [\"y\"]\nrivals = \"r\"\n",
    ),
    (
        "rivals of which none is active",
        "[[overlay]]\nname = \"b\"\ndelete = [\"y\"]\nrivals = \"r\"\nactive = false\n",
    ),
    ("a test without a name", "[[test]]\ntarget = \"sweep\"\ncommand = [\"{build}/sweep\"]\n"),
    ("a test that builds nothing", "[[test]]\nname = \"sweep\"\ncommand = [\"{build}/sweep\"]\n"),
    (
        "two tests of one name",
        "[[test]]\nname = \"t\"\ntarget = \"t\"\ncommand = [\"t\"]\n[[test]]\nname = \"t\"\ntarget = \"t\"\ncommand = [\"t\"]\n",
    ),
    (
        "a feature that no profile turns on",
        "[profile.cpu]\nfeatures = [\"metal\"]\n[[overlay]]\nname = \"a\"\ndelete = [\"x\"]\nwhen = [\"metel\"]\n",
    ),
    (
        "sanitizers that never run",
        "[profile.cpu]\n[profile.cuda]\nrequires = \"cuda\"\n[[test]]\nname = \"t\"\ntarget = \"t\"\ncommand = [\"t\"]\n\
         profiles = [\"cpu\"]\nsanitizers = [\"memcheck\", \"address\"]\n[[test]]\nname = \"u\"\ntarget = \"u\"\n\
         command = [\"u\"]\nprofiles = [\"cuda\"]\nsanitizers = [\"undefined\"]\n",
    ),
];

/// The rest of `[[overlay]]`, the name of which is `fix`.
const OVERLAY: &[(&str, &str)] = &[
    ("an overlay without content", "reason = \"r\"\n"),
    ("files and a patch", "files = [\"src/a.cu\"]\npatch = \"a.patch\"\n"),
    ("files as a text", "files = \"src/a.cu\"\n"),
    ("no files", "files = []\n"),
    ("a file outside", "files = [\"../src/a.cu\"]\n"),
    ("a file named twice", "files = [\"src/a.cu\", \"src/a.cu\"]\n"),
    ("a number among the files", "files = [\"src/a.cu\", 7]\n"),
    ("a bad glob", "files = [\"src/{a,b.cu\"]\n"),
    ("a path into .git", "delete = [\".git/config\"]\n"),
    ("a folder to delete", "delete = [\"src/old/\"]\n"),
    ("a path with a dot in front", "delete = [\"./src/a.cu\"]\n"),
    ("a patch from outside", "patch = \"/tmp/a.patch\"\n"),
    ("from as a text", "from = \"SHA\"\n"),
    ("from nothing", "from = { remote = \"fork\" }\n"),
    ("from a commit without paths", "from = { commit = \"SHA\" }\n"),
    ("from a commit and commits", "from = { commit = \"SHA\", commits = [\"SHA\"], paths = [\"a\"] }\n"),
    ("from commits with paths", "from = { commits = [\"SHA\"], paths = [\"a\"] }\n"),
    ("from abbreviated commits", "from = { commits = [\"1234abcd\", \"SHA\"] }\n"),
    ("from an unknown remote", "from = { commits = [\"SHA\"], remote = \"fork\" }\n"),
    ("an unknown claim", "delete = [\"a\"]\nclaim = \"comment\"\n"),
    ("a misspelt key of an overlay", "delete = [\"a\"]\npull_request = \"https://example.org/1\"\n"),
    ("an overlay that needs itself", "delete = [\"a\"]\nneeds = [\"fix\"]\n"),
    ("active without rivals", "delete = [\"a\"]\nactive = false\n"),
    ("active in quotes", "delete = [\"a\"]\nrivals = \"r\"\nactive = \"true\"\n"),
    ("conditions that contradict each other", "delete = [\"a\"]\nwhen = [\"cuda\", \"!cuda\"]\n"),
    ("an unknown test", "delete = [\"a\"]\ntests = [\"sweep\"]\n"),
    ("an abbreviated base", "delete = [\"a\"]\nbase = \"1700b39\"\n"),
    ("an empty reason", "delete = [\"a\"]\nreason = \"\"\n"),
    ("a witness of another form", "delete = [\"a\"]\nwitness = { commit = \"SHA\" }\n"),
    ("a witness that is a number", "delete = [\"a\"]\nwitness = 1700\n"),
    ("drop-when as a text", "delete = [\"a\"]\ndrop-when = \"merged\"\n"),
    (
        "drop-when with two conditions",
        "delete = [\"a\"]\ndrop-when = { pin-contains = \"SHA\", attested = \"a model\" }\n",
    ),
    ("drop-when that is no condition", "delete = [\"a\"]\ndrop-when = { tests-pass-without = false }\n"),
    ("drop-when that waits for no test", "delete = [\"a\"]\ndrop-when = { tests-pass-without = true }\n"),
    ("control characters", "delete = [\"a\"]\nneeds = [\"\\u001b[31mred\\u202e\"]\n"),
    ("hidden characters in the text", "delete = [\"a\"]\nneeds = [\"a\u{202e}b\u{200b}\"]\n"),
    (
        "many mistakes at once",
        "files = [\"src/a.cu\"]\nclaim = \"nothing\"\nbase = \"abc\"\nneeds = [\"other\"]\ntestes = []\nreport = \"/r.md\"\n",
    ),
];

/// The rest of `[[test]]`, the name and target of which are `sweep`.
const TEST: &[(&str, &str)] = &[
    ("a test without a command", "repeats = 3\n"),
    ("a command as a text", "command = \"{build}/sweep --full\"\n"),
    ("an empty command", "command = []\n"),
    ("an unknown placeholder", "command = [\"{buidl}/sweep\", \"--seed={seed}\"]\n"),
    ("an unknown profile", "command = [\"sweep\"]\nprofiles = [\"cuda\"]\n"),
    ("an unknown format", "command = [\"sweep\"]\nformat = \"json\"\n"),
    ("an unknown sanitizer", "command = [\"sweep\"]\nsanitizers = [\"memchek\", \"valgrind\"]\n"),
    ("no repeats", "command = [\"sweep\"]\nrepeats = 0\n"),
    ("half a repeat", "command = [\"sweep\"]\nrepeats = 2.5\n"),
    ("a timeout without a unit", "command = [\"sweep\"]\ntimeout = \"120\"\n"),
    ("a timeout that is a number", "command = [\"sweep\"]\ntimeout = 120\n"),
    ("a timeout of nothing", "command = [\"sweep\"]\ntimeout = \"0s\"\n"),
    ("a timeout in an unknown unit", "command = [\"sweep\"]\ntimeout = \"2 minutes\"\n"),
    ("a gain in per cent", "command = [\"sweep\"]\nmin-gain = 5\n"),
    ("sources outside", "command = [\"sweep\"]\nsources = [\"../kernels/**\"]\n"),
    ("a project outside", "command = [\"sweep\"]\nproject = \"/srv/kernels\"\n"),
];
