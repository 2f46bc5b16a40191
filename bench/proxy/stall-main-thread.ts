// Preloaded into the daemon by `bench:memory -- --stall SECONDS`: alternately stops its main thread for SECONDS and lets it run for as long.
// The relay, which the daemon starts with the same options, is not stopped.
import process from "node:process";
import { isMainThread } from "node:worker_threads";

const stallMs = Number(process.env.BENCH_STALL_SECONDS ?? 0) * 1_000;
if (isMainThread && process.send === undefined && stallMs > 0) {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.wait(cell, 0, 0, stallMs), stallMs * 2).unref();
}
