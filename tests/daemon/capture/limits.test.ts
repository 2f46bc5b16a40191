import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { StatedLimit } from "../../../core/metering/limits/stated-limit.ts";
import type { CapturePorts } from "../../../daemon/capture/ports.ts";
import type { LimitOwner } from "../../../daemon/limits/limit-tracker.ts";
import { type CaptureRig, createCaptureRig, rigStart } from "./capture.rig.ts";

interface Taken extends LimitOwner {
  readonly limits: readonly StatedLimit[];
}

function openRig(ports: Partial<CapturePorts> = {}): { rig: CaptureRig; taken: Taken[] } {
  const taken: Taken[] = [];
  const limits = {
    add: (owner: LimitOwner, stated: readonly StatedLimit[]) => void taken.push({ ...owner, limits: stated }),
  };
  const rig = createCaptureRig({ ports: { limits, hashAccount: (identity) => `#${identity}`, ...ports } });
  return { rig, taken };
}

interface Exchange {
  readonly host?: string;
  readonly start?: string;
  readonly headers?: string;
  readonly body?: string;
  readonly status?: string;
  readonly answerHeaders?: string;
  readonly answer?: string | Uint8Array;
}

/** Runs one call on a new connection. */
async function exchange(rig: CaptureRig, given: Exchange): Promise<void> {
  const { host = "api.anthropic.com", start = "POST /v1/messages", headers = "", body = "" } = given;
  const { status = "200 OK", answerHeaders = "", answer = "" } = given;
  const connection = rig.connect(host);
  const bytes = Buffer.from(answer as string);
  connection.pass(
    "request",
    `${start} HTTP/1.1\r\nHost: ${host}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  connection.pass(
    "response",
    Buffer.concat([
      Buffer.from(`HTTP/1.1 ${status}\r\n${answerHeaders}Content-Length: ${bytes.length}\r\n\r\n`),
      bytes,
    ]),
  );
  connection.close();
  await rig.capture.settled();
}

const login = "Authorization: Bearer sk-ant-oat01-x\r\n";
const unified = "Anthropic-Ratelimit-Unified-5h-Utilization: 0.5\r\nAnthropic-Organization-Id: org-1\r\n";
const summary = (taken: readonly Taken[]) =>
  taken.map(({ provider, account, limits }) => [
    provider,
    account,
    ...limits.map(({ window, scope, usedPpm, status }) => `${window} ${scope} ${usedPpm} ${status}`),
  ]);

describe("the limits that calls state", () => {
  it("come from headers, with the account", async () => {
    const { rig, taken } = openRig();
    await exchange(rig, { headers: login, answerHeaders: unified, answer: "{}" });
    assert.deepEqual(summary(taken), [["anthropic", "#anthropic org-1", "5h null 500000 null"]]);
    assert.equal(rig.records.length, 1);
  });

  it("are of the requested model if they are rate limits", async () => {
    const { rig, taken } = openRig();
    const rates = "x-ratelimit-limit-requests: 60\r\nx-ratelimit-remaining-requests: 30\r\n";
    await exchange(rig, {
      host: "api.openai.com",
      start: "POST /v1/chat/completions",
      body: '{"model":"gpt-5","messages":[]}',
      answerHeaders: rates,
      answer: "{}",
    });
    assert.deepEqual(summary(taken), [["openai", null, "rate gpt-5 500000 null"]]);
  });

  it("are stored again on a connection if they changed, rates once a second, and all after ten seconds", async () => {
    let atMs = 0;
    const { rig, taken } = openRig({ monotonicMs: () => atMs });
    const connection = rig.connect("api.anthropic.com");
    const answer = (headers: string, status = "200 OK") => {
      connection.pass(
        "request",
        "POST /v1/messages HTTP/1.1\r\nHost: api.anthropic.com\r\nContent-Length: 2\r\n\r\n{}",
      );
      connection.pass("response", `HTTP/1.1 ${status}\r\n${headers}Content-Length: 2\r\n\r\n{}`);
      return taken.length;
    };
    const unifiedAt = (used: string) => `anthropic-ratelimit-unified-5h-utilization: ${used}\r\n`;
    const rate = (left: number) =>
      `anthropic-ratelimit-requests-limit: 9\r\nanthropic-ratelimit-requests-remaining: ${left}\r\n`;
    assert.equal(answer(unifiedAt("0.5")), 1);
    assert.equal(answer(unifiedAt("0.5")), 1);
    assert.equal(answer(unifiedAt("0.6")), 2);
    assert.equal(answer(rate(8)), 2);
    assert.equal(answer(rate(7), "429 Too Many"), 3);
    atMs = 1_000;
    assert.equal(answer(rate(6)), 4);
    atMs = 10_999;
    assert.equal(answer(rate(6)), 4);
    atMs = 11_000;
    assert.equal(answer(rate(6)), 5);
    connection.close();
    await rig.capture.settled();
  });

  it("come from an event of Codex", async () => {
    const { rig, taken } = openRig();
    const event = {
      type: "codex.rate_limits",
      rate_limits: { primary: { used_percent: 100, window_minutes: 300 }, secondary: null },
    };
    await exchange(rig, {
      host: "chatgpt.com",
      start: "POST /backend-api/codex/responses",
      headers: "chatgpt-account-id: acc\r\nAuthorization: Bearer eyJa.b\r\n",
      body: '{"model":"gpt-5-codex","input":"x","stream":true}',
      answerHeaders: "Content-Type: text/event-stream\r\n",
      answer: `event: codex.rate_limits\ndata: ${JSON.stringify(event)}\n\n`,
    });
    assert.deepEqual(summary(taken), [["codex", "#codex acc", "5h null 1000000 exceeded"]]);
  });

  it("come from an error", async () => {
    const { rig, taken } = openRig();
    const error = { type: "usage_limit_reached", resets_at: rigStart / 1_000 + 60 };
    await exchange(rig, {
      host: "chatgpt.com",
      start: "POST /backend-api/codex/responses",
      body: '{"model":"gpt-5-codex","input":"x"}',
      status: "429 Too Many Requests",
      answer: JSON.stringify({ error }),
    });
    assert.deepEqual(summary(taken), [["codex", null, "plan null null exceeded"]]);
    assert.equal(taken[0]?.limits[0]?.resetAt, rigStart + 60_000);
  });

  it("come from answers about limits, which make no record", async () => {
    const { rig, taken } = openRig();
    const answer = gzipSync(JSON.stringify({ five_hour: { utilization: 5 } }));
    const usage = { start: "GET /api/oauth/usage?x=1", answerHeaders: "Content-Encoding: gzip\r\n", answer };
    await exchange(rig, { ...usage, headers: login });
    // The decoder works in turns of the event loop of its own.
    while (taken.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(summary(taken), [["anthropic", null, "5h null 50000 null"]]);
    assert.deepEqual(rig.records, []);
    assert.equal(rig.counts.free, 1);
  });

  it("are not read from answers that failed, were cut off, are too long or are not JSON", async () => {
    const { rig, taken } = openRig();
    const start = "GET /api/oauth/usage";
    const answer = JSON.stringify({ five_hour: { utilization: 5 } });
    await exchange(rig, { start, answer, status: "500 Failed" });
    await exchange(rig, { start, answer: "{" });
    await exchange(rig, { start, answer: answer + " ".repeat(64 * 1024) });
    const connection = rig.connect("api.anthropic.com");
    connection.pass("request", `${start} HTTP/1.1\r\nHost: api.anthropic.com\r\n\r\n`);
    connection.pass("response", `HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n${answer}`);
    connection.close("upstream_reset");
    await exchange(rig, { start: "GET /api/oauth/profile", answer });
    assert.deepEqual(taken, []);
  });

  it("are not shown as calls in flight, unlike calls to models", async () => {
    let atMs = 100;
    const { rig } = openRig({ monotonicMs: () => atMs });
    const open = (start: string, body: string) => {
      const connection = rig.connect("api.anthropic.com");
      const head = `${start} HTTP/1.1\r\nHost: api.anthropic.com\r\nContent-Length: ${body.length}\r\n\r\n`;
      connection.pass("request", head + body, atMs);
      return connection;
    };
    open("GET /api/oauth/usage", "");
    open("POST /v1/messages", '{"model":"m"}');
    atMs = 500;
    const last = open("POST /v1/messages", "{}");
    atMs = 700;
    const shown = () =>
      rig.capture.callsInFlight().map(({ provider, model, runningMs }) => [provider, model, runningMs]);
    assert.deepEqual(shown(), [
      ["anthropic", "m", 600],
      ["anthropic", null, 200],
    ]);
    assert.equal(await rig.capture.callsInFlight()[0]?.program(), null);
    last.close();
    await rig.capture.settled;
    assert.equal(shown().length, 1);
  });

  it("never prevent a record", async () => {
    const errors: string[] = [];
    const log = { debug() {}, info() {}, warn() {}, error: (event: string) => void errors.push(event) };
    const { rig } = openRig({
      log,
      limits: {
        add() {
          throw new Error("planned");
        },
      },
    });
    await exchange(rig, { headers: login, answerHeaders: unified, answer: "{}" });
    assert.equal(rig.records.length, 1);
    assert.deepEqual(errors, ["capture.failed"]);
  });

  it("are not read without a tracker", async () => {
    const rig = createCaptureRig();
    await exchange(rig, { headers: login, answerHeaders: unified, answer: "{}" });
    await exchange(rig, { start: "GET /api/oauth/usage", answer: "{}" });
    assert.equal(rig.records.length, 1);
  });
});
