import { Buffer } from "node:buffer";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request as forward, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { databaseFile } from "../../cli/home/database-file.ts";
import type { Millis } from "../../core/values/time.ts";
import { type CloudProcess, startCloudProcess } from "../cloud/kit/cloud-process.ts";
import { type Person, signUp } from "../cloud/kit/person.ts";
import { createCertificateAuthority } from "../simulation/certificate-authority.ts";
import { createParentProxy, type ParentProxy } from "../simulation/mod.ts";
import { connectMeter } from "./connect-meter.rig.ts";
import {
  createHome,
  type MeterProcess,
  removeHome,
  simulationConfig,
  startMeter,
} from "./meter-process.rig.ts";

/** Everything that a provider received on its socket, decrypted. */
interface EchoProvider {
  readonly hosts: readonly string[];
  readonly port: number;
  readonly plainPort: number;
  readonly caFile: string;
  readonly received: Buffer[];
  close(): Promise<void>;
}

/** Returns the number of the shape that a request states. */
const shapeOf = (request: IncomingMessage) => Number(request.headers["x-shape"] ?? -1);

/** Providers that answer each request with the bytes that `replyTo` has for its shape. */
async function startEchoProvider(
  folder: string,
  replyTo: (shape: number) => readonly Buffer[],
  onWebSocket: (text: string) => readonly string[],
): Promise<EchoProvider> {
  const hosts = ["api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"];
  const authority = await createCertificateAuthority();
  const caFile = join(folder, "providers.pem");
  writeFileSync(caFile, authority.certificatePem);
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createTlsServer({
    SNICallback: (name, done) =>
      void authority.secureContext(name).then(
        (context) => done(null, context),
        (error: Error) => done(error),
      ),
  });
  server.on("secureConnection", (socket) => {
    sockets.add(socket);
    // Added after the parser's own listener, so that both receive everything.
    socket.on("data", (bytes: Buffer) => received.push(bytes));
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
  });
  server.on("request", async (request) => {
    try {
      for await (const _ of request);
      for (const piece of replyTo(shapeOf(request))) {
        await new Promise((resolve) => request.socket.write(piece, resolve));
        await setImmediate();
      }
      request.socket.end();
    } catch {
      request.socket.destroy();
    }
  });
  const sessions = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) =>
    sessions.handleUpgrade(request, socket, head, (session) =>
      session.on("message", (data) => {
        for (const answer of onWebSocket(String(data))) session.send(answer);
      }),
    ),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    hosts,
    port,
    plainPort: port,
    caFile,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** One exchange between daemon and cloud. */
interface WireExchange {
  readonly method: string;
  readonly path: string;
  /** Names and values, except those of the token. */
  readonly headers: string;
  readonly body: Buffer;
  readonly status: number;
}

/** A relay in front of the cloud that records what passes. */
interface WireRecorder {
  readonly url: string;
  readonly seen: WireExchange[];
  close(): Promise<void>;
}

/** Starts the relay. */
async function startWireRecorder(target: string): Promise<WireRecorder> {
  const seen: WireExchange[] = [];
  const server = createServer(async (request, response) => {
    try {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const body = Buffer.concat(parts);
      const { method = "", url: path = "", headers } = request;
      // A new connection for each request: the cloud may close an idle one just as it is used again.
      const onward = forward(`${target}${path}`, { method, headers, agent: false }, (answer) => {
        const { authorization: _, ...others } = headers;
        seen.push({ method, path, headers: JSON.stringify(others), body, status: answer.statusCode ?? 0 });
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on("error", () => response.destroy());
      onward.end(body);
    } catch {
      response.destroy();
    }
  });
  // Longer than any client keeps an idle connection.
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Providers, a daemon and a cloud, connected through the recorder. */
export interface CanaryRig {
  /** When it was started, before any canary was sent. */
  readonly startedAt: Millis;
  readonly folder: string;
  readonly home: string;
  readonly provider: EchoProvider;
  readonly parent: ParentProxy;
  readonly cloud: CloudProcess;
  readonly wire: WireRecorder;
  readonly person: Person;
  readonly meter: MeterProcess;
  /** The rows of the local database's tables, those of bodies apart from the others. */
  localRows(): { bodies: unknown[]; others: unknown[] };
  close(): Promise<void>;
}

/**
 * Starts all of them, and pairs daemon and cloud. `parentPassword` is the configured password of the company's proxy.
 */
export async function createCanaryRig(
  given: { env: Readonly<Record<string, string>>; parentPassword: string },
  ...answers: Parameters<typeof startEchoProvider> extends [string, ...infer Rest] ? Rest : never
): Promise<CanaryRig> {
  const startedAt = Date.now();
  const folder = mkdtempSync(join(tmpdir(), "meter-canary-"));
  const provider = await startEchoProvider(folder, ...answers);
  const parent = await createParentProxy(provider, { credentials: `meter:${given.parentPassword}` });
  const cloudHome = join(folder, "cloud");
  mkdirSync(cloudHome);
  const env = { METER_CLOUD_LIMITS_KEY_PER_MINUTE: "100000", METER_CLOUD_LOG_LEVEL: "debug", ...given.env };
  const cloud = await startCloudProcess({
    home: cloudHome,
    env,
    withDatabase: given.env.DATABASE_URL === undefined,
  });
  const wire = await startWireRecorder(cloud.url);
  const person = await signUp(cloud.url, { name: "Ann", email: "ann@example.com" });
  const url = parent.url.replace("://", `://meter:${given.parentPassword}@`);
  const home = createHome(simulationConfig({ url }, provider), join(folder, "home"));
  const meter = await startMeter(home);
  await connectMeter(home, wire.url, person);
  return {
    startedAt,
    folder,
    home,
    provider,
    parent,
    cloud,
    wire,
    person,
    meter,
    localRows() {
      const db = new DatabaseSync(databaseFile(home), { readOnly: true });
      try {
        const tables = db.prepare("select name from sqlite_schema where type = 'table'").all();
        const names = tables.map(({ name }) => String(name));
        const rows = (table: string) => db.prepare(`select * from "${table}"`).all();
        return {
          bodies: names.filter(isOfBodies).flatMap(rows),
          others: names.filter((name) => !isOfBodies(name)).flatMap(rows),
        };
      } finally {
        db.close();
      }
    },
    async close() {
      await meter.stop();
      await person.close();
      await wire.close();
      await cloud.end("SIGKILL");
      await parent.close();
      await provider.close();
      removeHome(folder);
    },
  };
}

/** Whether a local table is one of those that hold bodies. */
const isOfBodies = (table: string) => /^request_bod(?:ies|y_contents)$/.test(table);

/** Returns the token of the daemon. */
export function readToken(home: string): string {
  return (JSON.parse(readFileSync(join(home, "cloud-credentials.json"), "utf8")) as { token: string }).token;
}
