import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { onNodeOnly, plainEnvironment, runProgram, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";

/** A separate network, in which two addresses act as two machines. It has no other traffic. */
const inOwnNetwork = (command: string) => [
  ...["unshare", "--net", "--map-root-user", "sh", "-c"],
  `ip link set lo up && ip address add 192.0.2.1/32 dev lo && ip address add 192.0.2.2/32 dev lo && ${command}`,
];

function whyNot(): string | false {
  if (onNodeOnly) return onNodeOnly;
  const [command = "", ...words] = inOwnNetwork("true");
  return spawnSync(command, words).status === 0 ? false : "needs unshare(1), ip(8) and user namespaces";
}

interface Outcome {
  generated: {
    password: string;
    mode: number;
    statuses: Record<string, number>;
    printed: string;
    log: string;
    code: number;
  };
  login: {
    none: number;
    local: number;
    right: number;
    firstWrong: number[];
    nextWrong: number;
    throttled: string;
    localMeanwhile: number;
  };
  open: { status: number; warnings: string[] };
}

describe("a proxy that listens beyond this machine", { skip: whyNot(), timeout: SUITE_TIMEOUT_MS }, () => {
  let outcome: Outcome;
  before(async () => {
    const script = fileURLToPath(new URL("./lan-scenario.rig.ts", import.meta.url));
    const run = await runProgram(inOwnNetwork(`exec '${process.execPath}' '${script}'`), {
      env: plainEnvironment(),
    });
    assert.equal(run.code, 0, run.stderr);
    outcome = JSON.parse(run.stdout);
  });

  it("generates a password if none is set, readable only by its owner, and never logs it", () => {
    const { password, mode, printed, log, code } = outcome.generated;
    assert.match(password, /^[\w-]{24}$/);
    assert.equal(mode & 0o777, 0o600);
    assert.match(printed, /^meter: Listening beyond this machine, on 192\.0\.2\.1/m);
    assert.match(
      printed,
      /^meter: Programs on other machines log in with the password in .*proxy-password\.$/m,
    );
    assert.ok(!printed.includes(password) && !log.includes(password));
    assert.equal(code, 0);
  });

  it("connects an authenticated client on another machine neither to this machine nor to a private network", () => {
    assert.deepEqual(outcome.generated.statuses, {
      loopback: 403,
      name: 403,
      mapped: 403,
      own: 403,
      private: 403,
      metadata: 403,
    });
  });

  it("requires the generated password from other machines, and none from this one", () => {
    assert.deepEqual([outcome.login.none, outcome.login.right, outcome.login.local], [407, 200, 200]);
  });

  it("answers 429 after five wrong passwords, also to the right one, but never to this machine", () => {
    const { firstWrong, nextWrong, throttled, localMeanwhile } = outcome.login;
    assert.deepEqual(firstWrong, [407, 407, 407, 407, 407]);
    assert.equal(nextWrong, 429);
    assert.match(throttled, /^HTTP\/1\.1 429 Too Many Requests\r\n[\s\S]*^Retry-After: \d+\r$/m);
    assert.equal(localMeanwhile, 200);
  });

  it("accepts all clients if configured, with a warning, but connects them to no more targets", () => {
    assert.equal(outcome.open.status, 403);
    assert.ok(
      outcome.open.warnings.some((warning) => warning.includes("because require_authorization is false")),
    );
  });
});
