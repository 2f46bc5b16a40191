import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { connect as connectTls, createServer, type TLSSocket } from "node:tls";
import { openCertificateAuthority } from "../../adapters/certificates/certificate-authority.ts";
import { createLeafIssuer } from "../../adapters/certificates/leaf-issuer.ts";
import { memoryLimits } from "../../core/operations/install/memory-limits.ts";
import { createHome, type MeterProcess, startMeter, waitFor } from "./meter-process.rig.ts";
import { askForTunnel, receive } from "./raw-client.rig.ts";

/** A provider that stores nothing of a request and responds with the hash of its body. */
interface HashingProvider {
  readonly port: number;
  readonly caFile: string;
  /** The body bytes received so far. */
  receivedBytes(): number;
  close(): Promise<void>;
}

const answerTo = (sha256: string) =>
  JSON.stringify({
    id: `msg_${sha256.slice(0, 24)}`,
    type: "message",
    model: "claude-haiku-4-5-20251001",
    content: [{ type: "text", text: sha256 }],
    usage: { input_tokens: 100, output_tokens: 20 },
  });

export async function createHashingProvider(folder: string): Promise<HashingProvider> {
  const now = Date.now();
  const authority = openCertificateAuthority({ directory: folder, hosts: ["localhost"], now });
  const leaf = createLeafIssuer(authority).issue("localhost", now);
  let received = 0;
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (socket) => {
    const hash = createHash("sha256");
    let head = "";
    let left = -1;
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      let body = bytes;
      if (left === -1) {
        head += bytes.toString("latin1");
        const end = head.indexOf("\r\n\r\n");
        if (end === -1) return;
        left = Number(/content-length: (\d+)/i.exec(head)?.[1]);
        body = Buffer.from(head.slice(end + 4), "latin1");
      }
      hash.update(body);
      received += body.length;
      left -= body.length;
      if (left > 0) return;
      const answer = answerTo(hash.digest("hex"));
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${answer.length}\r\nConnection: close\r\n\r\n${answer}`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    caFile: authority.certificatePath,
    receivedBytes: () => received,
    async close() {
      server.close();
      await once(server, "close");
    },
  };
}

/** Starts a daemon, with the allocator's limits that `meter start` gives it, in front of the provider. */
export function startMeterFor(provider: HashingProvider): Promise<MeterProcess> {
  const home = createHome([
    "[proxy]",
    "port = 0",
    `extra_ca = ${JSON.stringify(provider.caFile)}`,
    "[api]",
    "port = 0",
    "[[providers]]",
    'host = "localhost"',
    `port = ${provider.port}`,
    'provider = "anthropic"',
    'api = "anthropic"',
  ]);
  return startMeter(home, { env: memoryLimits });
}

/** Simultaneous requests. All others wait only for their last bytes. */
const SENT_AT_ONCE = 4;

/**
 * Sends this number of requests so that all are open except for their last bytes before the first is completed. Returns how
 * many were answered with exactly the provider's bytes, after the provider received exactly the client's bytes.
 */
export async function sendTogether(
  meter: MeterProcess,
  provider: HashingProvider,
  count: number,
  bodyBytes: number,
): Promise<number> {
  const filler = randomBytes(bodyBytes >> 1).toString("hex");
  const open: { socket: TLSSocket; rest: string; expected: string; answer: ReturnType<typeof receive> }[] =
    [];
  let next = 0;
  let sentBytes = 0;
  const sender = async () => {
    for (let at = next++; at < count; at = next++) {
      const body = `{"model":"claude-haiku-4-5","messages":[{"role":"user","content":"${at} ${filler}"}],"max_tokens":9}`;
      const { socket: transport } = await askForTunnel(meter.proxyPort, `localhost:${provider.port}`);
      const socket = connectTls({ socket: transport, servername: "localhost", ca: meter.caPem });
      await once(socket, "secureConnect");
      const answer = receive(socket);
      const head = `POST /v1/messages HTTP/1.1\r\nHost: localhost:${provider.port}\r\nContent-Length: ${body.length}\r\n\r\n`;
      await new Promise((resolve) => socket.write(head + body.slice(0, -20), resolve));
      sentBytes += body.length - 20;
      const expected = answerTo(createHash("sha256").update(body).digest("hex"));
      open.push({ socket, rest: body.slice(-20), expected, answer });
    }
  };
  await Promise.all(Array.from({ length: SENT_AT_ONCE }, sender));
  await waitFor("the provider to have all but the last bytes", () => provider.receivedBytes() === sentBytes);
  for (const { socket, rest } of open) socket.write(rest);
  const answers = await Promise.all(open.map(({ answer }) => answer.over));
  return answers.filter(({ bytes }, at) => {
    const text = bytes.toString("latin1");
    return text.slice(text.indexOf("\r\n\r\n") + 4) === open[at]?.expected;
  }).length;
}

/** The most resident memory of a process, in MiB. */
export function peakResidentMiB(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}
