/**
 * The interfaces through which the meter reaches the outside: clock, databases, log, accounts, email, checkout. Implement one
 * to bring your own; `adapters/` has an implementation of each. Every method states whether it may be repeated, in which
 * order it is called, and what it returns for what does not exist.
 *
 * ```ts
 * import type { Clock } from "./mod.ts";
 *
 * // A clock that stands still: timers never fire.
 * const stopped: Clock = { now: () => Date.UTC(2026, 0, 1), setTimer: () => () => {} };
 * console.log(new Date(stopped.now()).toISOString()); // 2026-01-01T00:00:00.000Z
 * ```
 *
 * @module
 */
export type {
  AccountCreation,
  AccountPerson,
  Accounts,
  NewAccount,
  SessionProof,
  SignInOptions,
} from "./accounts.ts";
export type { BodyKeyStore } from "./body-key-store.ts";
export { CertificateStoreError, type LeafCertificate, type LeafIssuer } from "./certificates.ts";
export type { CheckoutOrder, OpenCheckout } from "./checkout.ts";
export type { Clock } from "./clock.ts";
export type {
  CloudClient,
  CloudClientResult,
  CloudRequest,
  HttpResponse,
  TransportFailure,
  TransportReason,
} from "./cloud-client.ts";
export type { CloudLog, CloudLogEvent } from "./cloud-log.ts";
export type { CloudMetrics } from "./cloud-metrics.ts";
export type { ConnectionOwner, ConnectionOwnerLookup, LocalConnection } from "./connection-owner.ts";
export type { ContentDecoder, CreateContentDecoder, DecodedSink, DecodingEnd } from "./content-decoder.ts";
export type { CreateDriver, Driver, DriverParts, Handlers } from "./driver.ts";
export type { Log, LogEvent, LogFields, LogLevel } from "./log.ts";
export { type Mail, MailError, type MailPicture, type SendMail } from "./mail.ts";
export type {
  CreateMessageInflater,
  InflatedMessage,
  InflaterOptions,
  MessageInflater,
} from "./message-inflater.ts";
export { DatabaseError, type DatabaseErrorReason, type PostgresDatabase } from "./postgres.ts";
export type { ProcessFacts, ProcessTable } from "./process-table.ts";
export type { ProjectFacts, ProjectFiles } from "./project-files.ts";
export type { RandomBytes } from "./random.ts";
export type { Applicant, SignUpPolicy } from "./sign-up-policy.ts";
export {
  type SqliteConnection,
  type SqliteOpener,
  type SqliteOptions,
  type SqliteStatement,
  type SqliteValue,
  StoreError,
  type StoreErrorReason,
} from "./sqlite.ts";
export type { StateStore } from "./state-store.ts";
export type { BodyRef, BodyStore, RejectedRecord, SyncStore } from "./sync-store.ts";
export type { TokenCounter } from "./token-counter.ts";
