import type { Migration } from "../migration.ts";

/**
 * Adds a function with its own rights that returns whether any workspace has a request with an id. Before, the caller
 * became `meter_lookup`, whose policy showed all of `requests`. A policy also applies to every role that inherits the named
 * one, so the login that owns everything saw all rows too.
 */
export const requestLookup: Migration = {
  name: "0004-request-lookup",
  statements: [
    "drop policy requests_lookup on requests",
    // Compared by name, so that the policy does not apply to members of the role, which would inherit it.
    `create policy requests_lookup on requests for select to meter_lookup using (current_user = 'meter_lookup')`,
    // In a separate schema, so that the new owner needs no right to create anything elsewhere.
    "create schema lookup",
    "grant usage, create on schema lookup to meter_lookup",
    // The function's body is parsed when it is created, so no search_path decides which table it reads. Creating it plans
    // the query, which the owner's policies would change; migrations refuse that.
    "set local row_security = on",
    `create function lookup.request_exists(id uuid) returns boolean
      language sql stable security definer set search_path = ''
      begin atomic select exists (select from requests where request_id = id); end`,
    "set local row_security = off",
    "revoke all on function lookup.request_exists(uuid) from public",
    "grant execute on function lookup.request_exists(uuid) to meter_app",
    "alter function lookup.request_exists(uuid) owner to meter_lookup",
    "revoke create on schema lookup from meter_lookup",
    "grant usage on schema lookup to meter_app",
  ],
};
