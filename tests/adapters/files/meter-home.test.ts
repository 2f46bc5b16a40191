import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { findUserHome, meterHome } from "../../../adapters/files/meter-home.ts";
import { findLogLocations } from "../../../cli/records/offer-import.ts";

describe("meterHome()", () => {
  const cases: readonly [home: string | undefined, path: string][] = [
    [undefined, join(homedir(), ".meter")],
    ["", join(homedir(), ".meter")],
    ["/tmp/meter", resolve("/tmp/meter")],
    ["/tmp/meter/", resolve("/tmp/meter")],
  ];
  for (const [home, path] of cases) {
    it(`returns ${path} for METER_HOME=${home}`, () => assert.equal(meterHome({ METER_HOME: home }), path));
  }

  const refused: readonly [home: string, meant: string][] = [
    ["relative/meter", resolve("relative/meter")],
    [".", resolve(".")],
    ["~", homedir()],
    ["~/my meter", join(homedir(), "my meter")],
    ["~other/meter", resolve("~other/meter")],
  ];
  for (const [home, meant] of refused)
    it(`refuses METER_HOME=${home}, and names ${meant}`, () => {
      assert.throws(() => meterHome({ METER_HOME: home }), {
        name: "RelativeHomeError",
        message: `METER_HOME is a relative path, "${home}", and so another folder in each working directory.`,
        meant,
      });
    });
});

/** A user id that no system has. */
const NO_USER = 3_999_999_999;

describe("a user without a home folder", {
  skip: process.getuid?.() === 0 ? false : "only root can become another user",
}, () => {
  /** Runs the work as a user whom neither the environment nor the system gives a home folder. */
  function asNobody<Result>(work: () => Result): Result {
    const { HOME } = process.env;
    delete process.env.HOME;
    process.seteuid?.(NO_USER);
    try {
      return work();
    } finally {
      process.seteuid?.(0);
      if (HOME !== undefined) process.env.HOME = HOME;
    }
  }

  it("has no home folder, and no logs in it", () => {
    assert.equal(asNobody(findUserHome), null);
    assert.deepEqual(
      asNobody(() => findLogLocations({})),
      [],
    );
  });

  it("is told to set METER_HOME", () => {
    assert.throws(
      () => asNobody(() => meterHome({})),
      /^Error: This user has no home folder\. Set METER_HOME to a folder for the meter's data\.$/,
    );
  });
});
