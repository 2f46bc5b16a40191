import { sql } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import { encodeHex } from "../../core/values/hash-text.ts";
import type { Millis } from "../../core/values/time.ts";
import type { LimitDecision, LimitStates } from "../limits/limit-states.ts";
import { toJson } from "./json-value.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

/** Creates the states of limits that all processes on the database share. Clients are stored as hashes. */
export function createSharedStates(db: CloudDatabase, sha256: Sha256): LimitStates {
  const encoder = new TextEncoder();
  return {
    change<State, Result>(
      clients: readonly string[],
      now: Millis,
      decide: (states: readonly (State | null)[]) => LimitDecision<State, Result>,
    ) {
      const hashes = clients.map((client) => sha256(encoder.encode(client)));
      // Always in the same order, so that two transactions never wait for each other.
      const ordered = hashes.toSorted((a, b) => (encodeHex(a) < encodeHex(b) ? -1 : 1));
      return inScope(db, {}, async (trx) => {
        await trx
          .insertInto("limit_states")
          .values(ordered.map((hash) => ({ client_hash: hash, state: sql`'null'::jsonb`, expires_at: now })))
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        const rows = await trx
          .selectFrom("limit_states")
          .select(["client_hash", "state", "expires_at"])
          .where("client_hash", "in", ordered)
          .orderBy("client_hash")
          .forUpdate()
          .execute();
        // Another process removed an expired state in between.
        if (rows.length !== ordered.length) throw new DatabaseError("conflict");
        const byHash = new Map(rows.map((row) => [encodeHex(row.client_hash), row]));
        const before = hashes.map((hash) => {
          const row = byHash.get(encodeHex(hash));
          return row === undefined || row.expires_at <= now ? null : (row.state as State | null);
        });
        const { states, expiresAt, result } = decide(before);
        for (const [at, hash] of hashes.entries()) {
          if (states === null) break;
          await trx
            .updateTable("limit_states")
            .set({ state: toJson(states[at]), expires_at: Math.ceil(expiresAt) })
            .where("client_hash", "=", hash)
            .execute();
        }
        return result;
      });
    },
  };
}

/** Deletes the states that have expired. */
export async function deleteExpiredStates(db: CloudDatabase, now: Millis): Promise<void> {
  await inScope(db, {}, (trx) => trx.deleteFrom("limit_states").where("expires_at", "<=", now).execute());
}
