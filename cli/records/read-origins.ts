import type { StoredOrigins } from "../../core/metering/attribution/list-origins.ts";
import type { OriginStore } from "../../daemon/store/port/origins.ts";

/** Reads what is stored of the origins of projects. */
export const readOrigins = (origins: OriginStore): StoredOrigins => ({
  assignments: origins.list(),
  merges: origins.listMerges(),
});
