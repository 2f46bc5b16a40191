/**
 * What `meter run` states about a call in the proxy's user name: `<project>.~p<run>` for a project that was given, and
 * `<project>.~f<run>` for that of the folder in which `meter run` was started.
 */
export interface RunLabel {
  /** Empty if no project is known. */
  readonly project: string;
  /** Whether the project was given by name. The folder's project is used only if the caller is not found. */
  readonly isGiven: boolean;
  /** The run's id: 12 characters of `a-z0-9`. */
  readonly runId: string;
}

/**
 * Characters of a slug that a user name cannot contain (`:`, RFC 7617 section 2) or that clients percent-encode (`/`). No
 * slug contains `~`, so a user name that a person chose is never read as that of a run.
 */
const ESCAPES: readonly (readonly [character: string, escape: string])[] = [
  [":", "~c"],
  ["/", "~s"],
];

const RUN_USER = /^([a-z0-9._~-]*)\.~([pf])([a-z0-9]{12})$/;

/** Returns the proxy's user name for a run. `project` is a slug. It needs no percent-encoding in a URL. */
export function formatRunUser({ project, isGiven, runId }: RunLabel): string {
  const escaped = ESCAPES.reduce((text, [plain, code]) => text.replaceAll(plain, code), project);
  return `${escaped}.~${isGiven ? "p" : "f"}${runId}`;
}

/** Reads the user name of a run; null for any other user name, which is a project's name. */
export function readRunUser(user: string): RunLabel | null {
  const [, escaped, kind, runId] = RUN_USER.exec(user) ?? [];
  if (escaped === undefined || runId === undefined) return null;
  const project = ESCAPES.reduce((text, [plain, code]) => text.replaceAll(code, plain), escaped);
  return { project, isGiven: kind === "p", runId };
}
