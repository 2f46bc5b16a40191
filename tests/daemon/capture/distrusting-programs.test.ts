import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createDistrustingPrograms,
  readInterceptedEnd,
} from "../../../daemon/capture/distrusting-programs.ts";

const gemini = { name: "gemini-cli", runtime: "node" };
const agent = { name: "agent.py", runtime: "python3" };
const host = "api.openai.com";

describe("readInterceptedEnd()", () => {
  const table = [
    [true, "client_aborted", "ECONNRESET", "used"],
    [false, "client_aborted", "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", "rejected"],
    [false, "client_aborted", "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE", "rejected"],
    [false, "client_aborted", "ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN", "rejected"],
    [false, "clean", null, "unused"],
    [false, "upstream_tls", "CERT_HAS_EXPIRED", null],
    [false, "proxy_lost", null, null],
  ] as const;
  for (const [wasUsed, reason, code, outcome] of table)
    it(`takes ${wasUsed} ${reason} ${code} for ${outcome}`, () =>
      assert.equal(readInterceptedEnd(wasUsed, reason, code), outcome));
});

describe("createDistrustingPrograms()", () => {
  it("counts by program, latest first, until the program sends a request", () => {
    const programs = createDistrustingPrograms();
    programs.ended(gemini, { outcome: "unused", host, at: 1 });
    programs.ended(agent, { outcome: "rejected", host, at: 2 });
    programs.ended(gemini, { outcome: "rejected", host, at: 3 });
    assert.deepEqual(programs.list(), [
      { ...gemini, host, rejected: 1, unused: 1, trustsEarlier: false, lastSeenAt: 3 },
      { ...agent, host, rejected: 1, unused: 0, trustsEarlier: false, lastSeenAt: 2 },
    ]);
    programs.ended(gemini, { outcome: "used", host, at: 4 });
    assert.deepEqual(
      programs.list().map(({ name }) => name),
      ["agent.py"],
    );
  });

  it("ignores an unused connection of a program that trusts the certificate, but no rejection", () => {
    const programs = createDistrustingPrograms();
    programs.ended(gemini, { outcome: "used", host, at: 1 });
    programs.ended(gemini, { outcome: "unused", host, at: 2 });
    assert.deepEqual(programs.list(), []);
    programs.ended(gemini, { outcome: "rejected", host, at: 3 });
    assert.equal(programs.list().length, 1);
  });

  it("counts the unused connections of programs that trust the certificate, known before or since", () => {
    const programs = createDistrustingPrograms();
    programs.ended(gemini, { outcome: "unused", host, at: 1 });
    programs.ended(gemini, { outcome: "rejected", host, at: 2 });
    assert.equal(programs.unusedByTrusting(), 0);
    programs.ended(gemini, { outcome: "used", host, at: 3 });
    assert.equal(programs.unusedByTrusting(), 1);
    programs.ended(gemini, { outcome: "unused", host, at: 4 });
    programs.ended(gemini, { outcome: "rejected", host, at: 5 });
    programs.ended(agent, { outcome: "unused", host, at: 6 });
    assert.equal(programs.unusedByTrusting(), 2);
  });

  it("tells that a program trusts an earlier certificate, which covers only the hosts that it uses", () => {
    const programs = createDistrustingPrograms();
    const added = "api.added.test";
    const names = () =>
      programs.list().map(({ trustsEarlier, rejected, unused }) => [trustsEarlier, rejected, unused]);
    programs.ended(agent, { outcome: "used", host, at: 1 });
    programs.ended(agent, { outcome: "rejected", host: added, at: 2 });
    assert.deepEqual(names(), [[true, 1, 0]]);
    programs.ended(agent, { outcome: "used", host, at: 3 });
    assert.deepEqual(names(), [[true, 1, 0]]);
    programs.ended(agent, { outcome: "used", host: added, at: 4 });
    assert.deepEqual(names(), []);
    programs.ended(agent, { outcome: "unused", host: added, at: 5 });
    assert.deepEqual(names(), []);
  });

  it("lists one that sends no alert only if it keeps ending connections to a host that it never uses", () => {
    const programs = createDistrustingPrograms();
    const unused = { outcome: "unused", host: "api.added.test", at: 2 } as const;
    programs.ended(gemini, { outcome: "used", host, at: 1 });
    for (const count of [0, 0, 1]) {
      programs.ended(gemini, unused);
      assert.equal(programs.list().length, count);
    }
    assert.equal(programs.list()[0]?.trustsEarlier, true);
  });

  it("remembers a bounded number of hosts", () => {
    const programs = createDistrustingPrograms();
    for (let at = 0; at < 100; at += 1) programs.ended(agent, { outcome: "used", host: `h${at}.test`, at });
    programs.ended(agent, { outcome: "unused", host: "h0.test", at: 101 });
    programs.ended(agent, { outcome: "rejected", host: "h0.test", at: 102 });
    assert.deepEqual(
      programs.list().map(({ trustsEarlier }) => trustsEarlier),
      [false],
    );
  });

  it("is bounded", () => {
    const programs = createDistrustingPrograms();
    for (let at = 0; at < 1_000; at += 1)
      programs.ended({ name: `p${at}`, runtime: "go" }, { outcome: "rejected", host, at });
    assert.equal(programs.list().length, 128);
    assert.equal(programs.list()[0]?.name, "p999");
  });
});
