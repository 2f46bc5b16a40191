import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CLOCK_TOLERANCE_MS,
  type DoctorFacts,
  type DoctorVerdict,
  diagnose,
  exceptedHosts,
  FULL_DISK_BYTES,
  LARGE_DATABASE_BYTES,
  LOW_DISK_BYTES,
  STALE_RATES_DAYS,
} from "../../../core/doctor/mod.ts";

const DAY_MS = 86_400_000;
const now = Date.parse("2026-11-21T12:00:00Z");

/** A machine on which all is well. */
const well: DoctorFacts = {
  now,
  platform: "linux",
  meterHome: "/home/u/.meter",
  version: "0.4.0",
  configWarnings: [],
  install: {
    ...{ record: "present", manager: "systemd", apps: true },
    ...{ stale: [], missingProgram: null, unfinished: 0 },
  },
  daemon: {
    ...{ version: "0.4.0", proxyPort: 8081, capturing: true },
    ...{ watchdog: "healthy", endedUnused: 0, setAside: null },
  },
  proxy: { configuredPort: 8081, taken: false },
  selfTest: { ok: true, says: "a call was metered" },
  interception: "intercepted",
  authority: {
    ...{ state: "current", validUntil: now + 500 * DAY_MS },
    ...{ keyOpenToOthers: false, systemTrusts: true, trustRecorded: true, trustCure: "meter init" },
  },
  shell: { proxy: "meter", excepted: [], badTrust: [], variablesFile: "/home/u/.meter/env.sh" },
  clients: [{ name: "curl", version: "8", outcome: "metered", why: null }],
  bypassing: [],
  unmetered: [],
  newestRate: "2026-11-01",
  ratesHaveSource: true,
  database: { state: "ok", detail: null, newestRequestAt: now, bytes: LARGE_DATABASE_BYTES },
  freeDiskBytes: LOW_DISK_BYTES,
  cloud: { banner: "ACTIVE", reasons: [] },
};

type Change = { [K in keyof DoctorFacts]?: Partial<DoctorFacts[K]> | null };

function change(by: Change): DoctorFacts {
  const changed = Object.entries(by).map(([key, value]) => {
    const before = well[key as keyof DoctorFacts];
    const merge = typeof value === "object" && value !== null && !Array.isArray(value);
    return [key, merge ? { ...(before as object), ...value } : value];
  });
  return { ...well, ...Object.fromEntries(changed) };
}

describe("diagnose()", () => {
  it("finds nothing where all is well", () => {
    const { verdict, findings } = diagnose(well);
    assert.equal(verdict, "HEALTHY");
    assert.deepEqual(new Set(findings.map(({ level }) => level)), new Set(["ok"]));
  });

  type Row = [name: string, by: Change, verdict: DoctorVerdict, says: RegExp, cure?: string | null];
  const restart = "meter stop && meter start";
  const table: Row[] = [
    [
      "no daemon",
      { daemon: null, selfTest: null, interception: null },
      "BROKEN",
      /does not run: nothing/,
      "meter start",
    ],
    [
      "its port is somebody else's",
      { daemon: null, proxy: { taken: true } },
      "BROKEN",
      /somebody else listens on its port 8081/,
      "ss -ltnp 'sport = :8081'",
    ],
    [
      "and on macOS",
      { daemon: null, proxy: { taken: true }, platform: "darwin" } as never,
      "BROKEN",
      /somebody else listens/,
      "lsof -nP -iTCP:8081 -sTCP:LISTEN",
    ],
    [
      "and on Windows",
      { daemon: null, proxy: { taken: true }, platform: "win32" } as never,
      "BROKEN",
      /somebody else listens/,
      "netstat -ano | findstr :8081",
    ],
    ["it can't store", { daemon: { capturing: false } }, "BROKEN", /can't store/, null],
    ["the proxy hangs", { daemon: { watchdog: "unhealthy" } }, "BROKEN", /does not answer/, restart],
    [
      "an older version runs",
      { daemon: { version: "0.3.0" } },
      "INCONSISTENT",
      /version 0\.3\.0 runs, 0\.4\.0/,
      restart,
    ],
    [
      "another port was set",
      { proxy: { configuredPort: 9000 } },
      "INCONSISTENT",
      /listens on 8081.*says 9000/,
      restart,
    ],
    ["any free port is fine", { proxy: { configuredPort: 0 } }, "HEALTHY", /answers on port 8081/],
    [
      "a database was set aside",
      { daemon: { setAside: "/x.corrupt" } },
      "HEALTHY",
      /moved to \/x\.corrupt/,
      null,
    ],
    [
      "nothing installed",
      { install: { record: "absent", apps: false } },
      "HEALTHY",
      /none is installed/,
      "meter init",
    ],
    ["an unreadable record", { install: { record: "unreadable" } }, "BROKEN", /can't be read/, null],
    [
      "the program moved",
      { install: { missingProgram: "/old/node" } },
      "BROKEN",
      /starts \/old\/node, which is gone/,
      "meter init --yes",
    ],
    [
      "a file changed",
      { install: { stale: ["/rc"] } },
      "INCONSISTENT",
      /no longer as init made it: \/rc/,
      "meter init --yes",
    ],
    [
      "init was killed",
      { install: { unfinished: 2 } },
      "INCONSISTENT",
      /2 steps of init were begun/,
      "meter init --yes",
    ],
    [
      "init was killed in one step",
      { install: { unfinished: 1 } },
      "INCONSISTENT",
      /^1 step of init was begun/,
      "meter init --yes",
    ],
    ["no service manager", { install: { manager: null } }, "HEALTHY", /no service manager/, null],
    [
      "the self-test fails",
      { selfTest: { ok: false, says: "not metered" } },
      "BROKEN",
      /^not metered$/,
      restart,
    ],
    ["offline", { interception: "offline" }, "HEALTHY", /not tried/, null],
    ["TLS was not looked at", { interception: null }, "HEALTHY", /^a call was metered$/],
    [
      "TLS is not opened",
      { interception: "not_intercepted" },
      "BROKEN",
      /does not show the meter's/,
      restart,
    ],
    [
      "no authority, while the daemon runs",
      { authority: { state: "absent", validUntil: null } },
      "BROKEN",
      /its files are gone/,
      restart,
    ],
    [
      "no authority before the first start",
      { daemon: null, authority: { state: "absent", validUntil: null } },
      "BROKEN",
      /there is none yet/,
      null,
    ],
    ["a damaged authority", { authority: { state: "damaged" } }, "BROKEN", /damaged/, restart],
    [
      "an expired authority",
      { authority: { state: "expiring", validUntil: now } },
      "BROKEN",
      /has expired/,
      restart,
    ],
    [
      "an ending authority",
      { authority: { state: "expiring", validUntil: now + 9 * DAY_MS } },
      "INCONSISTENT",
      /ends in 9 days/,
      restart,
    ],
    [
      "an authority on its last day",
      { authority: { state: "expiring", validUntil: now + DAY_MS } },
      "INCONSISTENT",
      /ends in 1 day;/,
      restart,
    ],
    [
      "new hosts",
      { authority: { state: "hosts_changed" } },
      "INCONSISTENT",
      /may not sign for all hosts/,
      `${restart} && meter init --yes`,
    ],
    [
      "new hosts, without init",
      { authority: { state: "hosts_changed" }, install: { record: "absent" } },
      "INCONSISTENT",
      /may not sign for all hosts/,
      restart,
    ],
    [
      "an open key",
      { authority: { keyOpenToOthers: true } },
      "INCONSISTENT",
      /others can read its key/,
      "chmod 700 '/home/u/.meter/ca' && chmod 600 '/home/u/.meter/ca/key.pem'",
    ],
    [
      "trust lost",
      { authority: { systemTrusts: false } },
      "INCONSISTENT",
      /not any more/,
      "meter init --yes",
    ],
    [
      "never trusted",
      { authority: { systemTrusts: false, trustRecorded: false } },
      "HEALTHY",
      /do without/,
      "meter init",
    ],
    [
      "an old shell",
      { shell: { proxy: "none" } },
      "INCONSISTENT",
      /open before init/,
      ". '/home/u/.meter/env.sh'",
    ],
    [
      "an old fish",
      { shell: { proxy: "none", variablesFile: "/home/o'u/.meter/env.fish" } },
      "INCONSISTENT",
      /open before init/,
      "source '/home/o'\\''u/.meter/env.fish'",
    ],
    [
      "an old shell whose file is gone",
      { shell: { proxy: "none", variablesFile: null } },
      "INCONSISTENT",
      /open before init/,
      "meter init --yes",
    ],
    [
      "a bad variable where init made none",
      { shell: { badTrust: ["SSL_CERT_FILE"], variablesFile: null }, install: { apps: false } },
      "INCONSISTENT",
      /^SSL_CERT_FILE names a file/,
      "meter init --apps",
    ],
    [
      "a plain shell",
      { shell: { proxy: "none" }, install: { apps: false } },
      "HEALTHY",
      /use meter run/,
      "meter init --apps",
    ],
    ["another proxy", { shell: { proxy: "other" } }, "INCONSISTENT", /another proxy/],
    [
      "another proxy, and init without --apps",
      { shell: { proxy: "other" }, install: { apps: false } },
      "HEALTHY",
      /another proxy/,
      null,
    ],
    [
      "a shell that began before init, whose file is not known",
      { shell: { proxy: "none", variablesFile: null } },
      "INCONSISTENT",
      /those that were open before init/,
      "meter init --yes",
    ],
    [
      "an exception",
      { shell: { excepted: ["api.openai.com"] } },
      "INCONSISTENT",
      /NO_PROXY keeps these from the meter: api\.openai\.com/,
      null,
    ],
    [
      "a lost bundle",
      { shell: { badTrust: ["SSL_CERT_FILE"] } },
      "INCONSISTENT",
      /^SSL_CERT_FILE names a file/,
    ],
    [
      "a client that bypasses",
      { clients: [{ name: "node", version: "24", outcome: "bypasses", why: "unset" }] as never },
      "INCONSISTENT",
      /^node 24, from this shell: goes past the proxy, unmetered: unset$/,
      ". '/home/u/.meter/env.sh'",
    ],
    [
      "a client that is too old",
      { clients: [{ name: "node", version: "20", outcome: "outdated", why: "too old" }] as never },
      "INCONSISTENT",
      /^node 20, from this shell: can't be led to a proxy, so its calls go unmetered: too old$/,
      null,
    ],
    [
      "a client that distrusts",
      {
        clients: [{ name: "curl", version: null, outcome: "distrusts", why: null }] as never,
        shell: { proxy: "none" },
      },
      "INCONSISTENT",
      /^curl, under meter run: refuses/,
      null,
    ],
    [
      "an agent without variables",
      {
        clients: [{ name: "codex", version: null, outcome: "lacks_variables", why: "HTTPS_PROXY" }] as never,
      },
      "INCONSISTENT",
      /lacks variables that it needs: HTTPS_PROXY/,
    ],
    [
      "an agent with them",
      { clients: [{ name: "codex", version: null, outcome: "expected", why: null }] as never },
      "HEALTHY",
      /not run, since that takes a login/,
    ],
    [
      "traffic past the meter",
      { bypassing: [{ host: "api.x.ai", pid: 7, program: "node" }] as never },
      "INCONSISTENT",
      /^node \(process 7\) has a connection to an address of api\.x\.ai/,
      null,
    ],
    [
      "somebody's traffic",
      { bypassing: [{ host: "api.x.ai", pid: null, program: null }] as never },
      "INCONSISTENT",
      /^a program has a connection/,
    ],
    [
      "gaps in the coverage",
      { unmetered: ["3 WebSocket sessions"] as never },
      "INCONSISTENT",
      /not metered: 3 WebSocket sessions/,
    ],
    [
      "connections that end at once",
      { daemon: { endedUnused: 4 } },
      "INCONSISTENT",
      /^4 connections ended before a request/,
    ],
    [
      "one connection that ends at once",
      { daemon: { endedUnused: 1 } },
      "INCONSISTENT",
      /^1 connection ended before a request/,
    ],
    ["no database", { database: { state: "absent" } }, "HEALTHY", /nothing was metered yet/],
    [
      "a damaged database",
      { database: { state: "corrupt", detail: "*** in database main ***\nTree 2 page 7: odd" } },
      "BROKEN",
      /^it can't be read: Tree 2 page 7: odd\. /,
      restart,
    ],
    [
      "a database that is locked",
      { database: { state: "unreadable", detail: null } },
      "BROKEN",
      /^it can't be read: unreadable\. /,
      restart,
    ],
    ["an older database", { database: { state: "older_schema" } }, "INCONSISTENT", /older version/, restart],
    ["a newer database", { database: { state: "newer_schema" } }, "BROKEN", /newer version/, null],
    [
      "old prices",
      {
        now: Date.parse("2026-11-01") + (STALE_RATES_DAYS + 1) * DAY_MS,
        authority: { validUntil: now * 2 },
      } as never,
      "INCONSISTENT",
      /the newest is 91 days old/,
      "meter pricing refresh",
    ],
    [
      "old prices and nowhere to get others",
      {
        now: Date.parse("2026-11-01") + (STALE_RATES_DAYS + 1) * DAY_MS,
        authority: { validUntil: now * 2 },
        ratesHaveSource: false,
      } as never,
      "INCONSISTENT",
      /the newest is 91 days old: a newer version/,
      null,
    ],
    [
      "a clock behind",
      { now: Date.parse("2026-10-30") } as never,
      "BROKEN",
      /before the prices of 2026-11-01/,
      "sudo timedatectl set-ntp true",
    ],
    [
      "and on macOS",
      { now: Date.parse("2026-10-30"), platform: "darwin" } as never,
      "BROKEN",
      /before the prices/,
      "sudo sntp -sS time.apple.com",
    ],
    [
      "and on Windows",
      { now: Date.parse("2026-10-30"), platform: "win32" } as never,
      "BROKEN",
      /before the prices/,
      "w32tm /resync",
    ],
    [
      "a clock that went back",
      { database: { newestRequestAt: now + CLOCK_TOLERANCE_MS + 1 } },
      "INCONSISTENT",
      /the clock has gone back/,
    ],
    [
      "little space",
      { freeDiskBytes: LOW_DISK_BYTES - 1 } as never,
      "INCONSISTENT",
      /^499 MiB are free; the meter's database takes 100 MiB$/,
      "meter prune --before 2026-08-23",
    ],
    [
      "no space, and it is not the meter that takes it",
      { freeDiskBytes: FULL_DISK_BYTES - 1, database: { bytes: 1 } } as never,
      "BROKEN",
      /^19 MiB are free; the meter's database takes 1 MiB$/,
      null,
    ],
    [
      "a paused cloud",
      { cloud: { banner: "PAUSED", reasons: ["sync_paused"] } },
      "INCONSISTENT",
      /^PAUSED: sync paused$/,
      "meter cloud resume",
    ],
    [
      "a degraded cloud",
      { cloud: { banner: "DEGRADED", reasons: ["failures", "tick_stale"] } },
      "INCONSISTENT",
      /failures, tick stale/,
      "meter cloud status",
    ],
    [
      "no cloud",
      { cloud: { banner: "NOT-CONFIGURED", reasons: ["not_enabled"] } },
      "HEALTHY",
      /nothing leaves this machine/,
    ],
    [
      "a warning",
      { configWarnings: ["proxy.prot: is not a setting"] as never },
      "INCONSISTENT",
      /proxy\.prot/,
    ],
  ];
  for (const [name, by, verdict, says, cure] of table) {
    it(`says ${verdict} of ${name}`, () => {
      const diagnosis = diagnose(change(by));
      const finding = diagnosis.findings.find((each) => says.test(each.says));
      assert.ok(finding, JSON.stringify(diagnosis.findings));
      assert.equal(diagnosis.verdict, verdict);
      if (cure !== undefined) assert.equal(finding.cure, cure);
    });
  }
});

describe("exceptedHosts()", () => {
  const hosts = ["api.openai.com", "api.anthropic.com"];
  const table: [noProxy: string, excepted: string[]][] = [
    ["", []],
    ["localhost,127.0.0.1,::1", []],
    ["*", hosts],
    ["api.openai.com", ["api.openai.com"]],
    ["OPENAI.com", ["api.openai.com"]],
    [" .anthropic.com , x", ["api.anthropic.com"]],
    ["*.openai.com:443", ["api.openai.com"]],
    ["ai.com", []],
    ["com", hosts],
  ];
  for (const [noProxy, excepted] of table)
    it(`of ${JSON.stringify(noProxy)}`, () => assert.deepEqual(exceptedHosts(noProxy, hosts), excepted));
});
