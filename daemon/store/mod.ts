/**
 * The daemon's SQLite database: one row for each metered request, captured bodies, coverage counters, settings, stored
 * rates and the state of the sync, at schema version 15. Captured rows are inserted by prepared statements, once per
 * turn of the event loop; reports are typed Kysely queries on a read-only connection of their own.
 *
 * ```ts
 * import { createSqliteOpener } from "./adapters/sqlite/mod.ts";
 * import { openStore } from "./daemon/store/mod.ts";
 *
 * const store = await openStore(createSqliteOpener(), ":memory:");
 * await store.report({ by: "project", from: null, to: null }); // []
 * store.close();
 * ```
 */
export type { BodyDirection, BodyStats, BodyStore, CapturedBody, StoredBody } from "./bodies.ts";
export { checkDatabase, type DatabaseCheck } from "./check-database.ts";
export type {
  CloudStateRow,
  CloudStateTable,
  CloudStore,
  QuarantineEntry,
  SettledRequests,
} from "./cloud-records.ts";
export type { Period } from "./connections.ts";
export {
  type CoverageCount,
  type CoverageKind,
  type CoverageStore,
  type CoverageTotal,
  coverageKinds,
} from "./coverage.ts";
export { type Day, type DayZone, dayOf } from "./days.ts";
export type { Deletion, DeletionStore } from "./deletion.ts";
export type { BodyDay, DeliveryStore } from "./delivery.ts";
export {
  type FoundDamage,
  type LastingStorePorts,
  openLastingStore,
} from "./lasting-store.ts";
export { latestSchemaVersion } from "./migrations.ts";
export type { LastReassignment, Reassigned, Reassignment, ReassignStore } from "./reassign.ts";
export {
  type BacklogLimits,
  createRecordWriter,
  type DropReason,
  type RecordWriter,
  type RecordWriterEvent,
  type RecordWriterHealth,
  type RecordWriterPorts,
} from "./record-writer.ts";
export type { CostUpdate, FoundRequest, KeptResponse, RecordStore, RequestRange } from "./records.ts";
export type {
  ReportGrouping,
  ReportQuery,
  ReportRow,
  ReportStore,
  SourceShare,
  TokenSums,
} from "./reports.ts";
export type { StoredRequest } from "./request-rows.ts";
export type { ProjectSettings, SettingStore } from "./settings.ts";
export type {
  ModelRow,
  ProjectRow,
  RequestListQuery,
  RequestPage,
  Statistics,
  StatisticsQuery,
  StatisticsStore,
  Turn,
} from "./statistics.ts";
export { type CaptureBatch, openStore, type Store, type StoreOptions } from "./store.ts";
