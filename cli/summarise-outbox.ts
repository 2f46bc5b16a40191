import type { OutboxEntry } from "../core/ports/outbox.ts";
import type { Millis } from "../core/time.ts";

/** How often, and from when to when, something left the machine. */
export interface Departures {
  first_at: string;
  last_at: string;
  /** Batches of metadata and envelopes of bodies that held it. */
  sent: number;
}

/** What the outbox says has left; snake case, as `--json` prints it. */
export interface OutboxSummary {
  batches: number;
  bodies: number;
  requests: number;
  first_at: string | null;
  last_at: string | null;
  origins: readonly string[];
  /** In the order in which they first left. */
  fields: readonly ({ field: string; projects: readonly string[] } & Departures)[];
  projects: readonly ({ project: string } & Departures)[];
}

/** Which entries count. */
export interface OutboxFilter {
  from: Millis | null;
  to: Millis | null;
  project: string | undefined;
}

interface Kept extends Departures {
  projects: Set<string>;
}

/** Adds the entries up, one by one: the log may be larger than memory is for. */
export async function summariseOutbox(
  entries: AsyncIterable<OutboxEntry>,
  { from, to, project }: OutboxFilter,
): Promise<OutboxSummary> {
  const [fields, projects] = [new Map<string, Kept>(), new Map<string, Kept>()];
  const origins = new Set<string>();
  const requests = new Set<string>();
  const sent = { metadata: 0, body: 0 };
  let first: string | null = null;
  let last: string | null = null;
  const add = (to: Map<string, Kept>, name: string, at: string, of: readonly string[]) => {
    const kept = to.get(name) ?? { first_at: at, last_at: at, sent: 0, projects: new Set<string>() };
    kept.last_at = at;
    kept.sent += 1;
    for (const each of of) kept.projects.add(each);
    to.set(name, kept);
  };
  for await (const entry of entries) {
    if ((from !== null && entry.at < from) || (to !== null && entry.at >= to)) continue;
    if (project !== undefined && !entry.projects.includes(project)) continue;
    const at = new Date(entry.at).toISOString();
    first ??= at;
    last = at;
    sent[entry.kind] += 1;
    origins.add(entry.origin);
    for (const id of entry.requestIds) requests.add(id);
    for (const field of entry.fields) add(fields, field, at, entry.projects);
    for (const each of entry.projects) add(projects, each, at, []);
  }
  return {
    batches: sent.metadata,
    bodies: sent.body,
    requests: requests.size,
    first_at: first,
    last_at: last,
    origins: [...origins],
    fields: [...fields].map(([field, kept]) => ({ field, ...kept, projects: [...kept.projects].sort() })),
    projects: [...projects]
      .map(([name, { first_at, last_at, sent }]) => ({ project: name, first_at, last_at, sent }))
      .sort((one, other) => (one.project < other.project ? -1 : 1)),
  };
}
