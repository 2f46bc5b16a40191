import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import {
  createServer as createPlainServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificateAuthority } from "../simulation/certificate-authority.ts";

/** A request that a scripted provider received. */
export interface ScriptedRequest {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The JSON body; empty if there is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** An answer: JSON, or a stream of events. */
export interface ScriptedAnswer {
  readonly status?: number;
  readonly json?: unknown;
  /** The `data` of each event, with the name of the event if it has one. */
  readonly events?: readonly { readonly event?: string; readonly data: unknown }[];
  /** The last event waits for it. */
  readonly beforeLast?: Promise<void>;
}

/** Providers whose responses a test states. Agents reach them through `createParentProxy()`. */
export interface ScriptedProvider {
  readonly hosts: readonly string[];
  readonly port: number;
  readonly plainPort: number;
  /** The path of the authority's certificate. */
  readonly caFile: string;
  readonly requests: ScriptedRequest[];
  close(): void;
}

/**
 * Starts providers on loopback, with certificates for their hosts. With `webSockets`, they accept each WebSocket and close it at its
 * first message.
 */
export async function createScriptedProvider(
  hosts: readonly string[],
  answer: (request: ScriptedRequest) => ScriptedAnswer,
  { webSockets = false }: { readonly webSockets?: boolean } = {},
): Promise<ScriptedProvider> {
  const authority = await createCertificateAuthority("Scripted providers root");
  const folder = mkdtempSync(join(tmpdir(), "scripted-"));
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, authority.certificatePem);
  const requests: ScriptedRequest[] = [];
  const serve = (received: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    received.on("data", (chunk: Buffer) => chunks.push(chunk));
    received.on("end", () => {
      const request: ScriptedRequest = {
        host: (received.headers.host ?? "").split(":")[0] ?? "",
        method: received.method ?? "",
        path: received.url ?? "",
        headers: received.headers,
        body: parse(Buffer.concat(chunks).toString("utf8")),
      };
      requests.push(request);
      void send(response, answer(request));
    });
  };
  const server = createServer(
    {
      SNICallback: (name, done) => {
        authority.secureContext(name).then((context) => done(null, context), done);
      },
    },
    serve,
  );
  const plain = createPlainServer(serve);
  if (webSockets)
    server.on("upgrade", ({ headers }, socket) => {
      const key = `${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
      socket.on("error", () => socket.destroy());
      socket.on("data", () => socket.destroy());
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
          `Sec-WebSocket-Accept: ${createHash("sha1").update(key).digest("base64")}\r\n\r\n`,
      );
    });
  await Promise.all(
    [server, plain].map((each) => new Promise<void>((resolve) => each.listen(0, "127.0.0.1", resolve))),
  );
  return {
    hosts,
    caFile,
    requests,
    port: (server.address() as AddressInfo).port,
    plainPort: (plain.address() as AddressInfo).port,
    close() {
      for (const each of [server, plain]) {
        each.close();
        each.closeAllConnections();
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

async function send(
  response: ServerResponse,
  { status = 200, json, events, beforeLast }: ScriptedAnswer,
): Promise<void> {
  if (events === undefined) {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json ?? {}));
    return;
  }
  response.writeHead(status, { "content-type": "text/event-stream" });
  for (const { event, data } of events) {
    if (data === events.at(-1)?.data) await beforeLast;
    response.write(`${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`);
  }
  response.end();
}
