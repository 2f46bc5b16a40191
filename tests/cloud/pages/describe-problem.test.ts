import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problem } from "../../../cloud/http/problem.ts";
import { describeProblem } from "../../../cloud/pages/describe-problem.ts";

describe("describeProblem()", () => {
  it("says when to try again in the largest unit that is exact enough", async () => {
    for (const [retryAfterSeconds, wait] of [
      [1, "1 second"],
      [90, "90 seconds"],
      [91, "2 minutes"],
      [5_400, "90 minutes"],
      [5_401, "2 hours"],
      [86_400, "24 hours"],
    ] as const) {
      const refusal = problem("too_many_wrong_codes", { retryAfterSeconds });
      assert.equal(await describeProblem(refusal), `Too many wrong codes. Try again in ${wait}.`);
    }
  });

  it("prefers the page's own message, then the first field that is wrong, then the title of the problem", async () => {
    assert.equal(await describeProblem(problem("not_found"), { not_found: "No such key." }), "No such key.");
    assert.match(await describeProblem(problem("wording_unknown")), /^The wording hash matches no wording/);
    const errors = [{ field: "data_retention_days", problem: "must not be empty" }];
    assert.equal(
      await describeProblem(problem("wrong_shape", { errors })),
      "The data retention days must not be empty.",
    );
    assert.equal(await describeProblem(new Response("down", { status: 502 })), "The request was refused.");
  });
});
