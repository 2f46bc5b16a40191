import type { BatchResult, SyncEffect, SyncEvent } from "../../core/delivery/sync/sync-events.ts";
import { syncTransition } from "../../core/delivery/sync/sync-machine.ts";
import { initialSyncState, type SyncState } from "../../core/delivery/sync/sync-state.ts";
import { SYNC_INTERVAL_MS } from "../../core/delivery/sync/sync-steps.ts";
import { BATCH_MAX_RECORDS } from "../../core/wire/metadata-batch.ts";
import { seededRandom } from "../../tests/conformance/seeded-random.ts";
import { createDueQueue } from "./due-queue.ts";
import { type CloudCapacity, createSimulatedCloud, type Treatment } from "./simulated-cloud.ts";

const HOUR_MS = 3_600_000;

/** How long a daemon waits for a response, in milliseconds. Source: adapters/cloud-client, `HEADERS_TIMEOUT_MS`. */
const RESPONSE_TIMEOUT_MS = 40_000;

/** The network's share of a request, in milliseconds: there, and back. */
const NETWORK_MS = 30;

/** The options of a simulation. Times are milliseconds after its start, which is midnight UTC. */
export interface FleetOptions {
  readonly daemons: number;
  readonly hours: number;
  /** The mean number of records of a daemon in 24 hours. */
  readonly recordsPerDay: number;
  /** While the cloud is unreachable; null for no outage. */
  readonly outage: { readonly from: number; readonly to: number } | null;
  readonly cloud: CloudCapacity;
  readonly seed: number;
}

/** The sums of one minute. */
export interface Minute {
  /** Records that the daemons created. */
  created: number;
  /** Batches that the daemons sent, also to an unreachable cloud. */
  sent: number;
  /** Records whose daemon learned that the cloud has them. */
  acknowledged: number;
  /** Records that the cloud stored for the first time. */
  stored: number;
  /** Records that were sent again although the cloud had stored them. */
  repeated: number;
  /** Batches that the cloud refused with 503. */
  refused: number;
  /** Batches without a response. */
  unanswered: number;
  /** The longest time that a batch waited in the cloud, in milliseconds. */
  longestWaitMs: number;
  /** The most batches that arrived within one second. */
  mostInOneSecond: number;
  /** Records that were created and not acknowledged, at the end of the minute. */
  backlog: number;
}

/** The result of a simulation. */
export interface FleetResult {
  readonly minutes: readonly Minute[];
  /** Daemons whose machine has paused or counts failures at the end. */
  readonly unhealthy: number;
}

/** Ids of records. The machines only compare them within a batch, so all daemons use the same ones. */
const IDS: readonly string[] = Array.from({ length: BATCH_MAX_RECORDS }, (_, index) => `record-${index}`);

/** The share of the mean rate at an hour of a person's day: little at night, most in the afternoon. */
const DAY = [
  ...[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.5, 1.2, 2.0, 2.3, 2.2, 1.6, 2.0, 2.4, 2.4, 2.2, 1.7, 0.9, 0.6],
  ...[0.5, 0.3, 0.2, 0.2],
];
const DAY_SUM = DAY.reduce((sum, share) => sum + share, 0);
/** The time zones of the people, in hours from UTC; a daemon has one of them. */
const ZONES = [-8, -5, 0, 1, 1, 2, 5.5, 8];

/** The fleet while it is simulated: one array per field, with an element for each daemon. */
interface Fleet {
  readonly options: FleetOptions;
  readonly random: () => number;
  readonly due: ReturnType<typeof createDueQueue>;
  readonly states: SyncState[];
  /** The event that is due next for each daemon. */
  readonly events: SyncEvent[];
  readonly pending: Int32Array;
  /** Pending records, the oldest ones, that the cloud has stored although its response was lost. */
  readonly storedUnseen: Int32Array;
  readonly nextRecordAt: Float64Array;
  readonly minutes: Minute[];
  readonly treat: (arrival: number, records: number) => Treatment;
  second: number;
  inSecond: number;
}

/**
 * Simulates daemons that create records and send them to one cloud, on a virtual clock. Each daemon is the state machine of
 * the product with its backoff; the cloud, the network and the records are models.
 */
export function simulateFleet(options: FleetOptions): FleetResult {
  const fleet = createFleet(options);
  const end = options.hours * HOUR_MS;
  for (let now = fleet.due.next(); now < end; now = fleet.due.next()) {
    const daemon = fleet.due.take();
    createRecords(fleet, daemon, now);
    advance(fleet, daemon, fleet.events[daemon] as SyncEvent, now);
  }
  for (let daemon = 0; daemon < options.daemons; daemon += 1) createRecords(fleet, daemon, end);
  let backlog = 0;
  for (const minute of fleet.minutes) {
    backlog += minute.created - minute.acknowledged;
    minute.backlog = backlog;
  }
  const isUnhealthy = ({ status, consecutiveFailures }: SyncState) =>
    status !== "active" || consecutiveFailures > 0;
  return { minutes: fleet.minutes, unhealthy: fleet.states.filter(isUnhealthy).length };
}

function createFleet(options: FleetOptions): Fleet {
  const { daemons } = options;
  const integer = seededRandom(options.seed);
  const random = () => integer(2 ** 31) / 2 ** 31;
  const minutes = Array.from({ length: Math.ceil(options.hours * 60) }, () => ({
    ...{ created: 0, sent: 0, acknowledged: 0, stored: 0, repeated: 0, refused: 0, unanswered: 0 },
    ...{ longestWaitMs: 0, mostInOneSecond: 0, backlog: 0 },
  }));
  const fleet: Fleet = {
    options,
    random,
    due: createDueQueue(daemons),
    states: new Array<SyncState>(daemons).fill(initialSyncState),
    events: new Array<SyncEvent>(daemons),
    pending: new Int32Array(daemons),
    storedUnseen: new Int32Array(daemons),
    nextRecordAt: new Float64Array(daemons),
    minutes,
    treat: createSimulatedCloud(options.cloud),
    second: -1,
    inSecond: 0,
  };
  for (let daemon = 0; daemon < daemons; daemon += 1) {
    fleet.nextRecordAt[daemon] = nextRecord(fleet, daemon, 0);
    schedule(fleet, daemon, random() * SYNC_INTERVAL_MS, { kind: "started", random: random() });
  }
  return fleet;
}

function schedule(fleet: Fleet, daemon: number, at: number, event: SyncEvent): void {
  fleet.events[daemon] = event;
  fleet.due.add(daemon, at);
}

function minuteAt(fleet: Fleet, now: number): Minute {
  return fleet.minutes[Math.min(Math.floor(now / 60_000), fleet.minutes.length - 1)] as Minute;
}

/** When a daemon creates its next record: a Poisson process whose rate follows the day of its time zone. */
function nextRecord(fleet: Fleet, daemon: number, after: number): number {
  const zone = ZONES[daemon % ZONES.length] as number;
  const mean = (fleet.options.recordsPerDay / 24) * (DAY.length / DAY_SUM);
  // Thinning: candidates at the highest rate, each kept with the share that the rate then has of it.
  const highest = Math.max(...DAY) * mean;
  for (let at = after; ; ) {
    at -= (Math.log(1 - fleet.random()) / highest) * HOUR_MS;
    const hour = Math.floor((((at / HOUR_MS + zone) % 24) + 24) % 24);
    if (fleet.random() * highest <= (DAY[hour] as number) * mean) return at;
  }
}

function createRecords(fleet: Fleet, daemon: number, now: number): void {
  while ((fleet.nextRecordAt[daemon] as number) <= now) {
    const at = fleet.nextRecordAt[daemon] as number;
    fleet.pending[daemon] = (fleet.pending[daemon] as number) + 1;
    minuteAt(fleet, at).created += 1;
    fleet.nextRecordAt[daemon] = nextRecord(fleet, daemon, at);
  }
}

/** Gives a daemon's machine its event, and those that its own effects cause at the same time. */
function advance(fleet: Fleet, daemon: number, first: SyncEvent, now: number): void {
  for (let event: SyncEvent | null = first; event !== null; ) {
    const { state, effects } = syncTransition(fleet.states[daemon] as SyncState, event, now);
    fleet.states[daemon] = state;
    event = null;
    for (const effect of effects) event = perform(fleet, daemon, effect, now) ?? event;
  }
}

/** Performs an effect. Returns the event that it causes at once, if any. */
function perform(fleet: Fleet, daemon: number, effect: SyncEffect, now: number): SyncEvent | null {
  switch (effect.kind) {
    case "select_records": {
      const count = Math.min(fleet.pending[daemon] as number, effect.limit);
      return { kind: "records_found", requestIds: IDS.slice(0, count) };
    }
    case "send_batch":
      send(fleet, daemon, effect.batchNumber, effect.requestIds.length, now);
      return null;
    case "mark_synced": {
      const count = effect.requestIds.length;
      fleet.pending[daemon] = (fleet.pending[daemon] as number) - count;
      minuteAt(fleet, now).acknowledged += count;
      return null;
    }
    case "set_timer":
      schedule(fleet, daemon, dueTime(fleet, daemon, effect.delayMs, now), { kind: "tick_due" });
      return null;
    default:
      return null;
  }
}

/** When a timer fires at which there is something to do. A tick without records changes nothing, so it is left out. */
function dueTime(fleet: Fleet, daemon: number, delayMs: number, now: number): number {
  const at = now + delayMs;
  const next = fleet.nextRecordAt[daemon] as number;
  if (delayMs !== SYNC_INTERVAL_MS || fleet.pending[daemon] !== 0 || next <= at) return at;
  return at + Math.ceil((next - at) / SYNC_INTERVAL_MS) * SYNC_INTERVAL_MS;
}

function send(fleet: Fleet, daemon: number, batchNumber: number, records: number, now: number): void {
  const { options, random } = fleet;
  const minute = minuteAt(fleet, now);
  minute.sent += 1;
  const second = Math.floor(now / 1000);
  fleet.inSecond = second === fleet.second ? fleet.inSecond + 1 : 1;
  fleet.second = second;
  minute.mostInOneSecond = Math.max(minute.mostInOneSecond, fleet.inSecond);
  const answer = (at: number, result: BatchResult) =>
    schedule(fleet, daemon, at, { kind: "batch_answered", batchNumber, result, random: random() });

  const { outage } = options;
  if (outage !== null && now >= outage.from && now < outage.to) {
    minute.unanswered += 1;
    return answer(now + NETWORK_MS, { kind: "transport", reason: "connection_refused" });
  }
  const treatment = fleet.treat(now + NETWORK_MS / 2, records);
  if (treatment.kind === "refused") {
    minute.refused += 1;
    const { retryAfterMs } = options.cloud;
    return answer(now + NETWORK_MS, { kind: "http", status: 503, retryAfterMs, outcomes: null });
  }
  minute.longestWaitMs = Math.max(minute.longestWaitMs, treatment.waitMs);
  const duplicates = Math.min(fleet.storedUnseen[daemon] as number, records);
  minute.stored += records - duplicates;
  minute.repeated += duplicates;
  const answeredAt = treatment.at + NETWORK_MS / 2;
  if (answeredAt - now > RESPONSE_TIMEOUT_MS) {
    minute.unanswered += 1;
    fleet.storedUnseen[daemon] = Math.max(fleet.storedUnseen[daemon] as number, records);
    return answer(now + RESPONSE_TIMEOUT_MS, { kind: "transport", reason: "timeout" });
  }
  fleet.storedUnseen[daemon] = (fleet.storedUnseen[daemon] as number) - duplicates;
  const outcomes = { accepted: records - duplicates, duplicates, rejected: [], skipped: [] };
  answer(answeredAt, { kind: "http", status: 200, retryAfterMs: null, outcomes });
}
