import type { ProjectFacts } from "../../ports/project-files.ts";
import { MAX_SLUG_LENGTH, normaliseSlug } from "../../values/slug/normalise-slug.ts";
import { baseName, comparablePath, isWithin, parentFolder } from "./file-path.ts";

/** The place whose name is a project's. It never leaves this machine. */
export interface ProjectOrigin {
  /** The repository's remote, such as `github.com/acme/api`. Null if there is none. */
  readonly remote: string | null;
  /** The root of the repository, or the folder itself if it is in none: an absolute path. */
  readonly folder: string;
}

/** The project that an origin got when it was first seen. */
export interface OriginAssignment {
  /** The slug of the folder's name. */
  readonly name: string;
  /** The remote; the folder if there is none. */
  readonly origin: string;
  readonly folder: string;
  /** The project: the name, or another slug if another origin has that one. */
  readonly slug: string;
}

/** What is known when an origin is given a project. */
export interface AssignmentFacts {
  /** All assignments, oldest first. */
  readonly assignments: readonly OriginAssignment[];
  /** The folders among those of `check_folders` that no longer exist. Null before they are checked. */
  readonly goneFolders: ReadonlySet<string> | null;
  /** Whether calls without a known origin use the slug. */
  isUsed(slug: string): boolean;
  /** Whether a name contains a secret and must not be used. */
  isSecret(name: string): boolean;
  /** Returns at least 24 lower-case hex digits that differ for different texts. */
  hash(text: string): string;
}

/** The project of an origin, or what has to be known first. */
export type AssignmentDecision =
  | { readonly kind: "known"; readonly slug: string }
  | {
      readonly kind: "new";
      readonly assignment: OriginAssignment;
      /** Assignments of folders that no longer exist, whose project the origin takes over. */
      readonly replaced: readonly OriginAssignment[];
    }
  | { readonly kind: "check_folders"; readonly folders: readonly string[] };

/** How many folders are checked at most before an origin gets a project. */
const MAX_CHECKED_FOLDERS = 32;

/** The maximum length of the part that tells two projects of the same name apart, without a hash. */
const MAX_QUALIFIER_LENGTH = 24;

/** The lengths of the hash that are tried, in hex digits. */
const HASH_LENGTHS = [6, 12, 24];

/**
 * Returns the origin of a project that is named after a folder: the repository of the working directory if the folder is
 * inside it or the repository has the same name, as with a workspace file beside it. Otherwise, the folder.
 */
export function findOrigin(project: string, folder: string, facts: ProjectFacts | null): ProjectOrigin {
  const { gitRoot = null, gitFolder = null, gitRemote = null } = facts ?? {};
  const isInside = [gitRoot, gitFolder].some((root) => root !== null && isWithin(folder, root));
  if (gitRoot !== null && (isInside || normaliseSlug(baseName(gitRoot)) === project))
    return { remote: gitRemote, folder: gitRoot };
  return { remote: null, folder: folder.replace(/(?<=.)[/\\]+$/, "") };
}

const hasNoRemote = ({ origin, folder }: OriginAssignment): boolean => origin === folder;

/**
 * Returns the project of an origin whose folder has this name. The first origin of a name gets the name itself, others a
 * qualified one. The same remote or the same folder is the same project; a repository that gets or changes its remote keeps
 * its project. If the folder of an origin without a remote no longer exists, it is taken to have moved, and the next origin
 * without a project takes over its slug; one with a remote takes over only the name itself.
 */
export function decideAssignment(
  name: string,
  { remote, folder }: ProjectOrigin,
  facts: AssignmentFacts,
): AssignmentDecision {
  const { assignments, goneFolders } = facts;
  const assign = (slug: string, replaced: readonly OriginAssignment[] = []): AssignmentDecision => ({
    kind: "new",
    assignment: { name, origin: remote ?? folder, folder, slug },
    replaced,
  });
  const namesakes = assignments.filter((each) => each.name === name);
  const known = findKnown(namesakes, { remote, folder });
  if (known !== undefined) {
    const isNewRemote = remote !== null && !namesakes.some(({ origin }) => origin === remote);
    return isNewRemote ? assign(known.slug) : { kind: "known", slug: known.slug };
  }
  const ownersOf = (slug: string) => assignments.filter((each) => each.slug === slug);
  if (ownersOf(name).length === 0) return assign(name);
  const others = remote === null ? namesakes.map(({ slug }) => slug).toReversed() : [];
  const owned = [...new Set([name, ...others])].map(ownersOf).filter((owners) => owners.every(hasNoRemote));
  if (owned.length > 0 && goneFolders === null) {
    const folders = owned.flat().map((each) => each.folder);
    return { kind: "check_folders", folders: folders.slice(0, MAX_CHECKED_FOLDERS) };
  }
  const gone = owned.find((owners) => owners.every((each) => goneFolders?.has(each.folder)));
  if (gone !== undefined) return assign((gone[0] as OriginAssignment).slug, gone);
  const slugs = qualifySlug(name, { remote, folder }, facts);
  const isTaken = (slug: string) => ownersOf(slug).length > 0 || facts.isUsed(slug);
  return assign(slugs.find((slug) => !isTaken(slug)) ?? (slugs.at(-1) as string));
}

/** Finds the assignment of the same remote, else that of the same folder. */
function findKnown(
  namesakes: readonly OriginAssignment[],
  { remote, folder }: ProjectOrigin,
): OriginAssignment | undefined {
  const path = comparablePath(folder);
  return (
    // A clone of a repository on this machine has its folder as remote.
    namesakes.find((each) => each.origin === remote || each.folder === remote) ??
    namesakes.find((each) => comparablePath(each.folder) === path)
  );
}

/**
 * Returns the slugs that tell an origin from others of its name, the preferred first: with the owner of its remote or the name
 * of its parent folder, then also with a hash.
 */
function qualifySlug(
  name: string,
  { remote, folder }: ProjectOrigin,
  { isSecret, hash }: AssignmentFacts,
): string[] {
  const qualifier = baseName(parentFolder(remote ?? folder));
  const readable = isSecret(qualifier) ? "" : normaliseSlug(qualifier).slice(0, MAX_QUALIFIER_LENGTH);
  const digest = hash(remote ?? comparablePath(folder));
  const endings = HASH_LENGTHS.map((length) => digest.slice(0, length));
  return [readable, ...endings.map((ending) => (readable === "" ? ending : `${readable}-${ending}`))]
    .filter((ending) => ending !== "")
    .map((ending) => normaliseSlug(`${name.slice(0, MAX_SLUG_LENGTH - 1 - ending.length)}-${ending}`));
}

/**
 * Returns the project that the calls of a project belong to after merges. `merges` has the project that each one was
 * last merged into. A project that was merged into itself is separate again.
 */
export function followMerges(project: string, merges: ReadonlyMap<string, string>): string {
  let current = project;
  // A project is merged into one that is not merged itself, so there is no cycle. The bound ends one in a damaged store.
  for (let hops = 0; hops < merges.size; hops += 1) current = merges.get(current) ?? current;
  return current;
}
