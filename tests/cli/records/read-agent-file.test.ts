import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeReadProblem, problemJson } from "../../../cli/records/read-agent-file.ts";

const MiB = 1024 * 1024;
const full = {
  reason: "no_space",
  space: { copyBytes: 900 * MiB, keptFreeBytes: 500 * MiB, freeBytes: 1_000 * MiB },
};

describe("describeReadProblem()", () => {
  it("names the space that a copy needs, and what is free", () => {
    assert.equal(
      describeReadProblem(full),
      "it is in use, and a copy of it (900.0 MiB) does not fit beside the meter's database: 1000.0 MiB are free, and 500.0 MiB must stay free. Close its program or free some space, then try again",
    );
    assert.match(describeReadProblem({ reason: "too_large" }), /larger than 8\.0 GiB/);
    assert.equal(describeReadProblem({ reason: "EOTHER" }), "EOTHER");
  });
});

describe("problemJson()", () => {
  it("has the numbers in bytes", () => {
    assert.deepEqual(problemJson({ path: "/a.db", ...full }), {
      path: "/a.db",
      reason: "no_space",
      copy_bytes: 900 * MiB,
      kept_free_bytes: 500 * MiB,
      free_bytes: 1_000 * MiB,
    });
    assert.deepEqual(problemJson({ path: "/a.db", reason: "busy" }), { path: "/a.db", reason: "busy" });
  });
});
