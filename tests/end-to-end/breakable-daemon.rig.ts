// A daemon whose parts can be broken while it runs: the file `break` in its home names the part. It is composed as by
// `meter start --foreground`, for tests only.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { openCertificateAuthority } from "../../adapters/certificates/certificate-authority.ts";
import { loadRootCertificates } from "../../adapters/certificates/root-certificates.ts";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { createZlibMessageInflater } from "../../adapters/content-decoder/message-inflater.ts";
import { createZlibDecoder } from "../../adapters/content-decoder/zlib.ts";
import { createRandomBytes, sha256Hex } from "../../adapters/crypto/node-crypto.ts";
import { createDriver } from "../../adapters/driver/create-driver.ts";
import { serve } from "../../adapters/http/serve.ts";
import { createLog } from "../../adapters/log/create-log.ts";
import { openLogFile } from "../../adapters/log/rotating-log-file.ts";
import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { stateFile, tokenFile } from "../../cli/daemon/daemon-process.ts";
import { databaseFile } from "../../cli/home/database-file.ts";
import { prepareHome } from "../../cli/home/prepare-home.ts";
import { createRegistry } from "../../core/metering/usage/registry.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import { createRedact } from "../../core/privacy/redaction/redact.ts";
import { startDaemon } from "../../daemon/start-daemon.ts";
import { openStore } from "../../daemon/store/open-store.ts";

/** The parts that can be broken. */
export type Breakage =
  | "registry"
  | "decoder"
  | "usage reader"
  | "prompt hash"
  | "price book"
  | "attribution"
  | "redaction"
  | "main thread";

/** The message of the errors, which must not appear in the log. */
export const privateWords = "the prompt was: tell nobody";

const [home = "", parentPort = "", caFile = ""] = process.argv.slice(2);

function isBroken(part: Breakage): boolean {
  const file = join(home, "break");
  return existsSync(file) && readFileSync(file, "utf8") === part;
}

function throwIfBroken(part: Breakage): void {
  if (isBroken(part)) throw new TypeError(privateWords);
}

/** Bytes that make their reader throw in the turn in which they are delivered, as a fault of its own would. */
function unreadable(bytes: Uint8Array): Uint8Array {
  return Object.defineProperty(bytes.slice(), "length", {
    get() {
      throw new TypeError(privateWords);
    },
  });
}

async function main(): Promise<void> {
  prepareHome(home);
  const logFile = openLogFile(join(home, "logs", "daemon.log"));
  const registry = createRegistry();
  const prices = createPriceBook(loadBundledRates());
  const redact = createRedact();
  const authority = openCertificateAuthority({
    directory: join(home, "ca"),
    hosts: registry.hosts,
    now: Date.now(),
  });
  const parent = { host: "127.0.0.1", port: Number(parentPort), tls: false, authorization: null };
  const loopbackToken = "0".repeat(64);
  writeFileSync(tokenFile(home), loopbackToken, { mode: 0o600 });
  const asleep = new Int32Array(new SharedArrayBuffer(4));
  const daemon = await startDaemon(
    {
      version: "0.0.0-breakable",
      log: createLog(logFile, "info"),
      store: await openStore(createSqliteOpener(), databaseFile(home)),
      registry: {
        ...registry,
        match(request) {
          throwIfBroken("registry");
          return registry.match(request);
        },
      },
      prices() {
        throwIfBroken("price book");
        return prices;
      },
      attribution: () => ({
        async attribute() {
          throwIfBroken("attribution");
          return {
            project: "breakable",
            tier: "header",
            workdir: null,
            client: null,
            bodyCaptureRefused: false,
          };
        },
      }),
      redact(text) {
        throwIfBroken("redaction");
        return redact(text);
      },
      createDecoder(encoding, sink) {
        throwIfBroken("decoder");
        return createZlibDecoder(encoding, {
          ...sink,
          bytes(bytes) {
            sink.bytes(isBroken("usage reader") ? unreadable(bytes) : bytes);
          },
        });
      },
      createMessageInflater: createZlibMessageInflater,
      tokenCounter: () => null,
      sha256Hex(text) {
        throwIfBroken("prompt hash");
        while (isBroken("main thread")) Atomics.wait(asleep, 0, 0, 10);
        return sha256Hex(text);
      },
      randomBytes: createRandomBytes(),
      now: Date.now,
      clock: systemClock,
      createDriver,
      atTurnEnd: setImmediate,
      later: (work, delayMs) => void setTimeout(work, delayMs),
      owners: null,
      equalSecrets: (one, other) => one === other,
      serve,
    },
    {
      proxy: {
        host: "127.0.0.1",
        port: 0,
        ownPorts: [],
        providerHosts: registry.hostPatterns,
        gatewayRoutes: [],
        authority,
        roots: loadRootCertificates(caFile),
        parentProxies: { https: parent, http: parent, noProxy: [] },
        proxyPassword: null,
      },
      api: { host: "127.0.0.1", port: 0, allowedOrigins: new Set() },
      loopbackToken,
      maxBodyBytes: 524_288,
      bodyRetentionDays: 90,
      warnings: [],
    },
  );
  writeFileSync(
    stateFile(home),
    JSON.stringify({
      pid: process.pid,
      version: "0.0.0-breakable",
      proxy_port: daemon.proxyPort,
      api_port: daemon.apiPort,
      started_at: daemon.health().started_at,
    }),
  );
  await new Promise((resolve) => process.once("SIGTERM", resolve));
  await daemon.stop(5_000);
  await logFile.close();
}

if (import.meta.main) await main();
