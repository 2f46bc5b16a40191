import type { Migration } from "../migration.ts";

const TABLES: readonly (readonly [table: string, side: string])[] = [
  ["request_bodies", "request_"],
  ["request_bodies", "response_"],
  ["request_body_versions", ""],
];

/**
 * Lets a job encrypt the bodies that were stored before the server encrypted bodies: an index over these sides, and the right to replace
 * their bytes.
 */
export const unsealedBodies: Migration = {
  name: "0028-unsealed-bodies",
  statements: TABLES.flatMap(([table, side]) => [
    `create index ${table}_${side}unsealed on ${table} (workspace_id, request_id)
      where ${side}body is not null and ${side}key_id is null`,
    `grant update (${side}body, ${side}key_id, ${side}content_sha256) on ${table} to meter_purge`,
  ]),
};
