import type { CloudDatabase } from "../open-database.ts";
import { inReadScope } from "./read-scope.ts";

/** Whether a side of a request's body is stored. */
export async function hasBody(db: CloudDatabase, workspaceId: string, requestId: string): Promise<boolean> {
  const row = await inReadScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("request_bodies")
      .select("request_id")
      .where("workspace_id", "=", workspaceId)
      .where("request_id", "=", requestId)
      .executeTakeFirst(),
  );
  return row !== undefined;
}
