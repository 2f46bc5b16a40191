import type { Migration } from "../migration.ts";

/**
 * Adds the restores of this database from backups. Each has a random id, by which machines learn that the cloud no longer has what
 * they sent after the backup. Only the owner of the tables writes it, with `meter-cloud restore`.
 */
export const restores: Migration = {
  name: "0026-restores",
  statements: [
    `create table restores (
      generation uuid primary key,
      backup_at timestamptz(3) not null,
      restored_at timestamptz(3) not null
    )`,
    "grant select on restores to meter_app",
  ],
};
