// The smallest program with the meter's threads on Node: a main thread with SQLite and an HTTP server, a thread that trusts the
// system's certificates for TLS, and an idle thread in place of the one that looks up callers. It is written in JavaScript,
// because the compiler that strips types takes about 15 MiB in each thread.
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { createSecureContext, getCACertificates } from "node:tls";
import { isMainThread, Worker, workerData } from "node:worker_threads";

if (isMainThread) {
  new DatabaseSync(":memory:").exec("CREATE TABLE requests (id TEXT PRIMARY KEY) STRICT");
  createHttpServer((_, response) => response.end()).listen(0, "127.0.0.1");
  // Reading the global loads Node's fetch, whose classes the API's framework extends.
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
