import { coverageGapKinds } from "../../core/metering/coverage/coverage-advice.ts";
import type { CoverageKind } from "../../core/metering/coverage/coverage-kinds.ts";
import { summariseCoverage } from "../../core/metering/coverage/coverage-summary.ts";
import type { RunningTime } from "../../core/metering/coverage/running-times.ts";
import { isMachineFieldSent } from "../../core/privacy/policy/upload-policy.ts";
import { DAY_MS, HOUR_MS, type Millis } from "../../core/values/time.ts";
import { type CoverageHour, type CoverageUpload, MAX_COVERAGE_ITEMS } from "../../core/wire/coverage.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { HourlyCoverage } from "../store/port/coverage.ts";
import type { NoteStore } from "../store/port/settings.ts";
import { readNote } from "../store/read-note.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import { httpStatusOf, readConnection, requestCloud } from "./connection.ts";
import { loadSyncState } from "./machine-states.ts";
import type { CloudServicePorts } from "./ports.ts";
import { recordInOutbox } from "./record-in-outbox.ts";

/** How often changed coverage is sent, in milliseconds. Source: docs/specification.md#coverage-in-the-cloud. */
export const COVERAGE_SYNC_MS = 300_000;

/** How often a machine without calls reports that its daemon runs, in milliseconds. Source: docs/specification.md#coverage-in-the-cloud. */
const RUNNING_SYNC_MS = 1_800_000;

/** The pause between two uploads of earlier hours, in milliseconds. */
const REST_MS = 1_000;

/** How long nothing is sent to a cloud that does not know the route or refuses the upload, in milliseconds. */
const UNSUPPORTED_MS = DAY_MS;

/** How long the counts of an hour can change, in milliseconds: a call that began in it may end later. */
const CHANGING_MS = DAY_MS;

/** The key under which the store keeps how far the coverage was sent. */
const SENT_KEY = "coverage_sent";

/** Up to where the coverage was sent to a workspace: the start of the last hour, and the last run with its end. */
interface SentUntil {
  readonly workspaceId: string;
  readonly hour: Millis;
  readonly run: RunningTime;
}

/** What was sent of the hours that can still change, by hour. It is not stored: after a restart they are sent again. */
export type SentHours = Map<Millis, string>;

/** Sends the coverage while this machine is connected and the policy allows it. */
export interface CoverageSync {
  enable(connected: boolean): void;
  /** Sends what has changed since the last time. */
  send(): Promise<CoverageSyncResult>;
  stop(): void;
}

/** The result of one round. `rest`: sent, but there is more. */
export type CoverageSyncResult = "sent" | "rest" | "nothing" | "held_back" | "unsupported" | "failed";

/** How long after each result the next round begins, in milliseconds. */
const PAUSES_MS: Readonly<Record<CoverageSyncResult, number>> = {
  sent: COVERAGE_SYNC_MS,
  rest: REST_MS,
  nothing: COVERAGE_SYNC_MS,
  held_back: COVERAGE_SYNC_MS,
  unsupported: UNSUPPORTED_MS,
  failed: COVERAGE_SYNC_MS,
};

/**
 * Sends the hours and running times that changed since the last time, after they are in the outbox. Sends nothing while the sync is
 * paused. A failed round is repeated in full: the cloud keeps the latest counts of each hour.
 */
export async function sendCoverage(
  ports: CloudServicePorts,
  sentHours: SentHours,
): Promise<CoverageSyncResult> {
  const { store, clock } = ports;
  const { settings, credentials } = await readConnection(ports);
  const { cloud } = settings;
  if (credentials === null || !cloud.enabled || !isMachineFieldSent("coverage", cloud.upload))
    return "held_back";
  if (loadSyncState(store).pausedReason !== null) return "held_back";
  const { workspaceId } = credentials;
  const now = clock.now();
  const sent = readSentUntil(store.notes, workspaceId, now);
  if (sent.hour === 0) sentHours.clear();
  const read = readHours(ports, sent.hour - CHANGING_MS, now);
  const hours = read.filter((each) => sentHours.get(Date.parse(each.hour)) !== JSON.stringify(each));
  const runs = findRuns(store.coverage.readRuns({ from: sent.run.from, to: null }), sent.run, now);
  const last = runs.at(-1);
  const isOneStep = runs.length === 1 && last?.from === sent.run.from;
  if (hours.length === 0 && (last === undefined || (isOneStep && last.to - sent.run.to < RUNNING_SYNC_MS)))
    return "nothing";
  const upload: CoverageUpload = {
    daemon_version: ports.version,
    as_of: formatInstant(now),
    queued: store.delivery.countPending(),
    hours,
    runs: runs.map(({ from, to }) => ({ from: formatInstant(from), to: formatInstant(to) })),
  };
  const body = JSON.stringify(upload);
  const isRecorded = await recordInOutbox(ports, {
    ...{ kind: "metadata", origin: credentials.origin, projects: [], requestIds: [] },
    ...{ fields: ["coverage"], payload: body },
  });
  if (!isRecorded) return "failed";
  const reply = await requestCloud(ports, credentials, "/v1/daemon/coverage", { method: "POST", body });
  const status = httpStatusOf(reply);
  if (status === 404 || status === 413 || status === 422) return "unsupported";
  if (status !== 200) return "failed";
  const until: SentUntil = {
    workspaceId,
    hour: Math.max(sent.hour, ...read.map(({ hour }) => Date.parse(hour))),
    run: last ?? sent.run,
  };
  store.notes.write(SENT_KEY, JSON.stringify(until));
  remember(sentHours, hours, until.hour - CHANGING_MS);
  return read.length === MAX_COVERAGE_ITEMS || runs.length === MAX_COVERAGE_ITEMS ? "rest" : "sent";
}

/** Has all coverage sent again. The cloud keeps the latest statement of each hour. */
export function forgetSentCoverage(notes: Pick<NoteStore, "write">): void {
  notes.write(SENT_KEY, null);
}

const NOTHING_SENT = { hour: 0, run: { from: 0, to: 0 } };

/** Reads what was sent. If the clock was ahead then, that does not keep the present from being sent. */
function readSentUntil(notes: Pick<NoteStore, "read">, workspaceId: string, now: Millis): SentUntil {
  const sent = readNote<SentUntil>(notes, SENT_KEY);
  if (sent?.workspaceId !== workspaceId) return { workspaceId, ...NOTHING_SENT };
  const run = sent.run.from > now ? NOTHING_SENT.run : sent.run;
  // A whole hour, since a part of one would replace the counts of all of it.
  const hour = Math.floor(Math.min(sent.hour, now) / HOUR_MS) * HOUR_MS;
  return { workspaceId, hour, run };
}

/** Reads the first hours that begin at an instant or later, up to the present. */
function readHours({ store }: CloudServicePorts, from: Millis, now: Millis): CoverageHour[] {
  const rows = store.coverage
    .readHours(Math.max(0, from), MAX_COVERAGE_ITEMS)
    .filter(({ hour }) => hour <= now);
  return [...Map.groupBy(rows, ({ hour }) => hour)].map(([hour, own]) => toWire(hour, own));
}

/** Converts an hour. Kinds that don't show what the totals lack stay on the machine. */
function toWire(hour: Millis, rows: readonly HourlyCoverage[]): CoverageHour {
  const counted = rows.filter(({ count }) => count > 0);
  const { metered, seen } = summariseCoverage(
    counted.map(({ kind, count }) => ({ host: null, kind, count })),
  );
  const counts = counted.filter(({ kind }) => isSent(kind)).map(({ kind, count }) => ({ kind, count }));
  return { hour: formatInstant(hour), metered, seen, counts };
}

const isSent = (kind: CoverageKind): boolean =>
  coverageGapKinds.includes(kind) || kind.startsWith("unlisted_");

/** Returns the runs to send, the earliest first: those that began after the last one that was sent, and that one if it has grown. */
const findRuns = (runs: readonly RunningTime[], sent: RunningTime, now: Millis): RunningTime[] =>
  runs
    .filter(({ from, to }) => from <= now && (from > sent.from || (from === sent.from && to > sent.to)))
    .slice(0, MAX_COVERAGE_ITEMS);

/** Remembers what was sent, and forgets the hours that no longer change. */
function remember(sentHours: SentHours, hours: readonly CoverageHour[], before: Millis): void {
  for (const each of hours) sentHours.set(Date.parse(each.hour), JSON.stringify(each));
  for (const hour of sentHours.keys()) if (hour < before) sentHours.delete(hour);
}

/** Creates the sync of coverage. A failed round is repeated after the usual interval. */
export function createCoverageSync(ports: CloudServicePorts): CoverageSync {
  const sentHours: SentHours = new Map();
  let cancel = () => {};
  let isEnabled = false;

  async function send(): Promise<CoverageSyncResult> {
    return await sendCoverage(ports, sentHours).catch((cause): CoverageSyncResult => {
      logTaskCrash(ports.log, "coverage", cause);
      return "failed";
    });
  }

  function setTimer(delayMs: number): void {
    cancel();
    cancel = ports.clock.setTimer(delayMs, async () => {
      const result = await send();
      if (isEnabled) setTimer(PAUSES_MS[result]);
    });
  }

  return {
    send,
    enable(connected) {
      if (connected === isEnabled) return;
      isEnabled = connected;
      cancel();
      // Spread, so that machines that start together do not send together.
      if (connected) setTimer(Math.round(ports.random() * COVERAGE_SYNC_MS));
    },
    stop() {
      isEnabled = false;
      cancel();
    },
  };
}
