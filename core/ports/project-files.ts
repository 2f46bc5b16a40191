/** Reads the project settings from a working directory and its parents. */
export interface ProjectFiles {
  /** Never rejects. An unreadable file counts as absent, except that an unreadable `.meter.toml` refuses body capture. */
  find(cwd: string): Promise<ProjectFacts>;
  /**
   * Returns what a working tree has checked out at this moment; `gitFolder` is its root. Null if it is none any more. Never
   * rejects.
   */
  checkout(gitFolder: string): Promise<Checkout | null>;
}

/** The project settings found in the folders. */
export interface ProjectFacts {
  /** The nearest `.meter.toml` that names a project. */
  readonly projectFile: { readonly path: string; readonly project: string } | null;
  /** Whether any `.meter.toml` on the way up has `body_capture = false` or cannot be read. No file can switch capture on. */
  readonly bodyCaptureRefused: boolean;
  /** Root of the repository; of a linked worktree, the root of the repository that it belongs to. */
  readonly gitRoot: string | null;
  /** Root of the working tree. It differs from `gitRoot` in a linked worktree. */
  readonly gitFolder: string | null;
  /** The repository's remote as `readGitRemote()` returns it: host and path, without a login. */
  readonly gitRemote: string | null;
}

/** What a working tree has checked out. */
export interface Checkout {
  /** The branch, such as `feature/login`. Null if none is checked out or it is unknown. */
  readonly branch: string | null;
  /** The commit, in 40 or 64 lower-case hex digits. Null if there is none yet or it is unknown. */
  readonly commit: string | null;
  /** The number of the pull request that the branch belongs to. */
  readonly pullRequest: number | null;
}
