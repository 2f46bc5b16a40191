import type { OutboxEntry } from "../../../../core/ports/outbox.ts";
import type { Millis } from "../../../../core/values/time.ts";

/** How often something was sent, with the first and the last time. */
export interface SentCount {
  first_at: string;
  last_at: string;
  /** The number of batches of metadata and envelopes of bodies that contained it. */
  sent: number;
}

/** What was sent according to the outbox; snake case, as `--json` prints it. */
export interface OutboxSummary {
  batches: number;
  bodies: number;
  requests: number;
  first_at: string | null;
  last_at: string | null;
  origins: readonly string[];
  /** In the order in which they were first sent. */
  fields: readonly ({ field: string; projects: readonly string[] } & SentCount)[];
  projects: readonly ({ project: string } & SentCount)[];
}

/** Which entries are counted. */
export interface OutboxFilter {
  from: Millis | null;
  to: Millis | null;
  project: string | undefined;
}

interface SentTotal extends SentCount {
  projects: Set<string>;
}

/** Sums up the entries one by one, because the log may not fit into memory. */
export async function summariseOutbox(
  entries: AsyncIterable<OutboxEntry>,
  { from, to, project }: OutboxFilter,
): Promise<OutboxSummary> {
  const [fields, projects] = [new Map<string, SentTotal>(), new Map<string, SentTotal>()];
  const origins = new Set<string>();
  const requests = new Set<string>();
  const sent = { metadata: 0, body: 0 };
  let first: string | null = null;
  let last: string | null = null;
  const add = (to: Map<string, SentTotal>, name: string, at: string, of: readonly string[]) => {
    const total = to.get(name) ?? { first_at: at, last_at: at, sent: 0, projects: new Set<string>() };
    total.last_at = at;
    total.sent += 1;
    for (const each of of) total.projects.add(each);
    to.set(name, total);
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
    fields: [...fields].map(([field, total]) => ({ field, ...total, projects: [...total.projects].sort() })),
    projects: [...projects]
      .map(([name, { first_at, last_at, sent }]) => ({ project: name, first_at, last_at, sent }))
      .sort((one, other) => (one.project < other.project ? -1 : 1)),
  };
}
