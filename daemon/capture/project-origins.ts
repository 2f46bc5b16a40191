import {
  type AssignmentDecision,
  type AssignmentFacts,
  decideAssignment,
  followMerges,
  type OriginAssignment,
  type ProjectOrigin,
} from "../../core/metering/attribution/project-origin.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import { errorMessage, errorName } from "../../core/values/text/describe-error.ts";
import type { Millis } from "../../core/values/time.ts";
import type { Store } from "../store/port/store.ts";

/** Keeps projects apart that are named after folders of the same name. */
export interface ProjectOrigins {
  /**
   * Returns the project of calls from an origin whose folder has this name, with merges applied; with null, applies merges
   * only. The first call from an origin stores its project; later ones read no database. Never rejects: if the store fails,
   * the project is the name, and nothing is remembered.
   */
  find(name: string, origin: ProjectOrigin | null): Promise<string>;
  /** Reads the stored projects again: after a merge, and after the database was opened. */
  reload(): void;
}

/** The ports of `createProjectOrigins()`. */
export interface ProjectOriginPorts {
  readonly store: Pick<Store, "origins" | "trouble">;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a folder no longer exists. If it rejects, the folders count as existing. */
  isFolderGone(folder: string): Promise<boolean>;
  /** Whether a text contains a secret. Such an origin is not stored. */
  isSecret(text: string): boolean;
  /** Whether all origins of a name stay one project, so that a rule for it applies to all of them. */
  isShared(name: string): boolean;
  sha256Hex(text: string): string;
}

/** How long the check of folders may take, in milliseconds. After that, all of them count as existing. */
export const FOLDER_CHECK_TIMEOUT_MS = 1_000;

/** How long the store is left alone after a failure, in milliseconds. */
export const STORE_RETRY_MS = 5_000;

/** The maximum number of stored origins. Further ones have the project of their name. */
const MAX_ASSIGNMENTS = 5_000;

/** The maximum number of origins whose project is held in memory. */
const MAX_KNOWN = 1_024;

interface State {
  readonly ports: ProjectOriginPorts;
  /** What the store has. Null if it is not read yet. */
  stored: {
    assignments: readonly OriginAssignment[];
    readonly merges: ReadonlyMap<string, string>;
  } | null;
  /** The projects of origins before merges, by name and origin. */
  readonly known: Map<string, Promise<string>>;
  /** When the store last failed. */
  failedAt: Millis | null;
}

export function createProjectOrigins(ports: ProjectOriginPorts): ProjectOrigins {
  const state: State = { ports, stored: null, known: new Map(), failedAt: null };
  return {
    async find(name, origin) {
      const slug = origin === null ? name : await findSlug(state, name, origin);
      return followMerges(slug, readStored(state)?.merges ?? new Map());
    },
    reload() {
      // While the store fails, what was read before still applies.
      if (ports.store.trouble !== null) return;
      state.stored = null;
      state.failedAt = null;
      state.known.clear();
    },
  };
}

function findSlug(state: State, name: string, origin: ProjectOrigin): Promise<string> {
  const key = [name, origin.remote ?? "", origin.folder].join("\0");
  const known = state.known.get(key);
  if (known !== undefined) return known;
  const slug = assignSlug(state, name, origin).catch((cause: unknown) => {
    noteFailure(state, cause);
    return null;
  });
  const found = slug.then((assigned) => {
    if (assigned === null) state.known.delete(key);
    return assigned ?? name;
  });
  if (state.known.size >= MAX_KNOWN) state.known.clear();
  state.known.set(key, found);
  return found;
}

/** Returns the stored slug of an origin, or stores one. Null if the origin has none for now. */
async function assignSlug(state: State, name: string, given: ProjectOrigin): Promise<string | null> {
  const { isSecret } = state.ports;
  if (isSecret(given.folder)) return null;
  const origin = given.remote !== null && isSecret(given.remote) ? { ...given, remote: null } : given;
  let decision = decide(state, name, origin, null);
  if (decision?.kind === "check_folders")
    // Another call may have been assigned meanwhile, so everything is decided again.
    decision = decide(state, name, origin, await findMissing(state.ports, decision.folders));
  if (decision === null || decision.kind === "check_folders") return null;
  return decision.kind === "known" ? decision.slug : storeAssignment(state, decision);
}

function decide(
  state: State,
  name: string,
  origin: ProjectOrigin,
  goneFolders: ReadonlySet<string> | null,
): AssignmentDecision | null {
  const stored = readStored(state);
  if (stored === null) return null;
  const { store, isSecret, sha256Hex } = state.ports;
  const { isUsed } = store.origins;
  const facts: AssignmentFacts = { ...stored, goneFolders, isUsed, isSecret, hash: sha256Hex };
  return decideAssignment(name, origin, facts);
}

/** Stores a new assignment and returns its slug. Null if it may not be stored. Throws if the store fails. */
function storeAssignment(
  state: State,
  { assignment, replaced }: Extract<AssignmentDecision, { kind: "new" }>,
): string | null {
  const { store, isShared } = state.ports;
  const { assignments, merges } = readStored(state) ?? { assignments: [], merges: new Map() };
  const { name, slug } = assignment;
  const isNewSlug = slug !== name && !assignments.some((each) => each.slug === slug);
  if (isNewSlug && isShared(name)) return null;
  if (store.trouble !== null || isRecentFailure(state) || assignments.length >= MAX_ASSIGNMENTS) return null;
  store.origins.assign(assignment, replaced);
  // An origin that was replaced gets another project if its folder exists again.
  if (replaced.length > 0) state.known.clear();
  const rest = assignments.filter((each) => !replaced.includes(each));
  state.stored = { assignments: [...rest, assignment], merges };
  return slug;
}

/** Returns what the store has, which is read once. Null if it can't be read. */
function readStored(state: State): State["stored"] {
  const { store } = state.ports;
  if (state.stored !== null || store.trouble !== null || isRecentFailure(state)) return state.stored;
  try {
    state.stored = { assignments: store.origins.list(), merges: store.origins.listMerges() };
  } catch (cause) {
    noteFailure(state, cause);
  }
  return state.stored;
}

function isRecentFailure({ ports, failedAt }: State): boolean {
  const elapsed = failedAt === null ? STORE_RETRY_MS : ports.clock.now() - failedAt;
  return elapsed >= 0 && elapsed < STORE_RETRY_MS;
}

/** Logs a failure of the store. Its messages contain no origin. */
function noteFailure(state: State, cause: unknown): void {
  const { clock, log } = state.ports;
  state.failedAt = clock.now();
  log.warn("attribution.failed", { error: errorName(cause), message: errorMessage(cause) });
}

/** Returns the folders that no longer exist. A folder on a file system that does not answer exists. */
function findMissing(
  { clock, isFolderGone }: ProjectOriginPorts,
  folders: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(FOLDER_CHECK_TIMEOUT_MS, () => resolve(new Set()));
    const checks = folders.map(async (folder) => ((await isFolderGone(folder)) ? [folder] : []));
    void Promise.all(checks)
      .then(
        (gone) => resolve(new Set(gone.flat())),
        () => resolve(new Set()),
      )
      .finally(cancel);
  });
}
