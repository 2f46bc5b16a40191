import type { Outbox, OutboxEntry } from "../../core/ports/outbox.ts";
import type { Millis } from "../../core/values/time.ts";
import { type PartReader, WHOLE } from "../../pages/page-parts.ts";
import type { PrivacyAnswer, SentTimes } from "../../pages/views/privacy.ts";
import type { Turn } from "../store/port/values.ts";

/** What the page of privacy reads: the log of what was sent, and the projects that stay on this machine. */
export interface SentLog {
  readonly outbox: Pick<Outbox, "read">;
  localProjects(): ReadonlySet<string>;
}

/** The ports of the page. */
interface PrivacyPorts {
  /** Undefined: nothing was sent. */
  readonly sent?: SentLog;
  readonly turn: Turn;
  sha256Hex(text: string): string;
}

/** Sums up the log of what was sent, and checks its chain. Other work runs between two entries. */
export async function readPrivacy(
  { sent, turn, sha256Hex }: PrivacyPorts,
  parts: PartReader = WHOLE,
): Promise<PrivacyAnswer> {
  const [fields, projects] = [new Map<string, Counted>(), new Map<string, Counted>()];
  const origins = new Set<string>();
  const counts = { metadata: 0, body: 0 };
  let [first, last]: (OutboxEntry | null)[] = [null, null];
  let brokenSeq: number | null = null;
  if (sent !== undefined)
    for await (const entry of sent.outbox.read()) {
      await turn();
      const follows = last == null || (entry.seq === last.seq + 1 && entry.previous === last.hash);
      if (brokenSeq === null && !(follows && isIntact(entry, sha256Hex))) brokenSeq = entry.seq;
      first ??= entry;
      last = entry;
      counts[entry.kind] += 1;
      origins.add(entry.origin);
      for (const field of entry.fields) count(fields, field, entry.at, entry.projects);
      for (const project of entry.projects) count(projects, project, entry.at, []);
    }
  return {
    batches: counts.metadata,
    bodies: counts.body,
    origins: [...origins],
    log: first == null || last == null ? null : { firstSeq: first.seq, lastSeq: last.seq, brokenSeq },
    fields: [...fields].sort(([one], [other]) => (one < other ? -1 : 1)),
    projects: [...projects].sort(([one], [other]) => (one < other ? -1 : 1)),
    localProjects: await parts.read<readonly string[] | null>(
      "projects that stay on this machine",
      () => [...(sent?.localProjects() ?? [])].sort(),
      null,
    ),
  };
}

/** `SentTimes` while entries are counted. */
type Counted = Omit<SentTimes, "projects"> & { readonly projects: Set<string> };

function count(all: Map<string, Counted>, name: string, at: Millis, sentProjects: readonly string[]): void {
  const { firstAt, times, projects } = all.get(name) ?? {
    firstAt: at,
    times: 0,
    projects: new Set<string>(),
  };
  for (const project of sentProjects) projects.add(project);
  all.set(name, { firstAt, lastAt: at, times: times + 1, projects });
}

/** Whether an entry has the hash of its content. */
function isIntact(entry: OutboxEntry, sha256Hex: (text: string) => string): boolean {
  const { seq, previous, kind, at, origin, projects, requestIds, fields, payload } = entry;
  const content = { seq, previous, kind, at, origin, projects, requestIds, fields, payload };
  return sha256Hex(JSON.stringify(content)) === entry.hash;
}
