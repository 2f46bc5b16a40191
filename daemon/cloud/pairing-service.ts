import type { PairingEffect, PairingEvent } from "../../core/delivery/pairing/pairing-events.ts";
import { pairingTransition } from "../../core/delivery/pairing/pairing-machine.ts";
import { initialPairingState, type PairingState } from "../../core/delivery/pairing/pairing-state.ts";
import { resolveBaseUrl } from "../../core/operations/config/base-url.ts";
import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import type { Driver } from "../../core/ports/driver.ts";
import type { ConnectStatus } from "../../core/wire/loopback.ts";
import { readNote } from "../store/read-note.ts";
import { writeLogEffect } from "../tasks/log-effect.ts";
import { logTaskCrash } from "../tasks/log-task-crash.ts";
import { originOf } from "./connection.ts";
import { delay } from "./delay.ts";
import { createPairingStates, loadPairingState } from "./machine-states.ts";
import { saveConnection } from "./offer-again.ts";
import {
  checkCredentials,
  type PairingAttempt,
  requestPairingPoll,
  requestPairingStart,
} from "./pairing-requests.ts";
import type { CloudServicePorts } from "./ports.ts";
import type { ConnectOptions, ConnectResult } from "./results.ts";

/** How long pairing waits before it restarts after a failure on this machine, in milliseconds. */
const RESTART_DELAY_MS = 1_000;

/** The key of the current handshake's target. It is stored because polling resumes after a crash. */
const TARGET_KEY = "pairing_target";

/** The statuses of a handshake in progress. */
const IN_PROGRESS = ["checking", "starting", "polling", "storing"];

/** What a handshake is for. */
interface Target {
  readonly baseUrl: string;
  readonly fromNow: boolean;
  /** Whether the configuration may be changed if the stored credentials are still valid. */
  readonly isByOwner: boolean;
}

/** Pairing, for the command line and the loopback API. */
export interface PairingService {
  /** Continues a handshake that a crash interrupted. */
  start(): void;
  stop(): void;
  connect(options: ConnectOptions): Promise<ConnectResult>;
  status(): ConnectStatus;
  settled(): Promise<ConnectStatus>;
  cancel(): Promise<void>;
}

/** What the service reports. */
interface PairingHooks {
  /** Called when new credentials are stored. The handshake counts as approved when this is done. */
  paired(): Promise<void>;
  /** Called when the configuration was changed for credentials that are still valid. */
  connectionSaved(): Promise<void>;
}

type PairingDriver = Driver<PairingState, PairingEvent>;

/** The state of a pairing service. */
interface Service {
  readonly ports: CloudServicePorts;
  readonly hooks: PairingHooks;
  driver: PairingDriver | null;
  target: Target | null;
  /** Resolves the pending `connect()`. */
  resolveConnect: ((result: ConnectResult) => void) | null;
  /** Resolve the pending `settled()` calls. */
  readonly settledWaiters: Set<(status: ConnectStatus) => void>;
  /** Ends the requests of the current attempt. */
  cancelAttempt: PromiseWithResolvers<void>;
  cancelRestart(): void;
}

/** Creates the pairing service. */
export function createPairingService(ports: CloudServicePorts, hooks: PairingHooks): PairingService {
  const service: Service = {
    ports,
    hooks,
    driver: null,
    target: null,
    resolveConnect: null,
    settledWaiters: new Set(),
    cancelAttempt: Promise.withResolvers<void>(),
    cancelRestart() {},
  };
  return {
    start() {
      if (isInProgress(service)) ensureDriver(service);
    },
    stop: () => stop(service),
    connect: (options) => connect(service, options),
    status: () => readStatus(service),
    settled() {
      if (!isInProgress(service)) return Promise.resolve(readStatus(service));
      return new Promise((resolve) => service.settledWaiters.add(resolve));
    },
    cancel: () => cancel(service),
  };
}

function readState({ driver, ports }: Service): PairingState {
  return driver?.state ?? loadPairingState(ports.store) ?? initialPairingState;
}

function isInProgress(service: Service): boolean {
  return IN_PROGRESS.includes(readState(service).status);
}

function readStatus(service: Service): ConnectStatus {
  const { status, ticket, workspaceName, message } = readState(service);
  return {
    status,
    code: ticket?.code ?? null,
    verification_url: ticket?.verificationUrl ?? null,
    workspace_name: workspaceName,
    message,
  };
}

function readTarget({ target, ports }: Service): Target | null {
  return target ?? readNote<Target>(ports.store.notes, TARGET_KEY);
}

async function connect(
  service: Service,
  { force = false, baseUrl, fromNow = false, byPage = false }: ConnectOptions,
): Promise<ConnectResult> {
  const { ports } = service;
  const settings = await ports.settings();
  const resolved = baseUrl === undefined ? null : resolveBaseUrl({ flag: baseUrl });
  if (resolved?.warning) return { kind: "failed", message: resolved.warning };
  const url = resolved?.url ?? settings.cloud.baseUrl;
  if (url === null) return { kind: "no_base_url" };
  const credentials = await ports.credentials.read().catch(() => null);
  endConnect(service, { kind: "failed", message: "replaced by a newer request to connect" });
  const isNew = credentials === null;
  service.target = { baseUrl: url, fromNow: fromNow || (byPage && isNew), isByOwner: !byPage };
  ports.store.notes.write(TARGET_KEY, JSON.stringify(service.target));
  const hasCredentials = credentials !== null && credentials.origin === originOf(url);
  const result = new Promise<ConnectResult>((resolve) => {
    service.resolveConnect = resolve;
  });
  ensureDriver(service).dispatch({ kind: "connect_requested", hasCredentials, force });
  return await result;
}

async function cancel(service: Service): Promise<void> {
  if (!isInProgress(service)) return;
  const driver = ensureDriver(service);
  driver.dispatch({ kind: "cancel_requested" });
  await driver.idle();
  endConnect(service, { kind: "failed", message: "cancelled" });
  settle(service);
}

function stop(service: Service): void {
  service.cancelAttempt.resolve();
  service.cancelRestart();
  endConnect(service, { kind: "failed", message: "the daemon is stopping" });
  service.driver?.stop();
  service.driver = null;
}

/** Resolves the pending `connect()`, if there is one. */
function endConnect(service: Service, result: ConnectResult): void {
  service.resolveConnect?.(result);
  service.resolveConnect = null;
}

/** Resolves the pending `settled()` calls. */
function settle(service: Service): void {
  const status = readStatus(service);
  for (const resolve of service.settledWaiters) resolve(status);
  service.settledWaiters.clear();
}

/** Returns the driver. A driver that failed is replaced after a delay. The new one's `started` event recovers the handshake. */
function ensureDriver(service: Service): PairingDriver {
  if (service.driver !== null) return service.driver;
  const driver = createPairingDriver(service);
  service.driver = driver;
  driver.run({ kind: "started" }).catch((error: unknown) => {
    logTaskCrash(service.ports.log, "pairing", error);
    if (service.driver !== driver) return;
    service.driver = null;
    const message = "pairing failed on this machine: the credentials could not be stored";
    endConnect(service, { kind: "failed", message });
    service.cancelRestart = service.ports.clock.setTimer(RESTART_DELAY_MS, () => void ensureDriver(service));
  });
  return driver;
}

function createPairingDriver(service: Service): PairingDriver {
  const { ports } = service;
  return ports.createDriver<PairingState, PairingEvent, PairingEffect>({
    transition: pairingTransition,
    initial: initialPairingState,
    store: createPairingStates(ports.store),
    clock: ports.clock,
    timers: { poll: { kind: "poll_due" } },
    handlers: {
      cancel_handshake: () => {
        service.cancelAttempt.resolve();
        service.cancelAttempt = Promise.withResolvers<void>();
        return undefined;
      },
      request_whoami: ({ attempt }) => ({ background: checkCredentials(ports, attempt) }),
      start_pairing: ({ attempt }) => ({
        background: requestPairingStart(ports, describeAttempt(service, attempt)),
      }),
      show_code: ({ code, verificationUrl }) => {
        const expiresAt = readState(service).ticket?.expiresAt ?? ports.clock.now();
        endConnect(service, { kind: "code", code, verificationUrl, expiresAt });
        return undefined;
      },
      poll_pairing: ({ attempt, pollToken }) => ({
        background: requestPairingPoll(ports, describeAttempt(service, attempt), pollToken),
      }),
      store_credentials: (effect) => storeCredentials(service, effect),
      report_pairing: ({ report }) => finishPairing(service, report),
      log: (effect) => writeLogEffect(ports.log, effect, "pairing"),
    },
  });
}

function describeAttempt(service: Service, attempt: number): PairingAttempt {
  const baseUrl = readTarget(service)?.baseUrl ?? null;
  return { attempt, baseUrl, cancelled: service.cancelAttempt.promise };
}

async function finishPairing(
  service: Service,
  { status, workspaceName, message }: Extract<PairingEffect, { kind: "report_pairing" }>["report"],
): Promise<undefined> {
  if (status === "connected") await saveExistingConnection(service);
  endConnect(
    service,
    status === "connected" || status === "approved"
      ? { kind: "connected", workspaceName, message }
      : { kind: "failed", message },
  );
  settle(service);
}

/** Saves the base URL and `enabled` in the configuration if the owner connected a machine whose credentials are still valid. */
async function saveExistingConnection(service: Service): Promise<void> {
  const { ports, hooks } = service;
  const target = readTarget(service);
  if (target === null || !target.isByOwner) return;
  const { cloud } = await ports.settings();
  if (cloud.enabled && cloud.baseUrl === target.baseUrl) return;
  await ports.saveConnection({ enabled: true, baseUrl: target.baseUrl });
  await hooks.connectionSaved();
}

async function storeCredentials(
  service: Service,
  effect: Extract<PairingEffect, { kind: "store_credentials" }>,
): Promise<PairingEvent> {
  const { ports, hooks } = service;
  const { store, clock, machine } = ports;
  const target = readTarget(service);
  if (target === null) throw new Error("the base URL of the pairing is missing in the database");
  const { attempt, syncToken, workspaceId, workspaceName, promptHashKey } = effect;
  const credentials: CloudCredentials = {
    token: syncToken,
    origin: originOf(target.baseUrl),
    baseUrl: target.baseUrl,
    workspaceId,
    workspaceName,
    machineId: await machine.fingerprint(),
    promptHashKey,
    createdAt: clock.now(),
  };
  // First, because sync sends what is pending as soon as there are credentials.
  if (target.fromNow) await skipPending(service);
  saveConnection(store.notes, await ports.credentials.read().catch(() => null), credentials);
  await ports.credentials.exclusively(async (file) => {
    await ports.credentials.write(credentials);
    store.delivery.updateState("cloud_state", {
      enabled: 1,
      workspace_id: workspaceId,
      workspace_name: workspaceName,
      machine_id: credentials.machineId,
      hostname: machine.hostname,
      last_connected_at: clock.now(),
      api_key_mirror: await file.seal(credentials),
    });
    await ports.saveConnection({ enabled: true, baseUrl: target.baseUrl });
  });
  await hooks.paired();
  return { kind: "credentials_stored", attempt };
}

/** Marks as skipped what is pending now, in short steps between which calls are metered. */
async function skipPending({ ports: { store, clock } }: Service): Promise<void> {
  let through = store.delivery.skipSome(clock.now(), null);
  while (through !== null) {
    await delay(clock, 0);
    through = store.delivery.skipSome(clock.now(), through);
  }
}
