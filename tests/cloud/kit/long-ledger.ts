import { type KyselyPlugin, sql } from "kysely";
import { createRandomBytes, sha256 } from "../../../adapters/crypto/node-crypto.ts";
import type { CloudDatabase } from "../../../cloud/store/open-database.ts";
import { hashAuditEvent, hashDetails } from "../../../core/privacy/ledger/audit-event-chain.ts";
import { GENESIS_HASH } from "../../../core/privacy/ledger/chain.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";
import { formatInstant } from "../../../core/wire/instant.ts";

const ROWS_PER_INSERT = 5_000;

const randomBytes = createRandomBytes();

/** Fills a workspace's chain of audit events, which must be empty, much faster than one event after the other. */
export async function fillAuditEvents(
  db: CloudDatabase,
  workspaceId: string,
  count: number,
  now: number,
): Promise<void> {
  const [at, retain_until] = [formatInstant(now), formatInstant(now + 86_400_000)];
  const details = { name: "store_prompt_content", from: false, to: true };
  let [seq, hash, previous] = [0, GENESIS_HASH, GENESIS_HASH];
  while (seq < count) {
    const rows = Array.from({ length: Math.min(ROWS_PER_INSERT, count - seq) }, () => {
      previous = hash;
      seq += 1;
      const salt = `salt ${seq}`;
      const row = {
        ...{ workspace_id: workspaceId, seq, prev_hash: previous, event_id: uuidV7(now, randomBytes(10)) },
        ...{ at, kind: "settings_changed", actor_user_id: "user", retain_until, details, content_salt: salt },
        content_hash: hashDetails(details, salt, sha256),
      };
      hash = hashAuditEvent({ ...row, is_erased: false }, sha256);
      return { ...row, hash };
    });
    await sql`
      insert into audit_events (workspace_id, seq, prev_hash, hash, event_id, at, kind, actor_user_id, retain_until,
        details, content_salt, content_hash)
      select workspace_id, seq, prev_hash, hash, event_id, at, kind, actor_user_id, retain_until, details, content_salt, content_hash
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (workspace_id uuid, seq bigint, prev_hash text,
        hash text, event_id uuid, at timestamptz, kind text, actor_user_id text, retain_until timestamptz, details jsonb,
        content_salt text, content_hash text)`.execute(db);
  }
  await sql`insert into audit_event_heads (workspace_id, seq, prev_hash, hash)
    values (${workspaceId}::uuid, ${count}::bigint, ${previous}, ${hash})`.execute(db);
}

/** Calls back with the number of rows of each result of a database. */
export function onResults(db: CloudDatabase, seen: (rows: number) => void): CloudDatabase {
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      seen(result.rows.length);
      return result;
    },
  };
  return db.withPlugin(plugin);
}
