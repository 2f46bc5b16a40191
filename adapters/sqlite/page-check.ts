import { Worker } from "node:worker_threads";
import { compileCacheEnvironment } from "../threads/thread-compile-cache.ts";

/** What the thread reports: what is damaged, or null. */
export interface PageCheckAnswer {
  readonly damage: string | null;
}

const workerUrl = (): URL =>
  new URL(`./page-check-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

/** Implements `SqliteOpener.checkPages`. A file that can't be read, or a system without threads left, counts as intact. */
export function checkPages(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    try {
      const worker = new Worker(workerUrl(), {
        name: "meter page check",
        workerData: path,
        env: compileCacheEnvironment(),
        resourceLimits: { maxYoungGenerationSizeMb: 4 },
      });
      worker.unref();
      worker.on("message", ({ damage }: PageCheckAnswer) => resolve(damage));
      worker.on("error", () => resolve(null));
      worker.on("exit", () => resolve(null));
    } catch {
      resolve(null);
    }
  });
}
