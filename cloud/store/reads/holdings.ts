import { sql } from "kysely";
import type { CloudDatabase } from "../open-database.ts";
import { inReadScope } from "./read-scope.ts";

/** What a workspace holds of one person. */
export interface PersonHoldings {
  readonly userId: string;
  readonly requests: number;
  /** Requests with a stored prompt or answer. */
  readonly bodies: number;
}

/** Reads how many requests and stored prompts a workspace holds, by person; of one person, or of everyone for null. */
export async function readHoldings(
  db: CloudDatabase,
  workspaceId: string,
  userId: string | null,
): Promise<readonly PersonHoldings[]> {
  const ofPerson = userId === null ? sql`true` : sql`r.user_id = ${userId}`;
  const { rows } = await inReadScope(db, { workspaceId }, (trx) =>
    sql<{ user_id: string; requests: string; bodies: string }>`
      select r.user_id, count(*) as requests, count(b.request_id) as bodies
      from requests r left join request_bodies b
        on b.workspace_id = r.workspace_id and b.request_id = r.request_id
      where r.workspace_id = ${workspaceId}::uuid and ${ofPerson}
      group by r.user_id order by count(*) desc, r.user_id`.execute(trx),
  );
  return rows.map((row) => ({
    userId: row.user_id,
    requests: Number(row.requests),
    bodies: Number(row.bodies),
  }));
}
