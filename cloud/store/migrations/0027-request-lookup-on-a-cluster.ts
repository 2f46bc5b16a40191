import type { Migration } from "../migration.ts";

/** Rewrites `lookup.request_exists()` in PL/pgSQL: a cluster cannot plan a query with a parameter in an SQL function. */
export const requestLookupOnACluster: Migration = {
  name: "0027-request-lookup-on-a-cluster",
  statements: [
    "grant create on schema lookup to meter_lookup",
    // `search_path` is empty in the function, so the table's schema is written into it.
    `do $do$ begin
      execute format($text$
        create or replace function lookup.request_exists(id uuid) returns boolean
        language plpgsql stable security definer set search_path = ''
        as $body$ begin
          return exists (select 1 from %I.requests as r where r.request_id = request_exists.id);
        end $body$ $text$, current_schema());
    end $do$`,
    "revoke create on schema lookup from meter_lookup",
  ],
};
