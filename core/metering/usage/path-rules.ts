import type { RequestKind } from "../../values/record.ts";
import type { ApiId } from "./api-readers.ts";

/** The request methods that a rule may name. OPTIONS and HEAD requests are never billed and need no rule. */
export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What is known of a metered path. */
interface MeteredPath {
  readonly api: ApiId;
  readonly requestKind: RequestKind;
  /** Whether the response streams; null if the request body decides. */
  readonly streaming: boolean | null;
  /** See `MeteredRoute`. */
  readonly fetches?: true;
  readonly webSocket?: true;
  readonly wholeSession?: true;
}

/** A rule for some paths. The first matching rule applies; without one, the path is unknown. */
export interface PathRule {
  readonly methods: readonly HttpMethod[];
  /**
   * Matched against the whole path: after the base of a dialect, or from the host for a provider's own rules. A group named
   * `model` captures the model, one named `id` the earlier response that is fetched.
   */
  readonly path: RegExp;
  /** Null for a path that is not billed by usage. */
  readonly metered: MeteredPath | null;
}

/** Returns a rule for a metered POST. */
export const post = (
  path: RegExp,
  api: ApiId,
  requestKind: RequestKind,
  streaming: boolean | null = null,
): PathRule => ({ methods: ["POST"], path, metered: { api, requestKind, streaming } });

/** Returns a rule for requests that fetch the results of earlier requests. */
export const retrieval = (
  path: RegExp,
  api: ApiId,
  requestKind: RequestKind,
  methods: readonly HttpMethod[] = ["GET"],
): PathRule => ({ methods, path, metered: { api, requestKind, streaming: null, fetches: true } });

/** Returns a rule for a WebSocket, whose handshake is a GET. */
export const socket = (path: RegExp, api: ApiId): PathRule => ({
  methods: ["GET"],
  path,
  metered: { api, requestKind: "chat", streaming: true, webSocket: true },
});

/** Returns a rule for a WebSocket that carries one piece of work, such as a transcription. */
export const speechSocket = (path: RegExp, api: ApiId = "speech.session"): PathRule => ({
  methods: ["GET"],
  path,
  metered: {
    api,
    requestKind: "audio",
    streaming: true,
    webSocket: true,
    wholeSession: true,
  },
});

/**
 * Returns a rule for a path that is not billed by usage. The path names its resource: a rule such as "everything else" would
 * hide the calls that a provider adds later.
 */
export const free = (methods: readonly HttpMethod[], path: RegExp): PathRule => ({
  methods,
  path,
  metered: null,
});

/**
 * Returns the rules for paths that are not billed by usage, one for each line: the methods, then the path. `*` is one segment
 * without a colon, `**` one segment, and `/...` at the end all that is below.
 *
 * @example
 * freePaths("GET POST /files", "GET DELETE /files/*")
 */
export const freePaths = (...lines: readonly string[]): PathRule[] =>
  lines.map((line) => {
    const words = line.split(" ");
    const path = (words.pop() as string)
      .split(/(\*\*|\*|\/\.\.\.$)/)
      .map((part) => WILDCARDS[part] ?? escapeRegExp(part));
    return free(words as HttpMethod[], new RegExp(`^${path.join("")}$`));
  });

const WILDCARDS: Readonly<Record<string, string>> = { "*": "[^/:]+", "**": "[^/]+", "/...": "/.+" };

const escapeRegExp = (text: string): string => text.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);

/** Reading. */
export const READ = ["GET"] as const;
/** Sending something that is processed without being billed. */
export const SEND = ["POST"] as const;
/** Managing a resource that is not billed: listing, creating, reading, changing, deleting. */
export const MANAGE = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
