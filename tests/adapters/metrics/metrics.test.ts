import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCloudMetrics } from "../../../adapters/metrics/create-cloud-metrics.ts";
import { createCounter, createHistogram } from "../../../adapters/metrics/instruments.ts";

describe("createCloudMetrics()", () => {
  it("counts responses and times by route, method and status, and records by outcome", () => {
    const metrics = createCloudMetrics(() => ({ open: 3, idle: 1, max: 10, waiting: 2 }));
    const batch = { method: "POST", route: "/v1/requests/batch", status: 200 };
    metrics.requestAnswered({ ...batch, durationMs: 30 });
    metrics.requestAnswered({ ...batch, status: 503, durationMs: 40_000 });
    metrics.recordsIngested({ accepted: 5, duplicates: 2, rejected: 1 });
    const lines = metrics.text().split("\n");
    for (const line of [
      'meter_cloud_http_requests_total{route="/v1/requests/batch",method="POST",status="200"} 1',
      'meter_cloud_http_requests_total{route="/v1/requests/batch",method="POST",status="503"} 1',
      'meter_cloud_http_request_duration_seconds_bucket{route="/v1/requests/batch",method="POST",le="0.025"} 0',
      'meter_cloud_http_request_duration_seconds_bucket{route="/v1/requests/batch",method="POST",le="0.05"} 1',
      'meter_cloud_http_request_duration_seconds_bucket{route="/v1/requests/batch",method="POST",le="+Inf"} 2',
      'meter_cloud_http_request_duration_seconds_sum{route="/v1/requests/batch",method="POST"} 40.03',
      'meter_cloud_http_request_duration_seconds_count{route="/v1/requests/batch",method="POST"} 2',
      'meter_cloud_ingested_records_total{outcome="accepted"} 5',
      'meter_cloud_ingested_records_total{outcome="duplicate"} 2',
      'meter_cloud_ingested_records_total{outcome="rejected"} 1',
      "meter_cloud_ingested_batches_total 1",
      "meter_cloud_database_connections_open 3",
      "meter_cloud_database_connections_waiting 2",
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });

  it("formats a valid page: each metric has one name and type, and every line is a sample", () => {
    const metrics = createCloudMetrics(null);
    metrics.requestAnswered({ method: "GET", route: "/v1/daemon/whoami", status: 200, durationMs: 1 });
    const text = metrics.text();
    assert.ok(text.endsWith("\n"));
    const types = text.match(/^# TYPE (\S+)/gm) ?? [];
    assert.equal(new Set(types).size, types.length);
    for (const line of text.trimEnd().split("\n")) {
      assert.match(
        line,
        /^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? \d+(?:\.\d+)?)$/,
      );
    }
  });

  it("uses one label for all unknown methods", () => {
    const metrics = createCloudMetrics(null);
    for (const method of ["BREW", "WHEN"]) {
      metrics.requestAnswered({ method, route: "/*", status: 404, durationMs: 1 });
    }
    assert.match(metrics.text(), /requests_total\{route="\/\*",method="other",status="404"\} 2\n/);
    assert.ok(!metrics.text().includes("BREW"));
  });
});

describe("an instrument", () => {
  it("escapes the values of labels", () => {
    const counter = createCounter("a_total", "A.");
    counter.add({ label: 'quote " slash \\ line \n' }, 1);
    assert.match(counter.text(), /a_total\{label="quote \\" slash \\\\ line \\n"\} 1$/);
  });

  it("limits the number of series", () => {
    const histogram = createHistogram("a_seconds", "A.", [1]);
    for (let at = 0; at < 3_000; at += 1) histogram.observe({ label: String(at) }, 1);
    assert.equal(histogram.text().match(/_count/g)?.length, 2_000);
  });
});
