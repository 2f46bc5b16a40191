import { CompiledQuery, type QueryResult, sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import { isUuid } from "../../core/values/uuid.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";

/** The tenant and person that a transaction runs for; row-level security hides all other rows. */
export interface TenantScope {
  readonly workspaceId?: string;
  readonly organisationId?: string;
  readonly userId?: string;
  /**
   * Whether the work reads rows of the workspace before it writes some. On a cluster, the workspace then stays on its node until the
   * transaction ends (`holdPlace()`). Default: false.
   */
  readonly readsThenWrites?: boolean;
}

/** How often a transaction runs in all after conflicts with others. */
const MAX_ATTEMPTS = 3;

/**
 * Runs the work in one transaction, with the scope set for that transaction only, as the application's role or the purge's,
 * neither of which owns anything. After a deadlock or a serialization failure the work runs again, so it must have no effects
 * outside the database.
 */
export async function inScope<T>(
  db: CloudDatabase,
  scope: TenantScope,
  work: (trx: Transaction<CloudSchema>) => Promise<T>,
  role: "meter_app" | "meter_purge" = "meter_app",
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(async (trx) => {
        await enterScope(trx, role, scope);
        return await work(trx);
      });
    } catch (error) {
      const lost = error instanceof DatabaseError && error.reason === "conflict";
      if (!lost || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Runs reads of one workspace in one snapshot, without a statement timeout. Writers do not wait for it. */
export async function inSnapshot<T>(
  db: CloudDatabase,
  workspaceId: string,
  read: (trx: Transaction<CloudSchema>) => Promise<T>,
): Promise<T> {
  return await db.transaction().execute(async (trx) => {
    // Must be the transaction's first statement.
    await sql.raw("set transaction isolation level repeatable read, read only").execute(trx);
    await enterScope(trx, "meter_app", { workspaceId });
    await sql`select set_config('statement_timeout', '0', true)`.execute(trx);
    return await read(trx);
  });
}

/**
 * Sends statements together, which run in their order, and returns their results: the transaction does not wait for this process between them,
 * while it holds locks. Throws the first error, which can be `check()`'s, once all have ended: a rollback must come last.
 */
export async function executeTogether(
  trx: Transaction<CloudSchema>,
  queries: readonly CompiledQuery[],
  check: (result: QueryResult<unknown>, at: number) => void = () => {},
): Promise<readonly QueryResult<unknown>[]> {
  const results = await trx
    .getExecutor()
    .provideConnection((connection) =>
      Promise.allSettled(queries.map((query) => connection.executeQuery(query))),
    );
  return results.map((result, at) => {
    if (result.status === "rejected") throw result.reason;
    check(result.value, at);
    return result.value;
  });
}

/**
 * Sets the role and the scope, for the rest of the transaction. The ids are messages of their own: a node of a cluster sends `set local` to
 * the nodes that have the rows, but not `set_config()`.
 */
async function enterScope(
  trx: Transaction<CloudSchema>,
  role: "meter_app" | "meter_purge",
  { workspaceId, organisationId, userId, readsThenWrites = false }: TenantScope,
): Promise<void> {
  const reset = sql`select
    set_config('role', ${role}, true),
    set_config('meter.workspace_id', '', true),
    set_config('meter.organisation_id', '', true),
    set_config('meter.user_id', '', true)
    ${sql.raw(readsThenWrites ? ", to_regclass('pg_dist_placement') is not null as can_move" : "")}`;
  const settings: CompiledQuery[] = [reset.compile(trx)];
  if (userId !== undefined) {
    // The end of a statement in PostgreSQL's protocol.
    if (userId.includes("\0")) throw new RangeError("meter.user_id contains U+0000");
    settings.push(sql`set local meter.user_id = ${sql.lit(userId)}`.compile(trx));
  }
  if (workspaceId !== undefined) settings.push(setLocal("meter.workspace_id", [workspaceId]));
  if (organisationId !== undefined) settings.push(setLocal("meter.organisation_id", [organisationId]));
  const [scope] = await executeTogether(trx, settings);
  const [found] = (scope?.rows ?? []) as readonly { can_move?: boolean }[];
  if (workspaceId !== undefined && found?.can_move === true) await holdPlace(trx, workspaceId);
}

/**
 * Keeps a workspace on its node of a cluster until the transaction ends: deletes no row, but waits until the workspace does not move, and keeps
 * it from moving, as every write does. A read does not. If a workspace moves between a read and a write of the same table, a node that has
 * it neither before nor after sends the write to the former place, where it is lost (docs/cluster.md).
 */
async function holdPlace(trx: Transaction<CloudSchema>, workspaceId: string): Promise<void> {
  await sql`delete from saved_views where workspace_id = ${workspaceId}::uuid
    and view_id = '00000000-0000-0000-0000-000000000000'::uuid`.execute(trx);
}

/** Returns a statement that sets a setting to ids, for the rest of the transaction. It takes no parameters, so the ids must be UUIDs. */
function setLocal(name: string, ids: readonly string[]): CompiledQuery {
  for (const id of ids) if (!isUuid(id)) throw new RangeError(`${name} is not a UUID: ${JSON.stringify(id)}`);
  return CompiledQuery.raw(
    `set local ${name} = '${name.endsWith("_ids") ? `{${ids.join(",")}}` : ids.join("")}'`,
  );
}

/** Sets the workspace of the transaction's scope, for the rest of the transaction. */
export async function enterWorkspace(trx: Transaction<CloudSchema>, workspaceId: string): Promise<void> {
  await trx.executeQuery(setLocal("meter.workspace_id", [workspaceId]));
}

/** Sets the organisation of the transaction's scope, for the rest of the transaction. */
export async function enterOrganisation(
  trx: Transaction<CloudSchema>,
  organisationId: string,
): Promise<void> {
  await trx.executeQuery(setLocal("meter.organisation_id", [organisationId]));
}

/** Lets the transaction read the rows of these workspaces in `workspaces`. */
export async function showWorkspaces(
  trx: Transaction<CloudSchema>,
  workspaceIds: readonly string[],
): Promise<void> {
  await trx.executeQuery(setLocal("meter.workspace_ids", workspaceIds));
}

/** Lets the transaction read the rows of these organisations in `organisations`. */
export async function showOrganisations(
  trx: Transaction<CloudSchema>,
  organisationIds: readonly string[],
): Promise<void> {
  await trx.executeQuery(setLocal("meter.organisation_ids", organisationIds));
}

/** Locks the row of a workspace until the end of the transaction, so that one process at a time makes a change of its kind. */
export async function lockWorkspace(trx: Transaction<CloudSchema>, workspaceId: string): Promise<void> {
  await trx
    .selectFrom("workspaces")
    .select("workspace_id")
    .where("workspace_id", "=", workspaceId)
    .forUpdate()
    .execute();
}
