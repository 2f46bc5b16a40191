import type { Transaction } from "kysely";
import { updateOne } from "./affected-rows.ts";
import { toJson } from "./json-value.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope } from "./transaction.ts";

/** How many rows were deleted or blanked, by their kind. */
export type ErasedRows = Readonly<Record<string, number>>;

/** Kinds whose name is not that of their table. */
const KINDS: Readonly<Record<string, string>> = {
  request_bodies: "bodies",
  request_body_versions: "replaced_versions",
  body_keys: "keys",
};

/** The kind of a table's rows. */
export const kindOf = (table: string) => KINDS[table] ?? table;

/** Adds counts by kind, without those that are 0. */
export function addErased(counts: readonly ErasedRows[]): ErasedRows {
  const sums: Record<string, number> = {};
  for (const [kind, rows] of counts.flatMap((each) => Object.entries(each)))
    if (rows > 0) sums[kind] = (sums[kind] ?? 0) + rows;
  return sums;
}

/** Counts what a step erased of a subject in a workspace. The step's transaction has locked the workspace's row. */
export async function countErased(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  subjectId: string,
  erased: ErasedRows,
): Promise<void> {
  if (Object.values(erased).every((rows) => rows === 0)) return;
  const row = await trx
    .selectFrom("workspaces")
    .select("erased_rows")
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirstOrThrow();
  const subjects = (row.erased_rows ?? {}) as Readonly<Record<string, ErasedRows>>;
  const sums = addErased([subjects[subjectId] ?? {}, erased]);
  await updateOne(
    trx
      .updateTable("workspaces")
      .set({ erased_rows: toJson({ ...subjects, [subjectId]: sums }) })
      .where("workspace_id", "=", workspaceId),
  );
}

/** Returns what was erased so far of a subject in a workspace. */
export async function readErased(
  db: CloudDatabase,
  workspaceId: string,
  subjectId: string,
): Promise<ErasedRows> {
  const row = await inScope(
    db,
    { workspaceId },
    (trx) =>
      trx
        .selectFrom("workspaces")
        .select("erased_rows")
        .where("workspace_id", "=", workspaceId)
        .executeTakeFirst(),
    "meter_purge",
  );
  return ((row?.erased_rows ?? {}) as Readonly<Record<string, ErasedRows>>)[subjectId] ?? {};
}
