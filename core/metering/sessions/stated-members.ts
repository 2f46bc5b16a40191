import { ANY_CLIENT, KNOWN_CLIENTS, type Source, type StatedSources } from "./clients.ts";

/** The strings of a request's body that can identify a session, by path. */
export type StatedMembers = ReadonlyMap<string, string>;

/** The longest text that is read, in characters. Codex's metadata of a turn is the longest, with a few hundred. */
export const MAX_STATED_CHARACTERS = 16_384;

/** Lists the sources of a client. */
export function sourcesOf(client: StatedSources): readonly Source[] {
  const { session, parentSession, agent, parentAgent, agentKind, turn } = client;
  return [session, parentSession, agent, parentAgent, agentKind, turn].flatMap((sources) => sources ?? []);
}

/** The paths of the body's members that identify a session for any client. */
export const STATED_MEMBERS: readonly string[] = [
  ...new Set(
    [...KNOWN_CLIENTS, ANY_CLIENT]
      .flatMap(sourcesOf)
      .flatMap((source) => (source.in === "body" ? [source.name] : [])),
  ),
];

/** The same paths, split at the dot. `second` is null for a member of the body itself. */
const PATHS = STATED_MEMBERS.map((path) => {
  const [first = "", second = null] = path.split(".");
  return { path, first, second };
});

/** Reads the members from a parsed body. Null if it has none. */
export function readStatedMembers(body: Readonly<Record<string, unknown>>): StatedMembers | null {
  let found: Map<string, string> | null = null;
  for (const { path, first, second } of PATHS) {
    const outer = body[first];
    if (outer === undefined || outer === null) continue;
    const value = second === null ? outer : (outer as Readonly<Record<string, unknown>>)[second];
    if (typeof value !== "string" || value === "" || value.length > MAX_STATED_CHARACTERS) continue;
    found ??= new Map();
    found.set(path, value);
  }
  return found;
}

/** Reads the members of a body that was read as a stream, from the texts that were picked from it. Null if it has none. */
export function pickStatedMembers(read: (path: string) => string | null): StatedMembers | null {
  const found = STATED_MEMBERS.flatMap((path) => {
    const value = read(path);
    return value === null || value.length > MAX_STATED_CHARACTERS ? [] : [[path, value] as const];
  });
  return found.length === 0 ? null : new Map(found);
}
