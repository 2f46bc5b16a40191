import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LOG_EVENTS } from "../../core/ports/log.ts";
import { readSource, sourceFiles, withoutComments } from "./source-files.rig.ts";

/** The two that are written as one name with a direction. Source: docs/specification.md#log-events: `upload_truncated_*`. */
const madeUp = {
  upload_truncated_request: "upload_truncated_$",
  upload_truncated_response: "upload_truncated_$",
};

describe("the events of the daemon's log", () => {
  const code = ["core", "adapters", "daemon", "cli"]
    .flatMap(sourceFiles)
    .filter((path) => path !== "core/ports/log.ts")
    .map((path) => withoutComments(readSource(path)))
    .join("\n");

  for (const name of Object.keys(LOG_EVENTS)) {
    it(`are written by the code: ${name}`, () => {
      const [opening, text] = name in madeUp ? ["`", madeUp[name as keyof typeof madeUp]] : ['"', `${name}"`];
      // The record writer's outcomes are named where they are made, and `store.` is put before them.
      const outcome = name.startsWith("store.") ? `kind: "${name.slice("store.".length)}"` : null;
      assert.ok(code.includes(`${opening}${text}`) || (outcome !== null && code.includes(outcome)));
    });
  }
});
