// The least memory that a program built as the meter takes on Node: a main thread with SQLite and an HTTP server, a thread
// that terminates TLS and trusts the system's certificates, and a thread that looks callers up. It does nothing else.
// JavaScript, because the compiler of types takes some 15 MiB in each thread.
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { createSecureContext, getCACertificates } from "node:tls";
import { isMainThread, Worker, workerData } from "node:worker_threads";

if (isMainThread) {
  new DatabaseSync(":memory:").exec("CREATE TABLE requests (id TEXT PRIMARY KEY) STRICT");
  createHttpServer((_, response) => response.end()).listen(0, "127.0.0.1");
  // The global starts Node's fetch, whose classes the API's framework extends.
  if (globalThis.Response === undefined) throw new Error("this runtime has no fetch");
  for (const name of ["tls", "lookup"])
    new Worker(new URL(import.meta.url), {
      workerData: name,
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
  setTimeout(() => process.send?.("ready"), 3_000);
} else if (workerData === "tls") {
  const ca = [...getCACertificates("system"), ...getCACertificates("bundled")];
  createSecureContext({ ca });
  createServer().listen(0, "127.0.0.1");
} else {
  setInterval(() => {}, 60_000);
}
