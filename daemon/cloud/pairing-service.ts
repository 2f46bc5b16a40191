import { resolveBaseUrl } from "../../core/config/mod.ts";
import {
  initialPairingState,
  type PairingEffect,
  type PairingEvent,
  type PairingState,
  pairingTransition,
} from "../../core/pairing/mod.ts";
import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import type { Driver } from "../../core/ports/driver.ts";
import {
  type ConnectStatus,
  type PairingStart,
  pairingResultSchema,
  pairingTicketSchema,
} from "../../core/wire/mod.ts";
import { errorName } from "../error-name.ts";
import { writeLogEffect } from "../log-effect.ts";
import { askWhoami } from "./ask-whoami.ts";
import { askOpenly, originOf, readAnswer } from "./connection.ts";
import { createPairingStates, loadPairingState } from "./machine-states.ts";
import type { CloudServicePorts } from "./ports.ts";
import type { ConnectOptions, ConnectResult } from "./results.ts";

/** How long a poll is waited for, milliseconds: the cloud answers within 25 s. */
const POLL_MS = 45_000;

/** After a failure on this machine it is gone on with so much later, milliseconds: what failed may fail again at once. */
const RESTART_MS = 1_000;

/** What the handshake under way is for; kept, because polling outlives a crash. */
const TARGET_KEY = "pairing_target";

interface Target {
  readonly baseUrl: string;
  readonly fromNow: boolean;
  /** Whether the configuration may be changed for credentials that still hold. */
  readonly isOwners: boolean;
}

/** Pairing, for the command line and the loopback API alike. */
export interface PairingService {
  /** Goes on with a handshake that a crash interrupted. */
  start(): void;
  stop(): void;
  connect(options: ConnectOptions): Promise<ConnectResult>;
  status(): ConnectStatus;
  settled(): Promise<ConnectStatus>;
  cancel(): Promise<void>;
}

const UNDER_WAY = ["checking", "starting", "polling", "storing"];

/** What the service tells of. */
export interface PairingLinks {
  /** New credentials are stored; the handshake counts as approved once this is done. */
  paired(): Promise<void>;
  /** The configuration was changed for credentials that still hold. */
  connectionSaved(): Promise<void>;
}

/** Makes the service. */
export function createPairingService(ports: CloudServicePorts, links: PairingLinks): PairingService {
  const { store, clock, credentials: stored } = ports;
  let driver: Driver<PairingState, PairingEvent> | null = null;
  let target: Target | null = null;
  let waiting: ((result: ConnectResult) => void) | null = null;
  const settledWaiters = new Set<(status: ConnectStatus) => void>();
  /** Ends what is asked of the cloud for the present attempt. */
  let cancelAttempt = Promise.withResolvers<void>();
  let cancelRestart = () => {};

  const state = (): PairingState => driver?.state ?? loadPairingState(store) ?? initialPairingState;

  function status(): ConnectStatus {
    const { status: at, ticket, workspaceName, message } = state();
    return {
      status: at,
      code: ticket?.code ?? null,
      verification_url: ticket?.verificationUrl ?? null,
      workspace_name: workspaceName,
      message,
    };
  }

  function answerConnect(result: ConnectResult): void {
    waiting?.(result);
    waiting = null;
  }

  function settle(): void {
    const now = status();
    for (const resolve of settledWaiters) resolve(now);
    settledWaiters.clear();
  }

  /** The driver, begun anew a while after it failed: its `started` settles what was lost. */
  function running(): Driver<PairingState, PairingEvent> {
    if (driver !== null) return driver;
    const own = makeDriver();
    driver = own;
    own.run({ kind: "started" }).catch((error: unknown) => {
      ports.log.error("daemon.task_crashed", { task: "pairing", error: errorName(error) });
      if (driver !== own) return;
      driver = null;
      const message = "pairing failed on this machine: the credentials could not be stored";
      answerConnect({ kind: "failed", message });
      cancelRestart = clock.setTimer(RESTART_MS, () => void running());
    });
    return own;
  }

  function makeDriver(): Driver<PairingState, PairingEvent> {
    return ports.createDriver({
      transition: pairingTransition,
      initial: initialPairingState,
      store: createPairingStates(store),
      clock,
      timers: { poll: { kind: "poll_due" } },
      handlers: {
        cancel_handshake: () => {
          cancelAttempt.resolve();
          cancelAttempt = Promise.withResolvers<void>();
          return undefined;
        },
        ask_whoami: ({ attempt }) => ({ background: checkCredentials(attempt) }),
        start_pairing: ({ attempt }) => ({ background: startPairing(attempt, cancelAttempt.promise) }),
        show_code: ({ code, verificationUrl }) => {
          const expiresAt = state().ticket?.expiresAt ?? clock.now();
          answerConnect({ kind: "code", code, verificationUrl, expiresAt });
          return undefined;
        },
        poll_pairing: ({ attempt, pollToken }) => ({
          background: poll(attempt, pollToken, cancelAttempt.promise),
        }),
        store_credentials: (effect) => storeCredentials(effect),
        report_pairing: async ({ report }) => {
          const { workspaceName, message } = report;
          if (report.status === "connected") await saveHeldConnection();
          answerConnect(
            report.status === "connected" || report.status === "approved"
              ? { kind: "connected", workspaceName, message }
              : { kind: "failed", message },
          );
          settle();
          return undefined;
        },
        log: (effect) => writeLogEffect(ports.log, effect, "pairing"),
      },
    });
  }

  function currentTarget(): Target | null {
    if (target !== null) return target;
    const text = store.readMeta(TARGET_KEY);
    return text === null ? null : (JSON.parse(text) as Target);
  }

  const unreachable = { kind: "transport", reason: "aborted" } as const;

  async function checkCredentials(attempt: number): Promise<PairingEvent> {
    const credentials = await stored.read().catch(() => null);
    if (credentials === null) {
      const answer = { kind: "http", status: 401, retryAfterMs: null } as const;
      return { kind: "whoami_answered", attempt, answer, workspaceName: null };
    }
    const { answer, whoami } = await askWhoami(ports, credentials);
    if (whoami !== null) store.updateCloudState("cloud_state", { last_connected_at: clock.now() });
    return { kind: "whoami_answered", attempt, answer, workspaceName: whoami?.workspace.name ?? null };
  }

  async function startPairing(attempt: number, cancelled: Promise<void>): Promise<PairingEvent> {
    const at = currentTarget();
    if (at === null) return { kind: "start_answered", attempt, answer: unreachable };
    const start: PairingStart = {
      fingerprint: await ports.machine.fingerprint(),
      hostname: ports.machine.hostname,
      platform: ports.machine.platform,
      daemon_version: ports.version,
    };
    const reply = await askOpenly(ports, `${at.baseUrl}/v1/pairing/start`, {
      method: "POST",
      body: JSON.stringify(start),
      timeoutMs: 30_000,
      cancelled,
    });
    if (reply.kind === "transport") return { kind: "start_answered", attempt, answer: reply };
    const ticket = reply.status === 201 ? readAnswer(reply, pairingTicketSchema) : null;
    const answer = { kind: "http", status: reply.status, retryAfterMs: reply.retryAfterMs } as const;
    // The address is shown to a person and opened by a browser: it must be one, and of the cloud that was asked.
    if (ticket === null || !isAddress(ticket.verification_url)) {
      return { kind: "start_answered", attempt, answer: { ...answer, ticket: null } };
    }
    return {
      kind: "start_answered",
      attempt,
      answer: {
        ...answer,
        ticket: {
          code: ticket.code,
          pollToken: ticket.poll_token,
          verificationUrl: ticket.verification_url,
          expiresInMs: ticket.expires_in * 1000,
          intervalMs: ticket.interval * 1000,
        },
      },
    };
  }

  /** Asked to connect where that is so already, the configuration says it too: whichever address it named, or if it was off. */
  async function saveHeldConnection(): Promise<void> {
    const at = currentTarget();
    if (at === null || !at.isOwners) return;
    const { cloud } = await ports.settings();
    if (cloud.enabled && cloud.baseUrl === at.baseUrl) return;
    await ports.saveConnection({ enabled: true, baseUrl: at.baseUrl });
    await links.connectionSaved();
  }

  async function poll(attempt: number, pollToken: string, cancelled: Promise<void>): Promise<PairingEvent> {
    const at = currentTarget();
    const event = { kind: "poll_answered", attempt, random: ports.random() } as const;
    if (at === null) return { ...event, answer: unreachable };
    const reply = await askOpenly(ports, `${at.baseUrl}/v1/pairing/poll`, {
      method: "POST",
      body: JSON.stringify({ poll_token: pollToken }),
      timeoutMs: POLL_MS,
      cancelled,
    });
    if (reply.kind === "transport") return { ...event, answer: reply };
    const found = reply.status === 200 ? readAnswer(reply, pairingResultSchema) : null;
    const answer = { kind: "http", status: reply.status, retryAfterMs: reply.retryAfterMs } as const;
    if (found === null) return { ...event, answer: { ...answer, result: null } };
    const result =
      found.status === "approved"
        ? { status: found.status, syncToken: found.sync_token, workspace: found.workspace }
        : found;
    return { ...event, answer: { ...answer, result } };
  }

  async function storeCredentials(
    effect: Extract<PairingEffect, { kind: "store_credentials" }>,
  ): Promise<PairingEvent> {
    const at = currentTarget();
    if (at === null) throw new Error("nobody knows which cloud was paired with");
    const { attempt, syncToken, workspaceId, workspaceName } = effect;
    const credentials: CloudCredentials = {
      token: syncToken,
      origin: originOf(at.baseUrl),
      baseUrl: at.baseUrl,
      workspaceId,
      workspaceName,
      machineId: await ports.machine.fingerprint(),
      createdAt: clock.now(),
    };
    await stored.write(credentials);
    store.updateCloudState("cloud_state", {
      enabled: 1,
      workspace_id: workspaceId,
      workspace_name: workspaceName,
      machine_id: credentials.machineId,
      hostname: ports.machine.hostname,
      last_connected_at: clock.now(),
      api_key_mirror: await stored.seal(credentials),
    });
    if (at.fromNow) store.skipPending(clock.now());
    await ports.saveConnection({ enabled: true, baseUrl: at.baseUrl });
    await links.paired();
    return { kind: "credentials_stored", attempt };
  }

  return {
    start() {
      if (UNDER_WAY.includes(state().status)) running();
    },
    stop() {
      cancelAttempt.resolve();
      cancelRestart();
      answerConnect({ kind: "failed", message: "the daemon is stopping" });
      driver?.stop();
      driver = null;
    },
    async connect({ force = false, baseUrl, fromNow = false, byPage = false }) {
      const settings = await ports.settings();
      const resolved = baseUrl === undefined ? null : resolveBaseUrl({ flag: baseUrl });
      if (resolved?.warning) return { kind: "failed", message: resolved.warning };
      const url = resolved?.url ?? settings.cloud.baseUrl;
      if (url === null) return { kind: "no_base_url" };
      const credentials = await stored.read().catch(() => null);
      answerConnect({ kind: "failed", message: "replaced by a newer request to connect" });
      const isNew = credentials === null;
      target = { baseUrl: url, fromNow: fromNow || (byPage && isNew), isOwners: !byPage };
      store.writeMeta(TARGET_KEY, JSON.stringify(target));
      const hasCredentials = credentials !== null && credentials.origin === originOf(url);
      const asked = new Promise<ConnectResult>((resolve) => {
        waiting = resolve;
      });
      running().dispatch({ kind: "connect_requested", hasCredentials, force });
      return await asked;
    },
    status,
    settled() {
      if (!UNDER_WAY.includes(state().status)) return Promise.resolve(status());
      return new Promise((resolve) => settledWaiters.add(resolve));
    },
    async cancel() {
      if (!UNDER_WAY.includes(state().status)) return;
      const own = running();
      own.dispatch({ kind: "cancel_requested" });
      await own.idle();
      answerConnect({ kind: "failed", message: "cancelled" });
      settle();
    },
  };
}

function isAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
