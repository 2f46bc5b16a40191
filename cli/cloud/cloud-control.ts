import { CredentialsError } from "../../adapters/cloud-credentials/credential-store.ts";
import type { LoopbackResponse } from "../../adapters/http/request-loopback.ts";
import type { Log } from "../../core/ports/log.ts";
import { type ConnectStatus, connectResponseSchema, connectStatusSchema } from "../../core/wire/loopback.ts";
import { parseWire } from "../../core/wire/parse.ts";
import type { DaemonStatus } from "../../daemon/api/daemon-status.ts";
import type { CloudService } from "../../daemon/cloud/cloud-service.ts";
import { createCloudService } from "../../daemon/cloud/create-cloud-service.ts";
import type { CloudSnapshot, ConnectOptions, ConnectResult } from "../../daemon/cloud/results.ts";
import type { Store } from "../../daemon/store/port/store.ts";
import { findDaemon, type RunningDaemon, readToken } from "../daemon/daemon-process.ts";
import { requestDaemon } from "../daemon/loopback-client.ts";
import { withStore } from "../home/open-store.ts";
import { prepareHome } from "../home/prepare-home.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { unexpectedDaemonResponse } from "../program/failures.ts";
import { createCloudPorts } from "./cloud-ports.ts";

/**
 * The cloud service as commands use it. If a daemon runs, calls go to the daemon, because its workers must learn of a pause
 * or a new connection; otherwise they run in this process.
 */
export interface CloudControl
  extends Pick<
    CloudService,
    | "state"
    | "pause"
    | "resume"
    | "syncNow"
    | "whoami"
    | "disconnect"
    | "reconcile"
    | "checkLedger"
    | "refreshRates"
  > {
  readonly daemon: RunningDaemon | null;
  readonly store: Store;
  /** Whether the running daemon can't store records; false if no daemon runs. */
  isCaptureFailing(): Promise<boolean>;
  connect(options: ConnectOptions): Promise<ConnectResult>;
  connectStatus(): Promise<ConnectStatus>;
  /** Cancels the pairing in progress, including one started by the daemon. */
  cancelConnect(): Promise<void>;
}

/** Timeout of a sync in milliseconds; a backlog may span years. */
const SYNC_TIMEOUT_MS = 3_600_000;
/** Timeout of any other request to the daemon's cloud API in milliseconds. */
const CLOUD_TIMEOUT_MS = 60_000;

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Opens the cloud control of a home, passes it to `work`, and closes it afterwards. */
export async function withCloud<T>(
  surroundings: {
    home: string;
    env: Readonly<Record<string, string | undefined>>;
    notice(text: string): void;
    toleratesInvalidConfig?: boolean;
    /** The work only reads, so nothing is created in the home. */
    readsOnly?: boolean;
  },
  work: (control: CloudControl) => Promise<T>,
): Promise<T> {
  const { home, env, notice, toleratesInvalidConfig = false, readsOnly = false } = surroundings;
  if (!readsOnly) prepareHome(home);
  const daemon = await findDaemon(home);
  return await withStore(
    home,
    { readOnly: false, create: readsOnly ? "memory" : true, busyTimeoutMs: 5_000 },
    async (store) => {
      const ports = await createCloudPorts({
        ...{ home, env, store, notice, toleratesInvalidConfig, log: silent },
        ratesChanged() {},
      });
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
    },
  );
}

/** Makes a running daemon read the configuration now instead of within a few seconds. */
export async function reloadDaemon(home: string): Promise<void> {
  const daemon = await findDaemon(home);
  if (daemon === null) return;
  const token = readToken(home);
  await requestDaemon(daemon, "/v1/cloud/reload", token, { method: "POST" }).catch(() => {});
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

/** Requests to the cloud API of a running daemon. */
interface DaemonCloudApi {
  send(
    method: "GET" | "POST",
    path: string,
    options?: { readonly timeoutMs?: number; readonly body?: unknown },
  ): Promise<LoopbackResponse>;
  /** Sends a request and parses the response. Throws unless it is 200. */
  read<Value>(
    method: "GET" | "POST",
    path: string,
    options?: { readonly timeoutMs?: number },
  ): Promise<Value>;
}

function createDaemonCloudApi(daemon: RunningDaemon, token: string): DaemonCloudApi {
  const send: DaemonCloudApi["send"] = (method, path, { timeoutMs = CLOUD_TIMEOUT_MS, body } = {}) =>
    requestDaemon(daemon, `/v1/cloud/${path}`, token, {
      method,
      timeoutMs,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return {
    send,
    read: async <Value>(...request: Parameters<DaemonCloudApi["read"]>) =>
      parseResponse<Value>(await send(...request)),
  };
}

function parseResponse<Value>({ status, body }: LoopbackResponse): Value {
  if (status !== 200)
    throw unexpectedDaemonResponse(`The daemon answered ${status}: ${problemIn(body).detail}`);
  return JSON.parse(body) as Value;
}

/** Creates the control that calls a running daemon. Returns null if the daemon has no cloud API, as in older versions. */
async function remoteControl(
  daemon: RunningDaemon,
  home: string,
  local: CloudControl,
): Promise<CloudControl | null> {
  const token = readToken(home);
  const api = createDaemonCloudApi(daemon, token);
  if ((await api.send("GET", "status")).status === 404) return null;
  /** Makes the daemon reload after this process has changed something itself. */
  const andReload = async <Value>(done: Promise<Value>): Promise<Value> => {
    const value = await done;
    await api.read("POST", "reload");
    return value;
  };
  return {
    ...local,
    daemon,
    async isCaptureFailing() {
      const { store } = parseResponse<DaemonStatus>(await requestDaemon(daemon, "/v1/status", token));
      return store.capturing === "failing";
    },
    state: () => api.read("GET", "status"),
    pause: () => api.read("POST", "pause"),
    resume: () => api.read("POST", "resume"),
    syncNow: () => api.read("POST", "sync", { timeoutMs: SYNC_TIMEOUT_MS }),
    async disconnect() {
      // Otherwise a code approved later would connect this machine again.
      await api.send("POST", "connect/cancel");
      return await andReload(local.disconnect());
    },
    refreshRates: (request) => andReload(local.refreshRates(request)),
    cancelConnect: async () => void (await api.read("POST", "connect/cancel")),
    connect: (options) => connectThrough(api, options),
    async connectStatus() {
      const answer = parseWire(connectStatusSchema, await api.read("GET", "connect/status"));
      if (!answer.ok) throw unexpectedDaemonResponse(INVALID_RESPONSE);
      return answer.value;
    },
  };
}

/** Starts pairing in the daemon. */
async function connectThrough(
  api: DaemonCloudApi,
  { force, baseUrl, fromNow }: ConnectOptions,
): Promise<ConnectResult> {
  const { status, body } = await api.send("POST", "connect", {
    body: { force: force === true, base_url: baseUrl, from_now: fromNow === true },
  });
  if (status === 200) {
    const answer = parseWire(connectResponseSchema, JSON.parse(body));
    if (!answer.ok) return { kind: "failed", message: unexpectedDaemonResponse(INVALID_RESPONSE).message };
    const { code, verification_url: verificationUrl } = answer.value;
    return { kind: "code", code, verificationUrl: verificationUrl ?? "", expiresAt: 0 };
  }
  const { code, detail } = problemIn(body);
  if (code === "no_base_url") return { kind: "no_base_url" };
  if (code !== "already_connected") return { kind: "failed", message: detail };
  const { workspaceName } = await api.read<CloudSnapshot>("GET", "status");
  return { kind: "connected", workspaceName, message: "still connected" };
}

const INVALID_RESPONSE = "The daemon sent an invalid response.";

/** Reads the code and the detail of an RFC 9457 problem. */
function problemIn(body: string): { code: string; detail: string } {
  try {
    const { code = "", detail = "" } = JSON.parse(body) as { code?: string; detail?: string };
    return { code, detail: detail || code };
  } catch {
    return { code: "", detail: body.slice(0, 200) };
  }
}
