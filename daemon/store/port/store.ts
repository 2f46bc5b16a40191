import type { StoreError } from "../../../core/ports/sqlite.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import type { BodyStore, CapturedBody } from "./bodies.ts";
import type { BodyDeliveryStore } from "./body-delivery.ts";
import type { BudgetStore } from "./budgets.ts";
import type { ClientReportStore } from "./client-reports.ts";
import type { CoverageCount, CoverageStore } from "./coverage.ts";
import type { DeletionStore } from "./deletion.ts";
import type { DeliveryStore, QuarantineStore } from "./delivery.ts";
import type { LimitStore } from "./limits.ts";
import type { LogStore } from "./logs.ts";
import type { OriginStore } from "./origins.ts";
import type { ReassignmentStore } from "./reassignments.ts";
import type { RecordStore } from "./records.ts";
import type { ReportStore } from "./reports.ts";
import type { RollupStore } from "./rollups.ts";
import type { SessionStore } from "./sessions.ts";
import type { NoteStore, RateStore, SettingStore } from "./settings.ts";

/** What one turn of the event loop captured. */
export interface CaptureBatch {
  records: readonly RequestRecord[];
  bodies: readonly CapturedBody[];
  coverage: readonly CoverageCount[];
  /** Records that were stored before, with the caller that was found since. */
  attributed?: readonly RequestRecord[];
}

/** The parts of the store. Each method throws or rejects with a `StoreError` if the database fails. */
export interface StoreParts {
  readonly records: RecordStore;
  readonly reports: ReportStore;
  readonly sessions: SessionStore;
  readonly rollups: RollupStore;
  readonly bodies: BodyStore;
  readonly coverage: CoverageStore;
  readonly settings: SettingStore;
  readonly rates: RateStore;
  readonly notes: NoteStore;
  readonly delivery: DeliveryStore;
  readonly bodyDelivery: BodyDeliveryStore;
  readonly quarantine: QuarantineStore;
  readonly deletion: DeletionStore;
  readonly reassignments: ReassignmentStore;
  readonly origins: OriginStore;
  readonly limits: LimitStore;
  readonly budgets: BudgetStore;
  readonly logs: LogStore;
  readonly clientReports: ClientReportStore;
}

/** The daemon's database. `openStore()` implements it on SQLite. */
export interface Store extends StoreParts {
  /** Where a corrupt database was moved when this one replaced it, or null. */
  readonly setAsidePath: string | null;
  /** Why the database can't be used, or null. While it is set, nothing is stored and reads are incomplete. */
  readonly trouble: StoreError | null;
  /** Resolves once the database is open. */
  readonly opened: Promise<void>;
  /**
   * Stores records, attributions, bodies and coverage in one transaction. On a `StoreError` nothing is stored. Records and
   * bodies are idempotent, coverage is not. A body without a stored record is dropped. `onExisting` is called for each record that is stored already, before it is completed; it may read
   * the store.
   */
  insertBatch(batch: CaptureBatch, onExisting?: (requestId: string) => void): void;
  /** Closes all connections. Safe to call twice. */
  close(): void;
}
