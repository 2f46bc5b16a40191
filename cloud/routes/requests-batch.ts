import type { Context } from "hono";
import { toReceivedRecord } from "../../core/policy/mod.ts";
import {
  BATCH_MAX_BYTES,
  type BatchAnswerBody,
  batchRequestSchema,
  parseMetadataRecord,
} from "../../core/wire/mod.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { readBytes, readPayload } from "../read-payload.ts";
import { ingest } from "../store/ingest.ts";
import { type Sender, type StoredRequest, toStoredRequest } from "../store/stored-request.ts";

/**
 * `POST /v1/requests/batch`: one outcome for each record, said after the commit. Who sends is the key's to say: fields
 * of such names in the payload are read by nobody. Source: decisions, "Metadata batch".
 */
export async function postBatch(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const bytes = await readBytes(context.req.raw, BATCH_MAX_BYTES);
  if (!bytes.ok) return bytes.refusal;
  const batch = readPayload(bytes.value, batchRequestSchema);
  if (!batch.ok) return batch.refusal;
  const { book } = await parts.rates.current();
  const key = context.get("key");
  const sender: Sender = {
    machineId: key.machine?.id ?? null,
    userId: key.userId,
    receivedAt: parts.clock.now(),
  };
  const rows: StoredRequest[] = [];
  const rejected: BatchAnswerBody["rejected"] = [];
  /** The ids as they were spelt, row by row. */
  const spelt: string[] = [];
  for (const record of batch.value.records) {
    const parsed = parseMetadataRecord(record);
    if (parsed.ok) {
      rows.push(toStoredRequest(toReceivedRecord(parsed.value), sender, book));
      spelt.push(record.request_id);
    } else {
      const [first] = parsed.problems;
      const message = first === undefined ? "wrong shape" : `${first.field}: ${first.problem}`;
      rejected.push({ request_id: record.request_id, code: "invalid_record", message });
    }
  }
  const outcomes = await ingest(parts.db, key.workspaceId, rows, book);
  for (const [at, outcome] of outcomes.entries()) {
    if (outcome !== "not_storable") continue;
    const message = "a value that the database can't hold";
    rejected.push({ request_id: spelt[at] as string, code: outcome, message });
  }
  const answer: BatchAnswerBody = {
    accepted: outcomes.filter((outcome) => outcome === "accepted").length,
    duplicates: outcomes.filter((outcome) => outcome === "duplicate").length,
    rejected,
  };
  parts.metrics?.recordsIngested({ ...answer, rejected: rejected.length });
  return context.json(answer);
}
