//! A repository on disk: where it is, where its objects are, and how they are named.
//!
//! It owns the search for a repository from a path. The rules are git's: gitrepository-layout(5),
//! git-worktree(1), and the discussion of `GIT_DISCOVERY_ACROSS_FILESYSTEM` in git(1). It must
//! not decide what is done with one, and it keeps nothing open.
//!
//! All paths are absolute and free of symbolic links, as they were when the repository was
//! opened. A search tries a bounded number of directories and stays on one file system.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::dot_git::DotGit;
use crate::git_directory::GitDirectory;
use crate::limits::ANCESTOR_COUNT_MAX;
use crate::object_directories::ObjectDirectories;
use crate::object_id::ObjectFormat;
use crate::open_error::OpenError;
use crate::repository_format::RepositoryFormat;

/// A repository.
#[derive(Debug)]
pub struct Repository {
    work_tree: Option<PathBuf>,
    git_dir: PathBuf,
    common_dir: PathBuf,
    object_format: ObjectFormat,
    object_directories: ObjectDirectories,
}

impl Repository {
    /// Opens the repository at `path`: a work tree, which has a `.git` directory or file, or a
    /// git directory itself, bare or not.
    ///
    /// # Errors
    ///
    /// When there is none at `path`, or it cannot be read.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let path = fs::canonicalize(path).map_err(|error| OpenError::unreadable(path, error))?;
        match Look::at(&path)? {
            Look::Found(work_tree, directory) => Self::assemble(work_tree, directory),
            Look::Broken(error) | Look::Absent(error) => Err(error),
        }
    }

    /// Finds the repository that `path` is in, as git does in a working directory: at `path` or
    /// in the nearest directory above it, but not beyond a mount point.
    ///
    /// # Errors
    ///
    /// When there is none, when a `.git` file met on the way leads nowhere, or when the
    /// repository cannot be read. A broken `.git` directory is passed over, as git does, and
    /// gives the error when no repository is found above it.
    pub fn discover(path: &Path) -> Result<Self, OpenError> {
        let unreadable = |error| OpenError::unreadable(path, error);
        let start = fs::canonicalize(path).map_err(unreadable)?;
        let device = fs::metadata(&start).map_err(unreadable)?.dev();
        let mut first_broken = None;
        for directory in start.ancestors().take(ANCESTOR_COUNT_MAX) {
            if fs::metadata(directory).is_ok_and(|metadata| metadata.dev() != device) {
                break;
            }
            match Look::at(directory)? {
                Look::Found(work_tree, directory) => return Self::assemble(work_tree, directory),
                Look::Broken(error) => first_broken = first_broken.or(Some(error)),
                Look::Absent(_) => {}
            }
        }
        Err(first_broken.unwrap_or(OpenError::NotFound { path: start }))
    }

    fn assemble(work_tree: Option<PathBuf>, directory: GitDirectory) -> Result<Self, OpenError> {
        let GitDirectory { git_dir, common_dir } = directory;
        let format = RepositoryFormat::read(&common_dir.join("config"))?;
        let objects = common_dir.join("objects");
        let object_directories = ObjectDirectories::find(&objects)
            .map_err(|error| OpenError::unreadable(objects, error))?;
        let object_format = format.object_format;
        Ok(Self { work_tree, git_dir, common_dir, object_format, object_directories })
    }

    /// The directory whose `.git` led to the repository; nothing when the git directory itself
    /// was given or met, as with a bare repository.
    #[must_use]
    pub fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// The git directory, with the `HEAD` and index of this work tree.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The directory with what all worktrees share: objects, references and settings. It is the
    /// git directory except in a linked worktree.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// How the repository names its objects.
    #[must_use]
    pub fn object_format(&self) -> ObjectFormat {
        self.object_format
    }

    /// Where the repository's objects are.
    #[must_use]
    pub fn object_directories(&self) -> &ObjectDirectories {
        &self.object_directories
    }

    /// Whether this is a worktree added with `git worktree add`, which has its objects in common
    /// with another.
    #[must_use]
    pub fn is_linked_worktree(&self) -> bool {
        self.git_dir != self.common_dir
    }
}

/// What looking for a repository in one directory came to.
enum Look {
    /// A git directory, and the work tree if there is one.
    Found(Option<PathBuf>, GitDirectory),
    /// A directory `.git` that is not a git directory, and why it is not.
    Broken(OpenError),
    /// Nothing, and why the directory is not itself a git directory.
    Absent(OpenError),
}

impl Look {
    /// Looks for `.git` first and takes the directory itself second, as git does. A `.git` file
    /// that leads nowhere is an error: it was made on purpose, and what it meant is lost.
    fn at(directory: &Path) -> Result<Self, OpenError> {
        let work_tree = Some(directory.to_owned());
        let broken = match DotGit::find(directory)? {
            DotGit::Absent => None,
            DotGit::Directory(path) => match GitDirectory::open(&path) {
                Ok(found) => return Ok(Self::Found(work_tree, found)),
                Err(error) => Some(error),
            },
            DotGit::File { path, target } => {
                return GitDirectory::open(&target)
                    .map(|found| Self::Found(work_tree, found))
                    .map_err(|cause| OpenError::GitFile { path, cause: Box::new(cause) });
            }
        };
        Ok(match (GitDirectory::open(directory), broken) {
            (Ok(found), _) => Self::Found(None, found),
            (Err(_), Some(error)) => Self::Broken(error),
            (Err(error), None) => Self::Absent(error),
        })
    }
}
