import { DatabaseError } from "../../../core/ports/postgres.ts";
import { changedEngine } from "./changed-engine.ts";
import type { Engine } from "./engines.ts";

/** When a process dies: after how many more commits. Infinity: never. */
export interface Crash {
  commitsLeft: number;
  /** The commits since the last reset. */
  commits: number;
}

/** An engine whose connections fail after a number of commits, as those of a process that was killed. */
export function crashingEngine(engine: Engine, crash: Crash): Engine {
  return changedEngine(engine, (driver) => ({
    beginTransaction: async (connection, settings) => {
      if (crash.commitsLeft <= 0) throw new DatabaseError("unavailable", { message: "the process died" });
      await driver.beginTransaction(connection, settings);
    },
    commitTransaction: async (connection) => {
      await driver.commitTransaction(connection);
      crash.commits += 1;
      crash.commitsLeft -= 1;
    },
  }));
}
