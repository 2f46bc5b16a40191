/** The thread that reads procfs, so that the threads that relay bytes or serve requests are not blocked. */
import { parentPort } from "node:worker_threads";
import { collectGarbageAtRest } from "../threads/collect-at-rest.ts";
import { flushCompileCacheLater } from "../threads/thread-compile-cache.ts";
import { createLinuxCallers } from "./linux.ts";
import { serveLookups } from "./serve-lookups.ts";
import { createSocketDiagnosis } from "./socket-diag.ts";
import { createSocketQuery } from "./socket-query.ts";

if (parentPort === null) throw new Error("lookup-worker runs in a worker thread only");

flushCompileCacheLater();
collectGarbageAtRest();
const stopped = new AbortController();
const { signal } = stopped;
const callers = createLinuxCallers({
  diagnose: createSocketDiagnosis({ signal }),
  query: createSocketQuery({ signal }),
});
serveLookups(parentPort, callers, () => stopped.abort());
