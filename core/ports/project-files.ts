/** What the folders from a working directory upward say about the project. */
export interface ProjectFiles {
  /** Never rejects: what can't be read is absent, a `.meter.toml` that can't be read refuses body capture. */
  find(cwd: string): Promise<ProjectFacts>;
}

/** What the folders say. */
export interface ProjectFacts {
  /** The nearest `.meter.toml` that names a project. */
  readonly projectFile: { readonly path: string; readonly project: string } | null;
  /** Whether any `.meter.toml` on the way says `body_capture = false`, or can't be read. None can switch capture on. */
  readonly bodyCaptureRefused: boolean;
  /** Root of the repository; of a linked worktree, the root of the repository that it belongs to. */
  readonly gitRoot: string | null;
}
