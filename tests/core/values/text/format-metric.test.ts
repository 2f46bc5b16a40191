import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatLabels, formatMetric } from "../../../../core/values/text/format-metric.ts";

describe("formatMetric()", () => {
  it("writes help, type and a line for each sample, without the last line feed", () => {
    assert.equal(
      formatMetric("calls_total", "counter", "Calls.", [
        [{ outcome: "ok", model: "m" }, 2],
        [{}, "0.5"],
      ]),
      '# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total{outcome="ok",model="m"} 2\ncalls_total 0.5',
    );
  });

  it("appends the suffix to the name of a sample", () => {
    const text = formatMetric("wait_seconds", "histogram", "Waits.", [
      [{ le: "+Inf" }, 1, "_bucket"],
      [{}, 3, "_sum"],
    ]);
    assert.deepEqual(text.split("\n").slice(2), ['wait_seconds_bucket{le="+Inf"} 1', "wait_seconds_sum 3"]);
  });
});

describe("formatLabels()", () => {
  it("escapes backslashes, quotes and line feeds", () => {
    assert.equal(formatLabels({ a: '\\ " \n' }), '{a="\\\\ \\" \\n"}');
  });

  it("is empty without labels", () => {
    assert.equal(formatLabels({}), "");
  });
});
