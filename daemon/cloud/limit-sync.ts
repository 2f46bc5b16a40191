import type { LimitReading } from "../../core/metering/limits/stated-limit.ts";
import { isMachineFieldSent } from "../../core/privacy/policy/upload-policy.ts";
import type { Millis } from "../../core/values/time.ts";
import { toStorableText } from "../../core/wire/characters.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { MAX_LIMIT_READINGS, type WireLimitReading } from "../../core/wire/limit-readings.ts";
import type { NoteStore } from "../store/port/settings.ts";
import { readNote } from "../store/read-note.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import { httpStatusOf, readConnection, requestCloud } from "./connection.ts";
import { loadSyncState } from "./machine-states.ts";
import type { CloudServicePorts } from "./ports.ts";
import { recordInOutbox } from "./record-in-outbox.ts";

/** How often changed readings are sent, in milliseconds. */
const LIMIT_SYNC_MS = 60_000;

/** How long nothing is sent to a cloud that does not know the route or refuses the readings, in milliseconds. */
const UNSUPPORTED_MS = 86_400_000;

/** The key of what was sent. */
const SENT_KEY = "limit_readings_sent";

/** The readings that a workspace has: when each was seen, by the id of its window. Older versions stored one time for all. */
interface SentReadings {
  readonly workspaceId: string;
  readonly seenAt: Readonly<Record<string, Millis>> | Millis;
}

/** Sends the readings of limits while this machine is connected and the policy allows it. */
export interface LimitSync {
  enable(connected: boolean): void;
  stop(): void;
}

/** The result of one round. */
export type LimitSyncResult = "sent" | "nothing" | "held_back" | "unsupported" | "failed";

/** Sends the readings that changed since the last time, the earliest first. Sends nothing while the sync is paused. */
export async function sendLimitReadings(ports: CloudServicePorts): Promise<LimitSyncResult> {
  const { store } = ports;
  const { settings, credentials } = await readConnection(ports);
  const { cloud } = settings;
  if (credentials === null || !cloud.enabled || !isMachineFieldSent("limit_readings", cloud.upload))
    return "held_back";
  if (loadSyncState(store).pausedReason !== null) return "held_back";
  const { workspaceId } = credentials;
  const limits = store.limits.list();
  const before = readSent(store.notes, workspaceId);
  // Not "later than": the clock may have been set back.
  const changed = limits
    .filter(({ id, seenAt }) => before[id] !== seenAt)
    .sort((one, other) => one.seenAt - other.seenAt)
    .slice(0, MAX_LIMIT_READINGS);
  if (changed.length === 0) return "nothing";
  const body = JSON.stringify({ daemon_version: ports.version, readings: changed.map(toWireReading) });
  const isRecorded = await recordInOutbox(ports, {
    ...{ kind: "metadata", origin: credentials.origin, projects: [], requestIds: [] },
    ...{ fields: ["limit_readings"], payload: body },
  });
  if (!isRecorded) return "failed";
  const reply = await requestCloud(ports, credentials, "/v1/daemon/limits", { method: "POST", body });
  const status = httpStatusOf(reply);
  if (status === 404 || status === 413 || status === 422) return "unsupported";
  if (status !== 200) return "failed";
  const isSent = new Set(changed);
  const seenAt = Object.fromEntries(
    limits.map((each) => [each.id, isSent.has(each) ? each.seenAt : before[each.id]]),
  );
  store.notes.write(SENT_KEY, JSON.stringify({ workspaceId, seenAt }));
  return "sent";
}

/** Has the latest reading of each limit sent again. */
export function forgetSentReadings(notes: Pick<NoteStore, "write">): void {
  notes.write(SENT_KEY, null);
}

function readSent(notes: Pick<NoteStore, "read">, workspaceId: string): Readonly<Record<string, Millis>> {
  const sent = readNote<SentReadings>(notes, SENT_KEY);
  return sent?.workspaceId === workspaceId && typeof sent.seenAt === "object" ? sent.seenAt : {};
}

const toCount = (value: number | null) =>
  value !== null && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : null;

/** Providers determine the names. One text that the cloud refuses would hold back all readings. */
export function toWireReading(reading: LimitReading): WireLimitReading {
  return {
    provider: toStorableText(reading.provider, 64),
    account: reading.account,
    window: toStorableText(reading.window, 64),
    scope: reading.scope === null ? null : toStorableText(reading.scope, 128),
    unit: reading.unit,
    window_ms: toCount(reading.windowMs),
    used_ppm: toCount(reading.usedPpm),
    limit: toCount(reading.limit),
    remaining: toCount(reading.remaining),
    reset_at: reading.resetAt === null ? null : formatInstant(reading.resetAt),
    status: reading.status,
    seen_at: formatInstant(reading.seenAt),
  };
}

/** Creates the sync of readings. A failed one is repeated a minute later. */
export function createLimitSync(ports: CloudServicePorts): LimitSync {
  let cancel = () => {};
  let isEnabled = false;

  async function send(): Promise<void> {
    const result = await sendLimitReadings(ports).catch((cause): LimitSyncResult => {
      logTaskCrash(ports.log, "limits", cause);
      return "failed";
    });
    if (isEnabled) setTimer(result === "unsupported" ? UNSUPPORTED_MS : LIMIT_SYNC_MS);
  }

  function setTimer(delayMs: number): void {
    cancel();
    cancel = ports.clock.setTimer(delayMs, () => void send());
  }

  return {
    enable(connected) {
      if (connected === isEnabled) return;
      isEnabled = connected;
      cancel();
      if (connected) setTimer(LIMIT_SYNC_MS);
    },
    stop() {
      isEnabled = false;
      cancel();
    },
  };
}
