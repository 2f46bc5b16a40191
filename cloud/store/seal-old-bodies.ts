import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { expectRows } from "./affected-rows.ts";
import { type BodyOwner, type BodySealing, sealForOwner } from "./body-keys.ts";
import { isErased } from "./erasures.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope } from "./transaction.ts";

/** The result of a run: how many sides it encrypted, and whether it ended before it had seen all. */
export interface SealedBodies {
  readonly sealed: number;
  readonly isUnfinished: boolean;
}

/** A table with sides of bodies, and the prefix of a side's columns. */
interface Sides {
  readonly table: "request_bodies" | "request_body_versions";
  readonly prefix: "request_" | "response_" | "";
}

const ALL_SIDES: readonly Sides[] = [
  { table: "request_bodies", prefix: "request_" },
  { table: "request_bodies", prefix: "response_" },
  { table: "request_body_versions", prefix: "" },
];

/** Most workspaces, or requests of one, that one query lists. */
const PAGE_ROWS = 100;

/** An id that sorts before all others. */
const NIL = "00000000-0000-0000-0000-000000000000";

/** The options of a run. */
export interface SealingRun {
  readonly maxRequests: number;
  readonly isStopped: () => boolean;
  /** Runs the work on one request or workspace, which may fail. Resolves to whether it succeeded. */
  readonly attempt: (work: () => Promise<void>) => Promise<boolean>;
}

/**
 * Encrypts the sides of bodies that are stored in clear, because they came before the server encrypted bodies. Each request is a
 * transaction of its own, so that a run can be interrupted and repeated, and several processes may run at once. A side that is about to
 * be erased with its prompts or its workspace stays as it is. A request that fails, such as one whose key is missing, holds up no other and
 * does not count to the maximum.
 */
export async function sealOldBodies(
  db: CloudDatabase,
  sealing: BodySealing,
  now: Millis,
  { maxRequests, isStopped, attempt }: SealingRun,
): Promise<SealedBodies> {
  let [seen, sealed] = [0, 0];
  let isUnfinished = false;
  const sealWorkspace = async (workspaceId: string) => {
    for (const sides of ALL_SIDES) {
      const list: ListIds = (trx, after) => listUnsealed(trx, workspaceId, sides, after);
      for await (const requestId of inPages(db, { workspaceId }, list)) {
        isUnfinished = seen >= maxRequests || isStopped();
        if (isUnfinished) return;
        const isSealed = await attempt(async () => {
          sealed += await sealRequest(db, sealing, sides, workspaceId, requestId, now);
        });
        if (isSealed) seen += 1;
      }
    }
  };
  for await (const workspaceId of inPages(db, {}, listWorkspaces)) {
    await attempt(() => sealWorkspace(workspaceId));
    if (isUnfinished) break;
  }
  return { sealed, isUnfinished };
}

/** Lists a page of ids in their order, after an id. */
type ListIds = (trx: Transaction<CloudSchema>, after: string) => Promise<readonly string[]>;

/** Yields ids in their order. Each page is a transaction of its own. */
async function* inPages(
  db: CloudDatabase,
  scope: { readonly workspaceId?: string },
  list: ListIds,
): AsyncGenerator<string> {
  for (let page: readonly string[] = [NIL]; page.length > 0; ) {
    const after = page.at(-1) as string;
    page = await inScope(db, scope, (trx) => list(trx, after), "meter_purge");
    yield* page;
  }
}

async function listWorkspaces(trx: Transaction<CloudSchema>, after: string): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom("workspace_directory")
    .select("workspace_id")
    .where("workspace_id", ">", after)
    .orderBy("workspace_id")
    .limit(PAGE_ROWS)
    .execute();
  return rows.map(({ workspace_id }) => workspace_id);
}

/** Lists the requests of a workspace with a side in clear. One with several versions is listed once. */
async function listUnsealed(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { table, prefix }: Sides,
  after: string,
): Promise<readonly string[]> {
  const [body, keyId] = [sql.ref(`${prefix}body`), sql.ref(`${prefix}key_id`)];
  const { rows } = await sql<{ id: string }>`
    select distinct request_id::text as id, request_id from ${sql.table(table)}
    where workspace_id = ${workspaceId}::uuid and ${body} is not null and ${keyId} is null
      and request_id > ${after}::uuid
    order by request_id limit ${sql.lit(PAGE_ROWS)}`.execute(trx);
  return rows.map(({ id }) => id);
}

/** Encrypts a request's sides of one table, with the key of the request's owner. Returns how many. */
async function sealRequest(
  db: CloudDatabase,
  sealing: BodySealing,
  { table, prefix }: Sides,
  workspaceId: string,
  requestId: string,
  now: Millis,
): Promise<number> {
  const column = (name: string) => sql.ref(`${prefix}${name}`);
  const hash = prefix === "" ? sql.ref("body_sha256") : column("sha256");
  const side = sql`workspace_id = ${workspaceId}::uuid and request_id = ${requestId}::uuid
    and ${column("body")} is not null and ${column("key_id")} is null`;
  return await inScope(
    db,
    { workspaceId, readsThenWrites: true },
    async (trx) => {
      const owner = await findOwner(trx, workspaceId, requestId);
      if (owner === null) return 0;
      const { rows } = await sql<{ body: Uint8Array; sha256: string; direction: string; version: number }>`
        select ${column("body")} as body, ${hash} as sha256,
          ${prefix === "" ? sql`direction` : sql.lit(prefix.slice(0, -1))} as direction,
          ${prefix === "" ? sql`version` : sql`0`} as version
        from ${sql.table(table)} where ${side}`.execute(trx);
      for (const { body, sha256, direction, version } of rows) {
        const place = { workspaceId, requestId, direction: direction as "request" | "response" };
        const { bytes, keyId } = await sealForOwner(trx, sealing, owner, body, place, now);
        const isSame = sql`${hash} = ${sha256} and ${
          prefix === "" ? sql`direction = ${direction} and version = ${version}::integer` : sql`true`
        }`;
        const { numAffectedRows } = await sql`
          update ${sql.table(table)} set ${column("body")} = ${bytes}::bytea, ${column("key_id")} = ${keyId}::uuid,
            ${column("content_sha256")} = ${sha256}
          where ${side} and ${isSame}`.execute(trx);
        // A sender may have replaced the side meanwhile. The transaction then runs again, and reads what is there.
        expectRows(numAffectedRows, 1);
      }
      return rows.length;
    },
    "meter_purge",
  );
}

/**
 * Returns the owner of a request's bodies; null if they are about to be erased. Locks the workspace's row, so that an erasure that begins
 * later waits, and then destroys the key too.
 */
async function findOwner(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  requestId: string,
): Promise<BodyOwner | null> {
  const workspace = await trx
    .selectFrom("workspaces")
    .select(["deleted_at", "prompts_erased_at"])
    .where("workspace_id", "=", workspaceId)
    .forShare()
    .executeTakeFirst();
  const request = await trx
    .selectFrom("requests")
    .select(["user_id", "project", "requested_at", "received_at"])
    .where("workspace_id", "=", workspaceId)
    .where("request_id", "=", requestId)
    .executeTakeFirst();
  if (workspace === undefined || workspace.deleted_at !== null || request === undefined) return null;
  const owner = { workspaceId, userId: request.user_id, project: request.project ?? "" };
  const at = Math.min(request.requested_at, request.received_at);
  return workspace.prompts_erased_at !== null && (await isErased(trx, owner, at)) ? null : owner;
}
