import assert from "node:assert/strict";
import { describe, it } from "node:test";

describe("applyZoneFile()", () => {
  for (const [given, expected] of [
    [":/etc/localtime", undefined],
    ["/etc/localtime", undefined],
    [":/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"],
    ["/usr/share/zoneinfo/posix/America/Argentina/Salta", "America/Argentina/Salta"],
    ["/var/db/timezone/zoneinfo/UTC", "UTC"],
    [":/home/ann/zone", ":/home/ann/zone"],
    ["Europe/Berlin", "Europe/Berlin"],
    [":Europe/Berlin", ":Europe/Berlin"],
    ["", ""],
    [undefined, undefined],
  ] as const)
    it(`makes ${expected ?? "no TZ"} of ${given ?? "no TZ"}`, async () => {
      const { applyZoneFile } = await import(new URL("../../cli/time-zone.js", import.meta.url).href);
      const env = { TZ: given };
      applyZoneFile(env);
      assert.equal(env.TZ, expected);
    });
});
