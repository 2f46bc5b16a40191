import { CredentialsError } from "../adapters/cloud-credentials/mod.ts";
import type { Log } from "../core/ports/log.ts";
import { type ConnectStatus, connectAnswerSchema, connectStatusSchema, parseWire } from "../core/wire/mod.ts";
import {
  type CloudService,
  type CloudSnapshot,
  type ConnectOptions,
  type ConnectResult,
  createCloudService,
} from "../daemon/cloud/mod.ts";
import type { DaemonStatus } from "../daemon/daemon-status.ts";
import type { Store } from "../daemon/store/mod.ts";
import { createCloudPorts } from "./cloud-ports.ts";
import { findDaemon, type RunningDaemon, readToken } from "./daemon-process.ts";
import { CommandFailure } from "./exit-codes.ts";
import { prepareHome } from "./home.ts";
import { askDaemon, type LoopbackAnswer } from "./loopback-client.ts";
import { withStore } from "./open-store.ts";

/**
 * The cloud's side, for a command: by the daemon where one runs, whose workers must hear of a pause or a connection, else
 * in this process.
 */
export interface CloudControl
  extends Pick<
    CloudService,
    "state" | "pause" | "resume" | "syncNow" | "whoami" | "disconnect" | "reconcile" | "refreshRates"
  > {
  readonly daemon: RunningDaemon | null;
  readonly store: Store;
  /** False where no daemon captures anything. */
  isCaptureFailing(): Promise<boolean>;
  connect(options: ConnectOptions): Promise<ConnectResult>;
  connectStatus(): Promise<ConnectStatus>;
  /** Gives the handshake up, also a daemon's. */
  cancelConnect(): Promise<void>;
}

/** A sync may have years to send, milliseconds. */
const SYNC_WITHIN_MS = 3_600_000;
/** A start of the pairing, or a whoami, milliseconds. */
const CLOUD_WITHIN_MS = 60_000;

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Does the work with a control of this home, and closes what was opened. */
export async function withCloud<T>(
  surroundings: {
    home: string;
    env: Readonly<Record<string, string | undefined>>;
    notice(text: string): void;
  },
  work: (control: CloudControl) => Promise<T>,
): Promise<T> {
  const { home, env, notice } = surroundings;
  prepareHome(home);
  const daemon = await findDaemon(home);
  return await withStore(home, { readOnly: false, create: true, busyTimeoutMs: 5_000 }, async (store) => {
    const ports = await createCloudPorts({ home, env, store, log: silent, ratesChanged() {}, notice });
    const service = createCloudService(ports);
    try {
      const local = localControl(service, store);
      const remote = daemon === null ? null : await remoteControl(daemon, home, local);
      return await work(remote ?? local);
    } catch (cause) {
      if (cause instanceof CredentialsError) throw new CommandFailure(cause.message);
      throw cause;
    } finally {
      await service.stop();
      await ports.client.close();
    }
  });
}

/** Lets a running daemon read a changed configuration at once; without this it looks every few seconds. */
export async function reloadDaemon(home: string): Promise<void> {
  const daemon = await findDaemon(home);
  if (daemon === null) return;
  const token = readToken(home);
  await askDaemon(daemon, "/v1/cloud/reload", token, { method: "POST" }).catch(() => {});
}

function localControl(service: CloudService, store: Store): CloudControl {
  return {
    ...service,
    daemon: null,
    store,
    isCaptureFailing: async () => false,
    connect: (options) => service.connect(options),
    connectStatus: async () => service.connectStatus(),
  };
}

/** Null where the daemon knows nothing of a cloud: one of another version. */
async function remoteControl(
  daemon: RunningDaemon,
  home: string,
  local: CloudControl,
): Promise<CloudControl | null> {
  const token = readToken(home);
  const ask = (method: "GET" | "POST", path: string, timeoutMs = CLOUD_WITHIN_MS, body?: unknown) =>
    askDaemon(daemon, `/v1/cloud/${path}`, token, {
      method,
      timeoutMs,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const read = async <Value>(answer: Promise<LoopbackAnswer>): Promise<Value> => {
    const { status, body } = await answer;
    if (status !== 200) throw new CommandFailure(`the daemon answered ${status}: ${problemIn(body).detail}`);
    return JSON.parse(body) as Value;
  };
  if ((await ask("GET", "status")).status === 404) return null;
  /** Of what this process does by itself the daemon hears afterwards. */
  const andReload = async <Value>(done: Promise<Value>): Promise<Value> => {
    const value = await done;
    await read(ask("POST", "reload"));
    return value;
  };
  return {
    ...local,
    daemon,
    async isCaptureFailing() {
      const { store } = await read<DaemonStatus>(askDaemon(daemon, "/v1/status", token));
      return store.capturing === "failing";
    },
    state: () => read<CloudSnapshot>(ask("GET", "status")),
    pause: () => read(ask("POST", "pause")),
    resume: () => read(ask("POST", "resume")),
    syncNow: () => read(ask("POST", "sync", SYNC_WITHIN_MS)),
    async disconnect() {
      // Else a code that is approved afterwards would connect it again.
      await ask("POST", "connect/cancel");
      return await andReload(local.disconnect());
    },
    refreshRates: () => andReload(local.refreshRates()),
    cancelConnect: async () => void (await read(ask("POST", "connect/cancel"))),
    async connect({ force, baseUrl, fromNow }) {
      const options = { force: force === true, base_url: baseUrl, from_now: fromNow === true };
      const { status, body } = await ask("POST", "connect", CLOUD_WITHIN_MS, options);
      if (status === 200) {
        const answer = parseWire(connectAnswerSchema, JSON.parse(body));
        if (!answer.ok) return { kind: "failed", message: "the daemon's answer is not understood" };
        const { code, verification_url: verificationUrl } = answer.value;
        return { kind: "code", code, verificationUrl: verificationUrl ?? "", expiresAt: 0 };
      }
      const { code, detail } = problemIn(body);
      if (code === "no_base_url") return { kind: "no_base_url" };
      if (code === "already_connected") {
        const { workspaceName } = await read<CloudSnapshot>(ask("GET", "status"));
        return { kind: "connected", workspaceName, message: "still connected" };
      }
      return { kind: "failed", message: detail };
    },
    async connectStatus() {
      const answer = parseWire(connectStatusSchema, await read(ask("GET", "connect/status")));
      if (!answer.ok) throw new CommandFailure("the daemon's answer is not understood");
      return answer.value;
    },
  };
}

/** The code and the words of an RFC 9457 problem. */
function problemIn(body: string): { code: string; detail: string } {
  try {
    const { code = "", detail = "" } = JSON.parse(body) as { code?: string; detail?: string };
    return { code, detail: detail || code };
  } catch {
    return { code: "", detail: body.slice(0, 200) };
  }
}
