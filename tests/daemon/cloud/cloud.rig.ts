import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import {
  type CloudClientOptions,
  createCloudClient,
} from "../../../adapters/cloud-client/create-cloud-client.ts";
import { createCredentialStore } from "../../../adapters/cloud-credentials/credential-store.ts";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { createDriver } from "../../../adapters/driver/create-driver.ts";
import { createOutbox } from "../../../adapters/outbox/create-outbox.ts";
import { resolveConfig } from "../../../core/operations/config/resolve-config.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { CloudCredentials, CredentialStore } from "../../../core/ports/cloud-credentials.ts";
import type { Log, LogEvent } from "../../../core/ports/log.ts";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import type { CloudService } from "../../../daemon/cloud/cloud-service.ts";
import { createCloudService } from "../../../daemon/cloud/create-cloud-service.ts";
import type { CloudServicePorts } from "../../../daemon/cloud/ports.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { opener } from "../store/open-sample-store.rig.ts";

/** A request that the scripted cloud received. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly headers: IncomingMessage["headers"];
  /** The JSON of the body; null if there was none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects, field by field.
  readonly body: any;
}

/** A response of the scripted cloud: a status with a body and headers, or any other treatment of the request. */
export type Answer =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  | ((seen: Seen, response: ServerResponse) => void);

/** A cloud that responds as a test states, over real HTTP. */
export interface ScriptedCloud {
  readonly url: string;
  readonly seen: Seen[];
  /** The next responses for paths with this prefix; after the last one, `otherwise` applies. */
  script(path: string, ...answers: Answer[]): void;
  /** The response if none is scripted. */
  otherwise(path: string, answer: Answer): void;
  /** The requests to the path. */
  to(path: string): Seen[];
  close(): Promise<void>;
}

export const WHOAMI = {
  workspace: { id: "w1", name: "Work", plan: "solo", store_prompt_content: true },
  machine: { id: "m1", hostname: "laptop" },
  user: { id: "u1", name: "Ann" },
  key: { prefix: "mtr_sync_…abcdef", scope: "sync", created_at: "2026-11-21T10:00:00.000Z" },
  server_time: "2026-11-21T10:00:00.000Z",
};

/** Accepts every record of a batch. */
export const takeAll: Answer = (seen, response) => {
  const accepted = seen.body.records.length;
  response.writeHead(200).end(JSON.stringify({ accepted, duplicates: 0, rejected: [] }));
};

/** Starts the cloud: whoami returns 200, batches are accepted, and bodies are stored. */
export async function startScriptedCloud(): Promise<ScriptedCloud> {
  const seen: Seen[] = [];
  const scripts: { path: string; answers: Answer[] }[] = [];
  const defaults = new Map<string, Answer>([
    ["/v1/daemon/whoami", { status: 200, body: WHOAMI }],
    ["/v1/requests/batch", takeAll],
    ["/v1/requests/", { status: 204 }],
    ["/v1/daemon/key", { status: 204 }],
  ]);
  const server = createServer(async (request, response) => {
    let text = "";
    try {
      for await (const part of request) text += part;
    } catch {
      return;
    }
    const path = request.url ?? "";
    const one: Seen = {
      method: request.method ?? "",
      path,
      authorization: request.headers.authorization,
      headers: request.headers,
      body: text === "" ? null : JSON.parse(text),
    };
    seen.push(one);
    const script = scripts.find((each) => path.startsWith(each.path) && each.answers.length > 0);
    const [, fallback] = [...defaults].find(([start]) => path.startsWith(start)) ?? [];
    const answer = script?.answers.shift() ?? fallback ?? { status: 404 };
    if (typeof answer === "function") return answer(one, response);
    response.writeHead(answer.status, { ...answer.headers });
    if (answer.body === undefined) response.end();
    else response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    seen,
    script: (path, ...answers) => void scripts.push({ path, answers }),
    otherwise: (path, answer) => {
      // Added at the front, so that a longer path takes precedence over the default of a shorter one.
      const rest = [...defaults].filter(([start]) => start !== path);
      defaults.clear();
      for (const [start, each] of [[path, answer] as const, ...rest]) defaults.set(start, each);
    },
    to: (path) => seen.filter((each) => each.path.startsWith(path)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A line of the log. */
interface Logged {
  readonly event: LogEvent;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A machine with its own home, and the cloud service on it. */
export interface Machine {
  readonly home: string;
  readonly store: Store;
  readonly service: CloudService;
  readonly ports: CloudServicePorts;
  readonly logged: Logged[];
  readonly notices: string[];
  /** The configuration in the form of the parsed file. Changes apply at the next reading. */
  config: Record<string, unknown>;
  close(): Promise<void>;
}

export const TOKEN = `mtr_sync_${"a".repeat(64)}`;

/** Creates a machine. It is paired with `baseUrl` unless `paired` is false. */
export async function createMachine(
  baseUrl: string,
  options: {
    paired?: boolean;
    token?: string;
    clock?: Clock;
    config?: Record<string, unknown>;
    timeouts?: CloudClientOptions["timeouts"];
    roots?: readonly string[];
    fingerprint?: string | null;
    home?: string;
    /** Wraps the store of the credentials. */
    wrapCredentials?: (stored: CredentialStore, store: Store) => CredentialStore;
  } = {},
): Promise<Machine> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), "meter-cloud-machine-"));
  const store = await openStore(opener, join(home, "meter.db"));
  const logged: Logged[] = [];
  const notices: string[] = [];
  const write = (event: LogEvent, fields: object) => void logged.push({ event, fields: { ...fields } });
  const log: Log = { debug: write, info: write, warn: write, error: write };
  const clock = options.clock ?? systemClock;
  const client = createCloudClient({
    clock,
    roots: () => options.roots ?? [],
    userAgent: "meter/test",
    ...(options.timeouts === undefined ? {} : { timeouts: options.timeouts }),
  });
  const credentials = createCredentialStore(home);
  const machine: Machine = {
    home,
    store,
    logged,
    notices,
    config: {
      ...options.config,
      cloud: {
        enabled: options.paired !== false,
        base_url: baseUrl,
        ...(options.config?.cloud as Record<string, unknown> | undefined),
      },
    },
    ports: {
      version: "0.4.0",
      store,
      client,
      credentials: options.wrapCredentials?.(credentials, store) ?? credentials,
      machine: {
        fingerprint: async () => options.fingerprint ?? "0".repeat(32),
        hostname: "laptop",
        platform: "linux",
      },
      outbox: createOutbox(home),
      clock,
      log,
      createDriver,
      sha256,
      idKey: () => Promise.resolve("1d".repeat(32)),
      // No jitter: the first backoff is 0.
      random: () => 0,
      settings: async () => resolveConfig(machine.config, { today: "2026-11-21" }).config,
      saveConnection: async ({ enabled, baseUrl: url }) => {
        const cloud = machine.config.cloud as Record<string, unknown>;
        machine.config.cloud = { ...cloud, enabled, ...(url === undefined ? {} : { base_url: url }) };
      },
      bundledRates: loadBundledRates,
      ratesChanged: () => {},
      notice: (message) => void notices.push(message),
    },
    get service() {
      return service;
    },
    async close() {
      await service.stop();
      await client.close();
      store.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
  const service = createCloudService(machine.ports);
  if (options.paired !== false) await credentials.write(credentialsFor(baseUrl, options.token));
  return machine;
}

export function credentialsFor(baseUrl: string, token: string = TOKEN): CloudCredentials {
  return {
    token,
    origin: new URL(baseUrl).origin,
    baseUrl,
    workspaceId: "w1",
    workspaceName: "Work",
    machineId: "0".repeat(32),
    promptHashKey: null,
    createdAt: Date.UTC(2026, 10, 21),
  };
}

/** Polls until the condition holds, for a long time, since the machine may be busy. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting: ${what}`);
    await delay(5);
  }
}
