import assert from "node:assert/strict";
import { sql } from "kysely";
import { createRandomBytes, sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { verifyWorkspaceLedgers } from "../../../cloud/ledger/verify-ledgers.ts";
import type { CloudDatabase } from "../../../cloud/store/open-database.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";
import { batch, record } from "../../cloud/kit/cloud-rig.ts";
import type { Sender } from "../../cloud/kit/senders.ts";

/** The number of requests in a batch. */
export const RECORDS_PER_BATCH = 10;

/** The randomness of ids. */
export const randomBytes = createRandomBytes();

/** Returns the ids of the requests of a new batch. */
export const newBatch = (): string[] =>
  Array.from({ length: RECORDS_PER_BATCH }, () => uuidV7(Date.now(), randomBytes(10)));

/** Sends a batch, each request of which has one token of each side. Returns how many of them the cloud had. */
export async function sendBatch(url: string, { token }: Sender, ids: readonly string[]): Promise<number> {
  const requested_at = new Date(Date.now() - 60_000).toISOString();
  const records = ids.map((id) => record(id, { requested_at, prompt_tokens: 1, completion_tokens: 1 }));
  const answer = await post(`${url}/v1/requests/batch`, token, batch(...records));
  expectStatus(200, answer);
  assert.equal(answer.body.accepted + answer.body.duplicates, ids.length);
  return answer.body.duplicates;
}

export async function post(url: string, token: string, body: object) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
}

export function expectStatus(
  status: number,
  answer: { readonly status: number; readonly body: unknown },
): void {
  assert.equal(answer.status, status, JSON.stringify(answer.body));
}

/** Expects each request of so many batches once, in the table and in all sums. */
export async function expectCountedOnce(db: CloudDatabase, batches: number): Promise<void> {
  const { rows } = await sql<Record<string, string>>`select
    (select count(*) from requests)::text as requests,
    (select sum(requests) from usage_daily)::text as of_days,
    (select sum(requests) from usage_hourly)::text as of_hours,
    (select sum(prompt_tokens) from usage_hourly)::text as tokens`.execute(db);
  const total = `${batches * RECORDS_PER_BATCH}`;
  assert.deepEqual(rows, [{ requests: total, of_days: total, of_hours: total, tokens: total }]);
}

export async function expectIntactLedgers(db: CloudDatabase, workspaceId: string): Promise<void> {
  const verdict = await verifyWorkspaceLedgers(db, workspaceId, null, sha256);
  assert.ok(verdict.ok, JSON.stringify(verdict));
}
