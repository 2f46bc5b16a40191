import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderStatus, type StatusFacts } from "../../../../cli/commands/status/render-status.ts";
import type { PriceFix } from "../../../../core/pricing/price-fix.ts";
import type { StatusResponse } from "../../../../daemon/api/daemon-status.ts";
import type { UnpricedModelStatus } from "../../../../daemon/api/unpriced-models.ts";
import { createCounters } from "../../../../daemon/proxy/counters.ts";

const running = {
  pid: 42,
  version: "0.4.0",
  proxy_port: 8081,
  api_port: 8765,
  started_at: "2026-11-21T10:00:00.000Z",
};

function facts(more: Partial<StatusResponse> = {}, rest: Partial<StatusFacts> = {}): StatusFacts {
  const status: StatusResponse = {
    version: "0.4.0",
    started_at: running.started_at,
    proxy: { port: 8081, connections: 1_234, restarts: 0, watchdog: "healthy", counters: createCounters() },
    api: { port: 8765 },
    store: {
      capturing: "ok",
      lastError: null,
      pending: 0,
      stored: 1_000,
      dropped: {},
      set_aside: null,
      bodies_held: null,
    },
    last_24_hours: { coverage: [], unlisted_hosts: [], last_captures: [] },
    configured_providers: [],
    warnings: [],
    cloud: null,
    ...more,
  };
  return { home: "/home/me/.meter", version: "0.4.0", running, status, databaseBytes: 0, now: 0, ...rest };
}

describe("renderStatus()", () => {
  it("is short if there are no problems", () => {
    assert.equal(
      renderStatus(facts()),
      [
        "Metering.",
        "proxy     http://127.0.0.1:8081  (1,234 connections to providers open)",
        "api       http://127.0.0.1:8765",
        "process   42, version 0.4.0, since 2026-11-21T10:00:00.000Z",
        "home      /home/me/.meter",
        "stored    1,000 requests since it started",
      ].join("\n"),
    );
  });

  it("shows the connections that are kept ready, once there were any, and not those of an older daemon", () => {
    const { proxy } = facts().status as StatusResponse;
    const shown = (warm: object | undefined) =>
      renderStatus(facts({ proxy: { ...proxy, counters: { ...proxy.counters, warm } } } as never));
    const warm = { ready: 2, used: 1_200, missed: 34, unused: 5, failed: 0 };
    assert.match(shown(warm), /^warm {6}2 ready; 1,200 of 1,234 new connections to providers used one$/m);
    assert.doesNotMatch(shown({ ...warm, ready: 0, used: 0, missed: 0 }), /^warm/m);
    assert.doesNotMatch(shown(undefined), /^warm/m);
  });

  it("shows the receiver of OpenTelemetry if it is on, and what it refused", () => {
    const now = Date.parse("2026-11-21T12:00:00Z");
    const shown = (telemetry: object | null | undefined) =>
      renderStatus(facts({ telemetry } as never, { now }));
    const well = { path: "/otlp", last_report: { client: "claude", at: "2026-11-21T11:55:00Z" } };
    const on = { ...well, refused: 0, last_refusal: null };
    assert.match(
      shown(on),
      /^telemetry http:\/\/127\.0\.0\.1:8765\/otlp {2}\(last report 5 min ago from claude\)\nprocess/m,
    );
    assert.match(
      shown({ ...on, last_report: null }),
      /\(no report yet\)\n {10}Report .*meter run --telemetry -- /,
    );
    const reason = "The payload is not valid JSON.";
    assert.match(
      shown({ ...on, refused: 3, last_refusal: { reason, at: "2026-11-21T11:55:00Z" } }),
      /^ {10}3 payloads refused since the start\. The last one: The payload is not valid JSON\.\n {10}Report /m,
    );
    for (const off of [null, undefined]) assert.doesNotMatch(shown(off), /telemetry/);
  });

  it("begins with the daemon's own problems", () => {
    const { proxy, store } = facts().status as StatusResponse;
    const stuck = renderStatus(facts({ proxy: { ...proxy, watchdog: "unhealthy" } }));
    assert.match(stuck, /^DEGRADED: the proxy does not answer\.\n/);
    const replaced = renderStatus(facts({ proxy: { ...proxy, watchdog: "exhausted" } }));
    assert.match(replaced, /^DEGRADED: the proxy kept hanging, so calls pass without being metered\.\n/);
    assert.match(replaced, /^The proxy hung after three restarts within an hour\. /m);
    const failing = renderStatus(facts({ store: { ...store, capturing: "failing" } }));
    assert.match(failing, /^DEGRADED: calls pass, but records can't be stored\.\n/);
    const brief = renderStatus(facts({ proxy: { ...proxy, watchdog: "failing" } }));
    assert.match(brief, /^Metering\.\n/);
  });

  it("distinguishes a daemon that does not answer from a missing one", () => {
    const silent = { running: null, status: null };
    assert.match(renderStatus(facts({}, silent)), /^Not metering: the daemon is not running\./);
    for (const [pid, who] of [
      [7, "A daemon (process 7)"],
      [null, "A daemon"],
    ] as const) {
      for (const announcement of ["valid", "absent"] as const) {
        const said = renderStatus(facts({}, { ...silent, holder: { pid, announcement } }));
        assert.ok(said.startsWith(`${who} is using this home but does not answer`), said);
      }
    }
    const describe = (announcement: "damaged" | "stale") =>
      renderStatus(facts({}, { ...silent, holder: { pid: 7, announcement } })).split("\n", 1)[0];
    assert.equal(
      describe("damaged"),
      "A daemon (process 7) is using this home but can't be found, because daemon.json is damaged. Restart it: meter stop && meter start",
    );
    // A daemon that was killed left the file, and the disk is full.
    assert.equal(
      describe("stale"),
      "A daemon (process 7) is using this home but does not answer: daemon.json names another process, so it starts, or could not write the file (is the disk full?). Find the cause: meter doctor",
    );
  });

  it("counts refused connections", () => {
    const { proxy } = facts().status as StatusResponse;
    const counters = createCounters();
    counters.refused.too_many_connections = 1_200;
    assert.match(
      renderStatus(facts({ proxy: { ...proxy, counters } })),
      /^Connections refused because too many were open: 1,200\.$/m,
    );
  });

  it("shows the cloud's banner, and uses the singular for one request", () => {
    const cloud = { banner: "PAUSED", sentence: "Nothing is sent. To go on: meter cloud resume" } as const;
    const store = { ...facts().status?.store, stored: 1 } as StatusResponse["store"];
    const said = renderStatus(facts({ cloud, store }));
    assert.match(said, /^cloud {5}PAUSED: Nothing is sent\. To go on: meter cloud resume$/m);
    assert.match(said, /^stored {4}1 request since it started$/m);
    const { cloud: _, ...older } = facts().status as StatusResponse;
    const silent = renderStatus(facts({}, { status: older as StatusResponse }));
    assert.ok(!silent.includes("cloud"), "a daemon of an older version does not say");
  });

  it("lists the models without a price, each with its fix, and no more than three", () => {
    const { last_24_hours: day } = facts().status as StatusResponse;
    const model = (name: string, fix: PriceFix | null, requests = 2) => ({
      provider: "acme",
      model: name,
      requests,
      last_request_id: `id-${name}`,
      fix,
    });
    const pull = {
      text: "",
      toml: [],
      commands: ["meter pricing pull --source litellm", "meter recompute-costs"],
    };
    const paste = { text: "", toml: ["[[pricing.operator]]"], commands: ["meter recompute-costs"] };
    const models = [model("a\u001b", pull, 1), model("b", paste), model("c", null)];
    const withModels = (unpriced_models: readonly UnpricedModelStatus[]) =>
      renderStatus(facts({ last_24_hours: { ...day, unpriced_models } }));
    const three = withModels(models);
    assert.deepEqual(three.split("\n").slice(-3), [
      "unpriced  1 request to acme a\uFFFD. Fix: meter pricing pull --source litellm && meter recompute-costs",
      "unpriced  2 requests to acme b. The lines that give it a price: meter explain id-b",
      "unpriced  2 requests to acme c. Why: meter explain id-c",
    ]);
    const four = withModels([...models, model("d", null)]);
    assert.deepEqual(four.split("\n").slice(-1), ["          There are more such models: meter report"]);
    assert.ok(!four.includes("acme d"));
    assert.ok(!withModels([]).includes("unpriced"));
    assert.ok(!renderStatus(facts()).includes("unpriced"), "a daemon of an older version does not say");
  });

  it("begins with the fact that nothing is metered", () => {
    assert.equal(
      renderStatus(facts({}, { running: null, status: null })),
      "Not metering: the daemon is not running. Start it: meter start\nhome      /home/me/.meter",
    );
  });

  it("begins with the fact that records can't be stored, with the reason and the counts", () => {
    const store = {
      capturing: "failing",
      lastError: { reason: "disk_full", message: "no room", at: 0 },
      pending: 12,
      stored: 3,
      dropped: { disk_full: 4, backlog: 1_000 },
      set_aside: "/home/me/.meter/meter.db.corrupt",
      bodies_held: 7,
    } as const;
    const said = renderStatus(facts({ store })).split("\n");
    assert.equal(said[0], "DEGRADED: calls pass, but records can't be stored.");
    for (const line of [
      "stored    3 requests since it started, 12 waiting",
      "last error  disk_full: no room",
      "lost      4 records: disk_full",
      "lost      1,000 records: backlog",
      "A damaged database was moved to /home/me/.meter/meter.db.corrupt.",
      "7 captured bodies passed their retention all at once; the clock may be wrong. Delete them: meter bodies sweep",
    ]) {
      assert.ok(said.includes(line), line);
    }
  });

  it("reports another version, restarts, clients that don't trust the certificate, and warnings", () => {
    const counters = createCounters();
    counters.endedUnused = 3;
    counters.refused.upstream_unreachable = 4;
    counters.refused.upstream_tls = 5;
    const proxy = { port: 1, connections: 0, restarts: 2, watchdog: "exhausted", counters } as const;
    const said = renderStatus(facts({ proxy, warnings: ["odd setting"] }, { version: "0.5.0" }));
    assert.match(said, /\nThe installed version is 0\.5\.0\. Restart the daemon: meter stop && meter start/);
    assert.match(said, /\nThe proxy was restarted 2 times\./);
    assert.match(said, /\nThe proxy hung after three restarts within an hour\. /);
    assert.match(
      said,
      /\n3 connections to a provider ended before a request\. .*\n +Start it with: meter run -- <command>/,
    );
    assert.match(said, /\nConnections to hosts that could not be reached: 4\. /);
    assert.match(said, /\nConnections to hosts without a trusted certificate: 5\./);
    assert.match(said, /\nwarning {3}odd setting/);
    const trusted = { ...proxy, unused_by_trusting: 2 };
    assert.match(
      renderStatus(facts({ proxy: trusted })),
      /\n1 connection to a provider ended before a request\./,
    );
    assert.doesNotMatch(
      renderStatus(facts({ proxy: { ...proxy, unused_by_trusting: 3 } })),
      /before a request/,
    );
  });

  it("ends with the coverage of the last day", () => {
    const coverage = [
      { host: "api.openai.com", kind: "metered", count: 9 },
      { host: "api.openai.com", kind: "websocket", count: 1 },
    ] as const;
    assert.match(
      renderStatus(facts({ last_24_hours: { coverage, unlisted_hosts: [], last_captures: [] } })),
      /\n24 hours {2}Metering coverage: 90 % \(9 of 10 calls seen on providers' hosts\)\.\n {2}not metered: 1 WebSocket session\n {2}See which: meter coverage$/,
    );
    assert.ok(!renderStatus(facts()).includes("24 hours"));
  });

  it("shows the database and when each client was last metered", () => {
    const at = (ms: number) => new Date(ms).toISOString();
    const last_captures = [
      { client: "claude", at: at(10_000_000 - 30_000) },
      { client: null, at: at(10_000_000 - 59 * 60_000) },
      { client: "node\u001b[2J", at: at(10_000_000 - 125 * 60_000) },
    ];
    const said = renderStatus(
      facts(
        { last_24_hours: { coverage: [], unlisted_hosts: [], last_captures } },
        { databaseBytes: 3 * 1024 * 1024, now: 10_000_000 },
      ),
    );
    assert.match(
      said,
      /\ndatabase {2}\/home\/me\/\.meter\/meter\.db, 3\.0 MiB\nprograms {2}claude just now, unknown program 59 min ago, node\ufffd\[2J 2 h ago$/,
    );
  });
});
