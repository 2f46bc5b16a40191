import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLog } from "../../../adapters/log/mod.ts";

function collect(level: "debug" | "info" | "warn" | "error") {
  const lines: string[] = [];
  return { lines, log: createLog({ write: (line) => lines.push(line) }, level) };
}

describe("createLog()", () => {
  it("writes one JSON line an event, with time, level, name and fields and nothing else", () => {
    const { lines, log } = collect("info");
    log.warn("capture.unreadable", { host: "api.openai.com", reason: "obs_fold" });
    assert.equal(lines.length, 1);
    assert.ok(lines[0]?.endsWith("}\n"));
    const { time, ...rest } = JSON.parse(lines[0] as string);
    assert.ok(!Number.isNaN(Date.parse(time)));
    assert.deepEqual(rest, {
      level: "warn",
      event: "capture.unreadable",
      host: "api.openai.com",
      reason: "obs_fold",
    });
  });

  it("leaves out what is below its level", () => {
    const { lines, log } = collect("warn");
    log.info("proxy.restarted", { port: 1 });
    log.error("store.failing", { reason: "disk_full" });
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).event),
      ["store.failing"],
    );
  });

  it("keeps an event on one line whatever its texts hold, and keeps them short", () => {
    const { lines, log } = collect("info");
    log.info("attribution.tier_hit", { tier: "header", project: `a\nb\u001b[31m\u2028${"x".repeat(1000)}` });
    const text = lines[0] as string;
    assert.equal(text.split("\n").length, 2);
    assert.ok(!/[\u001b\u2028]/.test(text) && text.length < 700);
  });
});
