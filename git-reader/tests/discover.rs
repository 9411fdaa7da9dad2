//! Compares discovery with the real `git`: for every kind of repository that git makes, both must
//! name the same directories and the same object format.
//!
//! What is compared is what git says (`git rev-parse`, `git count-objects`), never what this
//! crate believes git would say. Inputs that git never makes are in `hostile/`.
//!
//! The tests need `git` and fail without it.

mod hostile;
mod sandbox;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use git_reader::{ObjectFormat, ObjectId, OpenError, Repository};
use sandbox::Sandbox;

/// Discovers the repository that the directory `name` is in and compares it with git's.
fn compare(sandbox: &Sandbox, name: &str) -> Repository {
    let repository = Repository::discover(&sandbox.path(name)).expect("git finds one here");
    let ask = |question: &str| {
        let arguments = ["rev-parse", "--path-format=absolute"].into_iter();
        sandbox.git(name, &arguments.chain(question.split(' ')).collect::<Vec<_>>())
    };
    assert_eq!(repository.git_dir(), Path::new(&ask("--git-dir")));
    assert_eq!(repository.common_dir(), Path::new(&ask("--git-common-dir")));
    assert_eq!(repository.object_format().name(), ask("--show-object-format"));
    if ask("--is-inside-work-tree") == "true" {
        assert_eq!(repository.work_tree(), Some(Path::new(&ask("--show-toplevel"))));
    }
    let mut directories = repository.object_directories().paths().to_vec();
    assert_eq!(directories.remove(0), Path::new(&ask("--git-path objects")));
    directories.sort();
    assert_eq!(directories, alternates(sandbox, name));
    repository
}

/// The alternates of a repository as git follows them, sorted.
fn alternates(sandbox: &Sandbox, name: &str) -> Vec<PathBuf> {
    let counted = sandbox.git(name, &["count-objects", "-v"]);
    let lines = counted.lines().filter_map(|line| line.strip_prefix("alternate: "));
    let mut paths: Vec<_> = lines.map(|path| fs::canonicalize(path).expect("git has it")).collect();
    paths.sort();
    paths
}

fn commit(sandbox: &Sandbox, name: &str) {
    sandbox.git(name, &["commit", "--quiet", "--allow-empty", "--message", "m"]);
}

#[test]
fn a_work_tree_and_the_directories_in_it() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "work"]);
    fs::create_dir_all(sandbox.path("work/a/b")).unwrap();
    for name in ["work", "work/a/b", "work/.git", "work/.git/objects/info"] {
        let repository = compare(&sandbox, name);
        assert!(!repository.is_linked_worktree());
    }
    let opened = Repository::open(&sandbox.path("work")).unwrap();
    assert_eq!(opened.work_tree(), Some(&*sandbox.path("work")));
    let opened = Repository::open(&sandbox.path("work/.git")).unwrap();
    assert_eq!(opened.work_tree(), None);
    assert!(Repository::open(&sandbox.path("work/a")).is_err());
}

#[test]
fn a_file_is_in_the_repository_around_it() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "work"]);
    sandbox.write("work/file", "");
    let repository = Repository::discover(&sandbox.path("work/file")).unwrap();
    assert_eq!(repository.git_dir(), sandbox.path("work/.git"));
}

#[test]
fn a_bare_repository() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "--bare", "bare.git"]);
    assert_eq!(compare(&sandbox, "bare.git").work_tree(), None);
    compare(&sandbox, "bare.git/refs/heads");
}

#[test]
fn sha256() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "--object-format=sha256", "work"]);
    commit(&sandbox, "work");
    let repository = compare(&sandbox, "work");
    assert_eq!(repository.object_format(), ObjectFormat::Sha256);
    let name = sandbox.git("work", &["rev-parse", "HEAD"]);
    let id = ObjectId::from_hex(ObjectFormat::Sha256, name.as_bytes()).unwrap();
    assert_eq!(id.to_string(), name);
    // Detached: HEAD holds the id itself.
    sandbox.git("work", &["checkout", "--quiet", "--detach"]);
    compare(&sandbox, "work");
}

#[test]
fn linked_worktrees() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "work"]);
    commit(&sandbox, "work");
    sandbox.git("work", &["worktree", "add", "--quiet", "../linked"]);
    sandbox.git("work", &["worktree", "add", "--quiet", "--detach", "within"]);
    for name in ["linked", "work/within"] {
        assert!(compare(&sandbox, name).is_linked_worktree());
    }
    assert!(!compare(&sandbox, "work").is_linked_worktree());
    let opened = Repository::open(&sandbox.path("work/.git/worktrees/linked")).unwrap();
    assert_eq!(opened.common_dir(), sandbox.path("work/.git"));
}

#[test]
fn a_worktree_of_a_bare_sha256_repository() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "--object-format=sha256", "work"]);
    commit(&sandbox, "work");
    sandbox.git("", &["clone", "--quiet", "--bare", "work", "bare.git"]);
    sandbox.git("bare.git", &["worktree", "add", "--quiet", "../linked"]);
    let repository = compare(&sandbox, "linked");
    assert!(repository.is_linked_worktree());
    assert_eq!(repository.object_format(), ObjectFormat::Sha256);
}

#[test]
fn submodules() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "upstream"]);
    commit(&sandbox, "upstream");
    sandbox.git("", &["init", "--quiet", "work"]);
    sandbox.git("work", &["submodule", "--quiet", "add", "../upstream", "added"]);
    // A repository made in place keeps its `.git` directory until it is absorbed.
    sandbox.git("work", &["init", "--quiet", "absorbed"]);
    commit(&sandbox, "work/absorbed");
    compare(&sandbox, "work/absorbed");
    sandbox.git("work", &["submodule", "--quiet", "add", "./absorbed"]);
    sandbox.git("work", &["submodule", "--quiet", "absorbgitdirs"]);
    for name in ["added", "absorbed"] {
        let repository = compare(&sandbox, &format!("work/{name}"));
        assert_eq!(repository.git_dir(), sandbox.path("work/.git/modules").join(name));
        assert!(!repository.is_linked_worktree());
    }
}

#[test]
fn a_separate_git_directory() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "--separate-git-dir=elsewhere", "work"]);
    let repository = compare(&sandbox, "work");
    assert_eq!(repository.git_dir(), sandbox.path("elsewhere"));
}

#[test]
fn alternates_of_shared_clones() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "0"]);
    commit(&sandbox, "0");
    for number in 1..=6 {
        let (source, target) = ((number - 1).to_string(), number.to_string());
        sandbox.git("", &["clone", "--quiet", "--shared", "--no-checkout", &source, &target]);
    }
    // git makes no longer chain, because it would not follow it: both must stop at the same one.
    for number in 7..=8 {
        sandbox.git("", &["init", "--quiet", &number.to_string()]);
        let list = format!("../../../{}/.git/objects\n../gone\n", number - 1);
        sandbox.write(&format!("{number}/.git/objects/info/alternates"), list);
    }
    for number in 0..=8 {
        compare(&sandbox, &number.to_string());
    }
    let repository = compare(&sandbox, "5");
    assert_eq!(repository.object_directories().paths().len(), 6);
    assert!(repository.object_directories().faults().is_empty());
    // Two for the alternates that are gone, one for the chain that is too long.
    let repository = compare(&sandbox, "8");
    assert_eq!(repository.object_directories().faults().len(), 3);
}

#[test]
fn alternates_with_comments_quotes_and_loops() {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "c"] {
        sandbox.git("", &["init", "--quiet", "--bare", name]);
    }
    let list = "# none\n\n\"../../\\142/objects\"\n../../c/objects/\n../../c/../a/objects\n";
    sandbox.write("a/objects/info/alternates", list);
    sandbox.write("c/objects/info/alternates", "../../a/objects\n\"../../b\n");
    for name in ["a", "b", "c"] {
        compare(&sandbox, name);
    }
}

#[test]
fn a_head_that_is_a_symbolic_link() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "work"]);
    fs::remove_file(sandbox.path("work/.git/HEAD")).unwrap();
    symlink("refs/heads/unborn", sandbox.path("work/.git/HEAD")).unwrap();
    compare(&sandbox, "work");
    fs::remove_file(sandbox.path("work/.git/HEAD")).unwrap();
    symlink("/etc/passwd", sandbox.path("work/.git/HEAD")).unwrap();
    assert!(!sandbox.git_accepts("work", &["rev-parse"]));
    assert!(Repository::discover(&sandbox.path("work")).is_err());
}

#[test]
fn a_git_directory_that_is_a_symbolic_link() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "real"]);
    fs::create_dir(sandbox.path("work")).unwrap();
    symlink("../real/.git", sandbox.path("work/.git")).unwrap();
    let repository = Repository::discover(&sandbox.path("work")).unwrap();
    assert_eq!(repository.git_dir(), sandbox.path("real/.git"));
    assert_eq!(repository.work_tree(), Some(&*sandbox.path("work")));
}

#[test]
fn a_broken_git_directory_is_passed_over() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "--quiet", "outer"]);
    fs::create_dir_all(sandbox.path("outer/inner/.git")).unwrap();
    compare(&sandbox, "outer/inner");
    fs::remove_dir_all(sandbox.path("outer/.git")).unwrap();
    let error = Repository::discover(&sandbox.path("outer/inner")).unwrap_err();
    let OpenError::NotGitDirectory { path, .. } = error else { panic!("{error}") };
    assert_eq!(path, sandbox.path("outer/inner/.git"));
}

#[test]
fn every_part_of_a_git_directory_is_needed() {
    for part in ["HEAD", "objects", "refs"] {
        let sandbox = Sandbox::new();
        sandbox.git_directory("work/.git");
        compare(&sandbox, "work");
        fs::rename(sandbox.path("work/.git").join(part), sandbox.path("away")).unwrap();
        assert!(!sandbox.git_accepts("work", &["rev-parse"]), "{part}");
        let error = Repository::open(&sandbox.path("work")).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
