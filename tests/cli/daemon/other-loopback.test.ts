import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import process from "node:process";
import { after, describe, it } from "node:test";
import { httpAddress, reachableHost } from "../../../cli/daemon/own-address.ts";
import {
  createHome,
  onNodeOnly,
  removeHome,
  runMeter,
  SUITE_TIMEOUT_MS,
} from "../../end-to-end/meter-process.rig.ts";
import { runWords } from "../run-command.rig.ts";

describe("reachableHost()", () => {
  for (const [listensOn, reached] of [
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "::1"],
    ["192.168.1.5", "192.168.1.5"],
    ["0.0.0.0", "127.0.0.1"],
    ["::", "::1"],
  ] as const) {
    it(`returns ${reached} for ${listensOn}`, () => assert.equal(reachableHost(listensOn), reached));
  }
});

describe("httpAddress()", () => {
  it("puts IPv6 in brackets, and defaults to 127.0.0.1", () => {
    assert.equal(httpAddress("::1", 80), "http://[::1]:80");
    assert.equal(httpAddress("127.0.0.2", 80), "http://127.0.0.2:80");
    assert.equal(httpAddress(undefined, 80), "http://127.0.0.1:80");
  });
});

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((each) => each?.address === "::1");

describe("a daemon on another loopback address", {
  skip: onNodeOnly || (!hasIpv6 && "this machine has no ::1"),
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  const home = createHome(["[proxy]", 'host = "::1"', "port = 0", "[api]", 'host = "::1"', "port = 0"]);
  after(async () => {
    await runWords(home, ["stop"]);
    removeHome(home);
  });

  it("can be started, queried, used and stopped like any other", async () => {
    const started = await runMeter(home, ["start"]);
    assert.deepEqual([started.code, started.stderr], [0, ""]);
    assert.match(started.stdout, /^Metering\. Proxy: http:\/\/\[::1\]:\d+ /);
    const { stdout: status } = await runWords(home, ["status"]);
    const [, proxy] = /^proxy +(http:\/\/\[::1\]:\d+) /m.exec(status) ?? [];
    assert.match(status, /^api +http:\/\/\[::1\]:\d+$/m);
    const run = await runMeter(home, ["run", "--", process.execPath, "-p", "process.env.HTTPS_PROXY"]);
    assert.equal(run.stdout.replace(/\/\/.*@/, "//"), `${proxy}\n`);
    assert.match((await runWords(home, ["open", "--print"])).stdout, /^http:\/\/\[::1\]:\d+\/\n$/);
    const doctor = await runWords(home, ["doctor", "--json"]);
    const { findings } = JSON.parse(doctor.stdout) as { findings: { check: string; level: string }[] };
    assert.equal(findings.find(({ check }) => check === "self-test")?.level, "ok", doctor.stdout);
    assert.equal((await runWords(home, ["stop"])).code, 0);
  });
});
