/** What the file `HEAD` states: a reference, or a commit. */
export type GitHead =
  | { readonly kind: "reference"; readonly reference: string }
  | { readonly kind: "commit"; readonly commit: string };

/** Maximum length of a reference in characters. A longer one is unknown. */
const MAX_REFERENCE_LENGTH = 255;

const BRANCH_PREFIX = "refs/heads/";

/** The lengths of SHA-1 and SHA-256 in hex digits. */
const HASH_LENGTHS = [40, 64];

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Characters that no reference contains; git-check-ref-format(1), rules 4, 5 and 10. */
const FORBIDDEN = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{/;

/**
 * Whether a text is the name of a reference that can be read as a file below the repository. Excludes `refs/heads/.invalid`, which
 * `HEAD` states in a repository with the format "reftable".
 */
function isReference(text: string): boolean {
  if (text.length > MAX_REFERENCE_LENGTH || FORBIDDEN.test(text)) return false;
  const [root, ...parts] = text.split("/");
  return (
    root === "refs" &&
    parts.length >= 2 &&
    parts.every((part) => part !== "" && !/^\.|\.$|\.lock$/.test(part))
  );
}

/** Reads a repository's file `HEAD`; gitrepository-layout(5). Null if it states neither a reference nor a commit. */
export function readGitHead(text: string): GitHead | null {
  const [line = ""] = text.split(/\r?\n/, 1);
  const reference = /^ref:[ \t]*(.*?)[ \t]*$/.exec(line)?.[1];
  if (reference !== undefined) return isReference(reference) ? { kind: "reference", reference } : null;
  const commit = readCommit(line);
  return commit === null ? null : { kind: "commit", commit };
}

/** Reads the commit that a file of a reference states. Null if it states none. */
export function readCommit(text: string): string | null {
  const commit = text.trim().toLowerCase();
  return COMMIT.test(commit) ? commit : null;
}

/** Returns the branch of a reference such as `refs/heads/main`. Null for a reference of another kind. */
export function branchOf(reference: string): string | null {
  return isReference(reference) && reference.startsWith(BRANCH_PREFIX)
    ? reference.slice(BRANCH_PREFIX.length)
    : null;
}

/**
 * Returns the commit of a reference in a repository's file `packed-refs`, which has a line `<commit> <reference>` for each
 * reference; lines with `#` and `^` are comments and the commits of tags. Null if it is not listed.
 */
export function findPackedCommit(packedRefs: string, reference: string): string | null {
  const ending = ` ${reference}`;
  for (let at = packedRefs.indexOf(ending); at !== -1; at = packedRefs.indexOf(ending, at + 1)) {
    const after = packedRefs[at + ending.length];
    if (after !== undefined && after !== "\n" && after !== "\r") continue;
    for (const length of HASH_LENGTHS) {
      const commit =
        at < length || !startsLine(packedRefs, at - length) ? null : packedRefs.slice(at - length, at);
      if (commit !== null && COMMIT.test(commit)) return commit;
    }
  }
  return null;
}

const startsLine = (text: string, at: number) => at === 0 || text[at - 1] === "\n";
