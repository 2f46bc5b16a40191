import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CLOCK_TOLERANCE_MS,
  FULL_DISK_BYTES,
  LARGE_DATABASE_BYTES,
  LOW_DISK_BYTES,
  MAX_UNSUMMED_REQUESTS,
  STALE_RATES_DAYS,
} from "../../../../core/operations/doctor/check-data.ts";
import { type DoctorVerdict, diagnose, newFindings } from "../../../../core/operations/doctor/diagnose.ts";
import type { DoctorFacts } from "../../../../core/operations/doctor/doctor-facts.ts";

const DAY_MS = 86_400_000;
const now = Date.parse("2026-11-21T12:00:00Z");

/** A machine without problems. */
const well: DoctorFacts = {
  now,
  platform: "linux",
  meterHome: "/home/u/.meter",
  version: "0.4.0",
  configWarnings: [],
  configProblem: null,
  overdue: {},
  unresponsiveDaemon: null,
  install: {
    ...{ record: "present", manager: "systemd", apps: true },
    ...{ changed: [], missingProgram: null, unfinished: 0 },
  },
  daemon: {
    ...{ version: "0.4.0", proxyPort: 8081, capturing: true },
    ...{ watchdog: "healthy", endedUnused: 0, distrusting: [], setAside: null },
  },
  proxy: { configuredPort: 8081, inUse: false },
  telemetry: {
    ...{ configured: true, address: "http://127.0.0.1:8765/otlp", lastReportAt: now },
    ...{ refused: 0, lastRefusal: null },
  },
  budgets: {
    ...{ count: 2, unread: [], refusing: [], usedUp: [], letThrough: 0, isConfirmed: true },
  },
  selfTest: { ok: true, message: "a call was metered" },
  interception: "intercepted",
  authority: {
    ...{ state: "current", validUntil: now + 500 * DAY_MS },
    ...{ keyOpenToOthers: false, systemTrusts: true, trustRecorded: true, trustCommand: "meter init" },
    ...{ replacedBy: "init", unpermittedHosts: [] },
  },
  shell: {
    proxy: "meter",
    exemptHosts: [],
    badTrustVariables: [],
    lacksPassword: false,
    variablesFile: "/home/u/.meter/env.sh",
  },
  clients: [{ name: "curl", version: "8", outcome: "metered", why: null }],
  bypassing: [],
  unmetered: [],
  newestRate: "2026-11-01",
  ratesHaveSource: true,
  database: {
    state: "ok",
    detail: null,
    newestRequestAt: now,
    unsummed: MAX_UNSUMMED_REQUESTS,
    bytes: LARGE_DATABASE_BYTES,
    pages: "read",
  },
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
  it("finds nothing on a healthy machine", () => {
    const { verdict, findings } = diagnose(well);
    assert.equal(verdict, "HEALTHY");
    assert.deepEqual(new Set(findings.map(({ level }) => level)), new Set(["ok"]));
  });

  it("reports nothing about a receiver that is off or unknown", () => {
    const off = change({ telemetry: { configured: false, address: null } });
    for (const budgets of [null, { count: 0 }])
      assert.ok(!diagnose(change({ budgets })).findings.some(({ check }) => check === "budgets"));
    for (const facts of [off, change({ telemetry: null })])
      assert.ok(!diagnose(facts).findings.some(({ check }) => check === "telemetry"));
  });

  it("reports nothing about unknown facts", () => {
    const { findings } = diagnose(
      change({ authority: { systemTrusts: null }, newestRate: null, freeDiskBytes: null }),
    );
    const checks = findings.map(({ check }) => check);
    for (const check of ["trust", "prices", "disk"]) assert.ok(!checks.includes(check), check);
  });

  type Row = [name: string, by: Change, verdict: DoctorVerdict, message: RegExp, fixCommand?: string | null];
  const restart = "meter stop && meter start";
  const table: Row[] = [
    [
      "a receiver that is switched on without a restart",
      { telemetry: { address: null } },
      "INCONSISTENT",
      /switches the receiver of OpenTelemetry on, but the running daemon does not receive/,
      restart,
    ],
    [
      "a receiver that is switched off without a restart",
      { telemetry: { configured: false } },
      "INCONSISTENT",
      /switches the receiver of OpenTelemetry off, but the running daemon still receives/,
      restart,
    ],
    [
      "a receiver that refused payloads",
      { telemetry: { refused: 2, lastRefusal: "The payload is not valid JSON." } },
      "INCONSISTENT",
      /otlp refused 2 payloads since the daemon started\. The last one: The payload is not valid JSON\.$/,
      "meter run --telemetry -- <command>",
    ],
    [
      "a receiver that no client has reported to",
      { telemetry: { lastReportAt: null } },
      "HEALTHY",
      /otlp receives OpenTelemetry, but no client has reported yet\.$/,
      "meter run --telemetry -- <command>",
    ],
    [
      "a budget whose records can't be read",
      { budgets: { unread: ["day"] } },
      "INCONSISTENT",
      /^The records of budget day can't be read, so the sums are not known\.$/,
      "meter budget list",
    ],
    [
      "budgets whose records can't be read",
      { budgets: { unread: ["day", "week"] } },
      "INCONSISTENT",
      /^The records of budgets day, week can't be read/,
      "meter budget list",
    ],
    [
      "budgets that the proxy does not confirm",
      { budgets: { isConfirmed: false } },
      "INCONSISTENT",
      /^The proxy has not confirmed/,
      "meter status",
    ],
    [
      "a budget that refuses calls",
      { budgets: { refusing: ["my team"] } },
      "HEALTHY",
      /^Budget my team is used up\. Its calls are refused\.$/,
      "meter budget lift 'my team' --for 1h",
    ],
    [
      "another budget that refuses calls",
      { budgets: { refusing: ["team"] } },
      "HEALTHY",
      /^Budget team is used up/,
      "meter budget lift team --for 1h",
    ],
    [
      "a budget of the workspace that refuses calls",
      { budgets: { refusing: ["workspace/team"] } },
      "HEALTHY",
      /^Budget workspace\/team is used up/,
      "meter budget show workspace/team",
    ],
    [
      "a budget that is used up and only warns",
      { budgets: { usedUp: ["week"] } },
      "HEALTHY",
      /^Used up, without an effect on calls: week\.$/,
      "meter budget list",
    ],
    [
      "calls without a decision",
      { budgets: { letThrough: 3 } },
      "HEALTHY",
      /^3 calls went without a decision of a budget since the daemon started\.$/,
      "meter budget list",
    ],
    [
      "no daemon",
      { daemon: null, selfTest: null, interception: null },
      "BROKEN",
      /is not running\. Nothing/,
      "meter start",
    ],
    [
      "a daemon that hangs",
      { daemon: null, selfTest: null, interception: null, unresponsiveDaemon: { pid: 17 } },
      "BROKEN",
      /^The daemon hangs \(process 17\)\. It holds this home directory but does not respond\.$/,
      "kill -KILL 17 && meter start",
    ],
    [
      "a daemon whose daemon.json is damaged",
      { daemon: null, unresponsiveDaemon: { pid: 17, announcement: "damaged" } },
      "BROKEN",
      /^The daemon \(process 17\) is using this home, but commands can't find it, because daemon\.json is damaged\.$/,
      "meter stop && meter start",
    ],
    [
      "a daemon whose daemon.json names another process, and its own is not known",
      { daemon: null, unresponsiveDaemon: { pid: null, announcement: "stale" } },
      "BROKEN",
      /^The daemon is using this home, but .* names another process\.$/,
      "meter stop && meter start",
    ],
    [
      "a daemon that can't write daemon.json",
      { daemon: null, unresponsiveDaemon: { pid: 17, announcement: "absent" } },
      "BROKEN",
      /because daemon\.json is missing\.$/,
      "meter stop && meter start",
    ],
    [
      "a daemon that hangs, and its process is not known",
      { daemon: null, unresponsiveDaemon: { pid: null } },
      "BROKEN",
      /hangs\. It holds/,
      null,
    ],
    [
      "a daemon that does not respond on a full disk",
      { daemon: null, unresponsiveDaemon: { pid: 17 }, freeDiskBytes: 0 } as never,
      "BROKEN",
      /^The daemon \(process 17\) does not respond\. The disk is full, so it may not have been able to write daemon\.json\.$/,
      null,
    ],
    [
      "such a daemon whose process is not known",
      { daemon: null, unresponsiveDaemon: { pid: null }, freeDiskBytes: 0 } as never,
      "BROKEN",
      /^The daemon does not respond\. The disk is full/,
      null,
    ],
    [
      "and on Windows, a daemon that hangs",
      { daemon: null, unresponsiveDaemon: { pid: 17 }, platform: "win32" } as never,
      "BROKEN",
      /The daemon hangs/,
      null,
    ],
    [
      "a configuration that can't be read",
      { configProblem: "/h/config.toml is not valid TOML. Fix line 3, column 7." } as never,
      "BROKEN",
      /line 3, column 7\. A running daemon keeps the last configuration that it could read\.$/,
      null,
    ],
    [
      "a check that did not end",
      { overdue: { bypass: 9 } },
      "INCONSISTENT",
      /^This check did not finish within 9 s\.$/,
      null,
    ],
    [
      "another program on its port",
      { daemon: null, proxy: { inUse: true } },
      "BROKEN",
      /another program listens on its port 8081/,
      "ss -ltnp 'sport = :8081'",
    ],
    [
      "and on macOS",
      { daemon: null, proxy: { inUse: true }, platform: "darwin" } as never,
      "BROKEN",
      /another program listens/,
      "lsof -nP -iTCP:8081 -sTCP:LISTEN",
    ],
    [
      "and on Windows",
      { daemon: null, proxy: { inUse: true }, platform: "win32" } as never,
      "BROKEN",
      /another program listens/,
      "netstat -ano | findstr :8081",
    ],
    ["a daemon that cannot store", { daemon: { capturing: false } }, "BROKEN", /cannot store/, null],
    [
      "a daemon that cannot store, and says why",
      { daemon: { capturing: false, storeProblem: "no disk space for the database: /m" } },
      "BROKEN",
      /^The daemon is running but cannot store what it meters: no disk space for the database: \/m\.$/,
      null,
    ],
    [
      "a daemon that cannot store, and says how to fix that",
      {
        daemon: {
          capturing: false,
          storeProblem: "the database's file is read-only. Allow writing to it: chmod u+w '/m'",
        },
      },
      "BROKEN",
      /^The daemon is running but cannot store what it meters: the database's file is read-only\.$/,
      "chmod u+w '/m'",
    ],
    [
      "a proxy that hangs",
      { daemon: { watchdog: "unhealthy" } },
      "BROKEN",
      /The proxy does not respond/,
      restart,
    ],
    [
      "a proxy that kept hanging",
      { daemon: { watchdog: "exhausted" } },
      "BROKEN",
      /kept hanging, so calls pass without being metered/,
      restart,
    ],
    [
      "an older version runs",
      { daemon: { version: "0.3.0" } },
      "INCONSISTENT",
      /^Version 0\.3\.0 is running, but 0\.4\.0 is installed/,
      restart,
    ],
    [
      "another port was set",
      { proxy: { configuredPort: 9000 } },
      "INCONSISTENT",
      /listens on port 8081.*says 9000/,
      restart,
    ],
    ["any free port", { proxy: { configuredPort: 0 } }, "HEALTHY", /responds on port 8081/],
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
      /No service is installed/,
      "meter init",
    ],
    [
      "an unreadable record",
      { install: { record: "unreadable" } },
      "BROKEN",
      /cannot be read, so the changes/,
      null,
    ],
    [
      "the program moved",
      { install: { missingProgram: "/old/node" } },
      "BROKEN",
      /starts \/old\/node, which no longer exists/,
      "meter init --yes",
    ],
    [
      "a file changed",
      { install: { changed: ["/rc"] } },
      "INCONSISTENT",
      /Changed since meter init: \/rc/,
      "meter init --yes",
    ],
    [
      "init was killed",
      { install: { unfinished: 2 } },
      "INCONSISTENT",
      /^2 steps of meter init did not finish/,
      "meter init --yes",
    ],
    [
      "init was killed in one step",
      { install: { unfinished: 1 } },
      "INCONSISTENT",
      /^1 step of meter init did not finish/,
      "meter init --yes",
    ],
    ["no service manager", { install: { manager: null } }, "HEALTHY", /No service manager/, null],
    [
      "the self-test fails",
      { selfTest: { ok: false, message: "not metered" } },
      "BROKEN",
      /^not metered$/,
      restart,
    ],
    [
      "the self-test fails because nothing can be stored",
      { selfTest: { ok: false, message: "Not metered." }, daemon: { capturing: false } },
      "BROKEN",
      /^Not metered\.$/,
      null,
    ],
    [
      "the self-test fails because the database can't be read",
      { selfTest: { ok: false, message: "Not metered." }, database: { state: "unreadable", detail: "odd" } },
      "BROKEN",
      /^Not metered\.$/,
      null,
    ],
    [
      "the self-test fails on a full disk",
      { selfTest: { ok: false, message: "Not metered." }, freeDiskBytes: 0 } as never,
      "BROKEN",
      /^Not metered\. The disk is full\.$/,
      null,
    ],
    ["offline", { interception: "offline" }, "HEALTHY", /Not checked/, null],
    ["TLS not checked", { interception: null }, "HEALTHY", /^a call was metered$/],
    [
      "TLS is not opened",
      { interception: "not_intercepted" },
      "BROKEN",
      /does not present the meter's/,
      restart,
    ],
    [
      "no authority, while the daemon runs",
      { authority: { state: "absent", validUntil: null, replacedBy: "daemon" } },
      "BROKEN",
      /authority's files are missing/,
      restart,
    ],
    [
      "no authority before the first start",
      { daemon: null, authority: { state: "absent", validUntil: null, replacedBy: "daemon" } },
      "BROKEN",
      /There is no certificate authority yet/,
      null,
    ],
    [
      "no authority, although programs trust one",
      { daemon: null, authority: { state: "absent", validUntil: null } },
      "BROKEN",
      /authority's files are missing/,
      "meter init --yes",
    ],
    ["a damaged authority", { authority: { state: "damaged" } }, "BROKEN", /damaged/, "meter init --yes"],
    [
      "a damaged authority that no program trusts",
      { authority: { state: "damaged", replacedBy: "daemon" } },
      "BROKEN",
      /damaged/,
      restart,
    ],
    [
      "a damaged key",
      { authority: { state: "damaged", keyDamaged: true } },
      "BROKEN",
      /^The certificate authority's key is damaged\.$/,
      "mv '/home/u/.meter/ca' '/home/u/.meter/ca'.damaged && meter init --yes",
    ],
    [
      "a damaged key that no program trusts",
      { authority: { state: "absent", keyDamaged: true, replacedBy: "daemon" } },
      "BROKEN",
      /key is damaged/,
      "mv '/home/u/.meter/ca' '/home/u/.meter/ca'.damaged && meter stop && meter start",
    ],
    [
      "a damaged key while no daemon runs",
      { daemon: null, authority: { state: "damaged", keyDamaged: true, replacedBy: "daemon" } },
      "BROKEN",
      /key is damaged/,
      "mv '/home/u/.meter/ca' '/home/u/.meter/ca'.damaged && meter start",
    ],
    [
      "an expired authority",
      { authority: { state: "expiring", validUntil: now } },
      "BROKEN",
      /has expired/,
      "meter init --yes",
    ],
    [
      "an ending authority",
      { authority: { state: "expiring", validUntil: now + 9 * DAY_MS } },
      "INCONSISTENT",
      /expires in 9 days\.$/,
      "meter init --yes",
    ],
    [
      "an authority on its last day",
      { authority: { state: "expiring", validUntil: now + DAY_MS, replacedBy: "daemon" } },
      "INCONSISTENT",
      /expires in 1 day\. A restart renews it\.$/,
      restart,
    ],
    [
      "a new host",
      { authority: { state: "hosts_changed", unpermittedHosts: ["a.test"] } },
      "INCONSISTENT",
      /^1 provider host that was added is not metered yet: a\.test\. Its calls work and are in no total\.$/,
      "meter init --yes",
    ],
    [
      "new hosts, and init was cut off after it had issued their certificate",
      { authority: { state: "current", unpermittedHosts: ["a.test", "b.test", "c.test", "d.test"] } },
      "INCONSISTENT",
      /^4 provider hosts that were added are not metered yet: a\.test, b\.test, c\.test and 1 more\. Their calls work/,
      "meter init --yes",
    ],
    [
      "new hosts, and no program trusts the certificate",
      { authority: { state: "hosts_changed", unpermittedHosts: ["a.test"], replacedBy: "daemon" } },
      "INCONSISTENT",
      /may not sign for all hosts/,
      restart,
    ],
    [
      "hosts that are gone",
      { authority: { state: "hosts_changed" } },
      "INCONSISTENT",
      /may sign for hosts that are not metered/,
      "meter init --yes",
    ],
    [
      "a certificate of an earlier version",
      { authority: { state: "outdated" } },
      "INCONSISTENT",
      /not limited to TLS servers/,
      "meter init --yes",
    ],
    [
      "a certificate of an earlier version that no program trusts",
      { authority: { state: "outdated", replacedBy: "daemon" } },
      "INCONSISTENT",
      /not limited to TLS servers/,
      restart,
    ],
    [
      "a shell that left the meter, since the daemon does not run",
      { daemon: null, selfTest: null, interception: null, shell: { proxy: "none" } },
      "BROKEN",
      /This shell bypasses the meter while the daemon is not running/,
      null,
    ],
    [
      "an open key",
      { authority: { keyOpenToOthers: true } },
      "INCONSISTENT",
      /Other users can read the authority's private key/,
      "chmod 700 '/home/u/.meter/ca' && chmod 600 '/home/u/.meter/ca/key.pem'",
    ],
    [
      "trust lost",
      { authority: { systemTrusts: false } },
      "INCONSISTENT",
      /current certificate is not trusted/,
      "meter init --yes",
    ],
    [
      "never trusted",
      { authority: { systemTrusts: false, trustRecorded: false } },
      "HEALTHY",
      /do not need that/,
      "meter init",
    ],
    [
      "an old shell",
      { shell: { proxy: "none" } },
      "INCONSISTENT",
      /opened before meter init/,
      ". '/home/u/.meter/env.sh'",
    ],
    [
      "an old fish",
      { shell: { proxy: "none", variablesFile: "/home/o'u/.meter/env.fish" } },
      "INCONSISTENT",
      /opened before meter init/,
      "source '/home/o'\\''u/.meter/env.fish'",
    ],
    [
      "an old shell whose file is gone",
      { shell: { proxy: "none", variablesFile: null } },
      "INCONSISTENT",
      /opened before meter init/,
      "meter init --yes",
    ],
    [
      "a bad variable where init made none",
      { shell: { badTrustVariables: ["SSL_CERT_FILE"], variablesFile: null }, install: { apps: false } },
      "INCONSISTENT",
      /^SSL_CERT_FILE names a file/,
      "meter init --apps",
    ],
    [
      "a plain shell",
      { shell: { proxy: "none" }, install: { apps: false } },
      "HEALTHY",
      /Use meter run/,
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
      /opened before meter init/,
      "meter init --yes",
    ],
    [
      "an exception",
      { shell: { exemptHosts: ["api.openai.com"] } },
      "INCONSISTENT",
      /NO_PROXY excludes these hosts from the meter: api\.openai\.com/,
      null,
    ],
    [
      "a shell without the proxy's password",
      { shell: { lacksPassword: true } },
      "INCONSISTENT",
      /lack the password in config\.toml, so all calls through the proxy fail with 407/,
      "meter init --yes",
    ],
    [
      "a shell without the proxy's password, and init without --apps",
      { shell: { lacksPassword: true }, install: { apps: false } },
      "INCONSISTENT",
      /lack the password in config\.toml/,
      "meter init --apps",
    ],
    [
      "a lost bundle",
      { shell: { badTrustVariables: ["SSL_CERT_FILE"] } },
      "INCONSISTENT",
      /^SSL_CERT_FILE names a file/,
    ],
    [
      "a client that bypasses",
      { clients: [{ name: "node", version: "24", outcome: "bypasses", why: "unset" }] as never },
      "INCONSISTENT",
      /^node 24, from this shell: bypasses the proxy, so its calls are not metered: unset$/,
      ". '/home/u/.meter/env.sh'",
    ],
    [
      "a client that is too old",
      { clients: [{ name: "node", version: "20", outcome: "outdated", why: "too old" }] as never },
      "INCONSISTENT",
      /^node 20, from this shell: cannot use a proxy, so its calls are not metered: too old$/,
      null,
    ],
    [
      "a client that distrusts",
      {
        clients: [{ name: "curl", version: null, outcome: "distrusts", why: null }] as never,
        shell: { proxy: "none" },
      },
      "INCONSISTENT",
      /^curl, under meter run: rejects/,
      null,
    ],
    [
      "a client that is too slow",
      { clients: [{ name: "curl", version: null, outcome: "timed_out", why: null }] as never },
      "HEALTHY",
      /^curl, from this shell: did not finish its test call in time/,
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
      /not run, because that requires a login/,
    ],
    [
      "traffic past the meter",
      { bypassing: [{ host: "api.x.ai", pid: 7, program: "node" }] as never },
      "INCONSISTENT",
      /^node \(process 7\) has a connection to an address of api\.x\.ai/,
      null,
    ],
    [
      "traffic of an unknown program",
      { bypassing: [{ host: "api.x.ai", pid: null, program: null }] as never },
      "INCONSISTENT",
      /^A program has a connection/,
    ],
    [
      "gaps in the coverage",
      { unmetered: ["3 WebSocket sessions"] as never },
      "INCONSISTENT",
      /^Not metered in the last 24 hours: 3 WebSocket sessions/,
    ],
    [
      "a program that rejects the certificate",
      {
        daemon: {
          endedUnused: 4,
          distrusting: [
            { name: "gemini-cli", runtime: "node", host: "api.openai.com", rejected: 3, unused: 1 },
          ],
        },
      },
      "INCONSISTENT",
      /^gemini-cli \(node\) rejected the meter's certificate on 3 connections to api\.openai\.com, .* NODE_EXTRA_CA_CERTS to \/home\/u\/\.meter\/ca\/ca\.pem/,
      "meter run -- <command>",
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
    ["no database", { database: { state: "absent" } }, "HEALTHY", /Nothing has been metered yet/],
    [
      "a damaged database",
      { database: { state: "corrupt", detail: "*** in database main ***\nTree 2 page 7: odd" } },
      "BROKEN",
      /^The database cannot be read: Tree 2 page 7: odd\. /,
      restart,
    ],
    [
      "a damaged database of which no more is known",
      { database: { state: "corrupt", detail: null } },
      "BROKEN",
      /^The database cannot be read: corrupt\. /,
      restart,
    ],
    [
      "a database whose problem is a sentence",
      { database: { state: "unreadable", detail: "another program locks it." } },
      "BROKEN",
      /^The database cannot be read: another program locks it\.$/,
      null,
    ],
    [
      "a database that is locked",
      { database: { state: "unreadable", detail: null } },
      "BROKEN",
      /^The database cannot be read: unreadable\.$/,
      null,
    ],
    [
      "a database whose mode is wrong",
      {
        database: { state: "unreadable", detail: "the file can't be read. Allow reading it: chmod u+rw 'x'" },
      },
      "BROKEN",
      /^The database cannot be read: the file can't be read\.$/,
      "chmod u+rw 'x'",
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
      /^The newest price is 91 days old\.$/,
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
      /^The newest price is 91 days old\.$/,
      "meter pricing pull --source litellm",
    ],
    [
      "a clock behind",
      { now: Date.parse("2026-10-30") } as never,
      "BROKEN",
      /earlier than the prices of 2026-11-01/,
      "sudo timedatectl set-ntp true",
    ],
    [
      "and on macOS",
      { now: Date.parse("2026-10-30"), platform: "darwin" } as never,
      "BROKEN",
      /earlier than the prices/,
      "sudo sntp -sS time.apple.com",
    ],
    [
      "and on Windows",
      { now: Date.parse("2026-10-30"), platform: "win32" } as never,
      "BROKEN",
      /earlier than the prices/,
      "w32tm /resync",
    ],
    [
      "a database too large to read whole",
      { database: { pages: "unread" } } as never,
      "HEALTHY",
      /^The database opens\. Its pages were not checked, because it is larger than 2 GiB\.$/,
    ],
    [
      "requests that the daemon has not summed up yet",
      { database: { unsummed: MAX_UNSUMMED_REQUESTS + 1 } },
      "HEALTHY",
      /^Reports are slow, because they read 10001 requests one by one\. The daemon sums these up in the background\.$/,
      null,
    ],
    [
      "and no daemon that does so",
      { database: { unsummed: MAX_UNSUMMED_REQUESTS + 1 }, daemon: null },
      "BROKEN",
      /^Reports are slow, /,
      "meter start",
    ],
    [
      "a clock that went back",
      { database: { newestRequestAt: now + CLOCK_TOLERANCE_MS + 1 } },
      "INCONSISTENT",
      /The clock was set back/,
    ],
    [
      "little space",
      { freeDiskBytes: LOW_DISK_BYTES - 1 } as never,
      "INCONSISTENT",
      /^499 MiB are free; the meter's database takes 100 MiB\.$/,
      "meter prune --before 2026-08-23",
    ],
    [
      "no space, and it is not the meter that takes it",
      { freeDiskBytes: FULL_DISK_BYTES - 1, database: { bytes: 1 } } as never,
      "BROKEN",
      /^19 MiB are free; the meter's database takes 1 MiB\. Delete other files on the disk of \S+\.$/,
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
      "a ledger that the cloud changed",
      { cloud: { banner: "ACTIVE", reasons: [], ledgerFault: "The ledger was changed." } },
      "INCONSISTENT",
      /^The ledger was changed\.$/,
      "meter cloud ledger",
    ],
    [
      "no cloud",
      { cloud: { banner: "NOT-CONFIGURED", reasons: ["not_enabled"] } },
      "HEALTHY",
      /nothing is sent to a cloud/,
    ],
    [
      "a warning",
      { configWarnings: ["proxy.prot: is not a setting"] as never },
      "INCONSISTENT",
      /proxy\.prot/,
    ],
  ];
  for (const [name, by, verdict, message, fixCommand] of table) {
    it(`returns ${verdict} for ${name}`, () => {
      const diagnosis = diagnose(change(by));
      const finding = diagnosis.findings.find((each) => message.test(each.message));
      assert.ok(finding, JSON.stringify(diagnosis.findings));
      assert.equal(diagnosis.verdict, verdict);
      if (fixCommand !== undefined) assert.equal(finding.fixCommand, fixCommand);
    });
  }
});

describe("newFindings()", () => {
  it("returns each check's findings once, when the last of its facts is known", () => {
    const facts = Object.entries(well);
    const given = facts.flatMap((_, at) =>
      newFindings(Object.fromEntries(facts.slice(0, at)), Object.fromEntries(facts.slice(0, at + 1))),
    );
    const inOrder = (findings: readonly { check: string; message: string }[]) =>
      findings.map(({ check, message }) => `${check} ${message}`).sort();
    assert.deepEqual(inOrder(given), inOrder(diagnose(well).findings));
    assert.deepEqual(newFindings({}, { daemon: null }), []);
  });

  it("drops the ok findings of an overdue check", () => {
    const found = newFindings({}, { ...well, overdue: { bypass: 9 } }).filter(
      ({ check }) => check === "bypass",
    );
    assert.deepEqual(
      found.map(({ level, message }) => [level, message]),
      [["inconsistent", "This check did not finish within 9 s."]],
    );
  });
});
