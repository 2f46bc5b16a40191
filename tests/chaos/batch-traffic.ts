import { setTimeout as delay } from "node:timers/promises";
import { sha256 } from "../../adapters/crypto/node-crypto.ts";
import { makeBatches } from "../../bench/ingest/records.ts";
import { verifyWorkspaceLedgers } from "../../cloud/ledger/verify-ledgers.ts";
import type { CloudDatabase } from "../../cloud/store/open-database.ts";
import type { Sender } from "../cloud/kit/senders.ts";
import type { SeededRandom } from "../simulation/seeded-random.ts";

/** Records in a batch. */
const BATCH = 25;

/** What the machines share. */
export interface Traffic {
  isOver: boolean;
  /** The addresses of the cloud's processes. Each batch goes to one of them at random, as behind a load balancer. */
  readonly urls: string[];
  /** Answers by status; 0: no answer. */
  readonly answers: Record<string, number>;
  /** By the address of the process. */
  readonly acknowledgedBatches: Record<string, number>;
  /** The longest time that a machine waited for an acknowledgement, milliseconds. */
  longestWaitMs: number;
}

/** What the machines of one workspace sent. */
export interface Sent {
  readonly workspaceId: string;
  readonly senders: readonly Sender[];
  readonly acknowledged: Set<string>;
}

/** What differs between what was acknowledged and what is stored. */
export interface Difference {
  /** Acknowledged records that are not stored. */
  readonly missing: number;
  /** Stored rows that were not sent, or are stored twice. */
  readonly surplus: number;
  /** Workspaces whose records, seals and rollups differ. */
  readonly faults: readonly string[];
}

/** Whether every answer tells a daemon that the batch is stored, or that it must send it again. */
export const areExpected = (answers: Traffic["answers"]): boolean =>
  Object.keys(answers).every((status) => ["0", "200", "429", "503"].includes(status));

/** Counts the batches that were acknowledged so far. */
export const countBatches = ({ acknowledgedBatches }: Traffic): number =>
  Object.values(acknowledgedBatches).reduce((sum, count) => sum + count, 0);

/** Sends batch after batch as a daemon does: each until it is acknowledged. Some are sent again later. */
export async function sendBatches(
  { token }: Sender,
  sent: Sent,
  traffic: Traffic,
  random: SeededRandom,
): Promise<void> {
  const seed = random.integer(1, 2 ** 30);
  for (let at = 0; !traffic.isOver; at += 1) {
    const [records = []] = makeBatches(1, BATCH, Date.now(), seed + at);
    // First without its count, which a repetition then fills in.
    const lacking = records.map((record) => ({ ...record, thinking_tokens: null }));
    for (const batch of random.integer(1, 10) <= 3 ? [lacking, records] : [records]) {
      const startedAt = performance.now();
      for (;;) {
        const url = random.pick(traffic.urls);
        const status = await send(url, token, batch);
        traffic.answers[status] = (traffic.answers[status] ?? 0) + 1;
        if (status === 200) {
          traffic.acknowledgedBatches[url] = (traffic.acknowledgedBatches[url] ?? 0) + 1;
          break;
        }
        await delay(100);
      }
      traffic.longestWaitMs = Math.max(traffic.longestWaitMs, performance.now() - startedAt);
      for (const { request_id } of batch) sent.acknowledged.add(String(request_id));
    }
    await delay(random.integer(0, 40));
  }
}

async function send(url: string, token: string, records: readonly object[]): Promise<number> {
  try {
    const answer = await fetch(`${url}/v1/requests/batch`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ daemon_version: "0.4.0", records }),
    });
    const { accepted, duplicates, rejected } = (await answer.json()) as Record<string, unknown>;
    const isWhole = Number(accepted) + Number(duplicates) === records.length && !Number(rejected);
    return answer.status === 200 && !isWhole ? 418 : answer.status;
  } catch {
    return 0;
  }
}

/** Compares what is stored with what was acknowledged, and every total with the sum of its records. */
export async function findDifference(
  db: CloudDatabase,
  tenants: readonly Sent[],
  verify: typeof verifyWorkspaceLedgers = verifyWorkspaceLedgers,
): Promise<Difference> {
  let [missing, surplus] = [0, 0];
  const faults: string[] = [];
  for (const { workspaceId, acknowledged } of tenants) {
    const rows = await db
      .selectFrom("requests")
      .select("request_id")
      .where("workspace_id", "=", workspaceId)
      .execute();
    const stored = new Set(rows.map(({ request_id }) => request_id));
    missing += [...acknowledged].filter((id) => !stored.has(id)).length;
    surplus += rows.length - [...stored].filter((id) => acknowledged.has(id)).length;
    const verdict = await verify(db, workspaceId, null, sha256);
    if (!verdict.ok) faults.push(`${workspaceId}: ${JSON.stringify(verdict.costs)}`);
  }
  return { missing, surplus, faults };
}
