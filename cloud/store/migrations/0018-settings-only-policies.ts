import type { Migration } from "../migration.ts";

const setting = (name: string) => `nullif(current_setting('meter.${name}', true), '')`;
const TENANT = `workspace_id = ${setting("workspace_id")}::uuid`;
const ORGANISATION = `organisation_id = ${setting("organisation_id")}::uuid`;
const OWN = `user_id = ${setting("user_id")}`;

/** The policies that read other tables, and what they compare now. */
const POLICIES = {
  workspaces: `${TENANT} or ${ORGANISATION} or workspace_id = any (${setting("workspace_ids")}::uuid[])`,
  organisations: `${ORGANISATION} or organisation_id = any (${setting("organisation_ids")}::uuid[])`,
  organisation_members: `${OWN} or ${ORGANISATION}`,
};

/**
 * Makes every policy compare columns with settings only: a cluster refuses subqueries in policies. A server of the previous
 * version then no longer recognises the owners and admins of an organisation in workspaces that they are not members of.
 */
export const settingsOnlyPolicies: Migration = {
  name: "0018-settings-only-policies",
  statements: Object.entries(POLICIES).flatMap(([table, rows]) => [
    `drop policy ${table}_read on ${table}`,
    `create policy ${table}_read on ${table} for select to meter_app using (${rows})`,
  ]),
};
