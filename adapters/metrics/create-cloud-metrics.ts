import process from "node:process";
import type { CloudMetrics } from "../../core/ports/cloud-metrics.ts";
import type { DatabasePool } from "../../core/ports/postgres.ts";
import { formatMetric } from "../../core/values/text/format-metric.ts";
import { createCounter, createGauge, createHistogram, type Instrument } from "./instruments.ts";

/** The media type of Prometheus' text format. */
export const METRICS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Upper bounds of the response time buckets, in seconds: from a 304 for rates to a pairing poll that waits 25 s. */
const DURATIONS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Methods that have their own series. Clients may send any other word as a method. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** The cloud's counters, and their formatted page. */
interface CloudMetricsPage extends CloudMetrics {
  /** Returns all metrics in Prometheus' text format. */
  text(): string;
}

/** Creates the counters. `pool` returns the state of the connection pool; null if there is no pool. */
export function createCloudMetrics(pool: (() => DatabasePool) | null): CloudMetricsPage {
  const startedAt = Date.now() / 1_000;
  const requests = createCounter(
    "meter_cloud_http_requests_total",
    "Responses, by route pattern, method and status.",
  );
  const durations = createHistogram(
    "meter_cloud_http_request_duration_seconds",
    "Time until the response head was ready, by route pattern and method.",
    DURATIONS_S,
  );
  const records = createCounter("meter_cloud_ingested_records_total", "Records in batches, by outcome.");
  const batches = createCounter("meter_cloud_ingested_batches_total", "Batches with an outcome per record.");
  const poolGauge = (name: string, help: string, read: (now: DatabasePool) => number): Instrument[] =>
    pool === null ? [] : [createGauge(`meter_cloud_database_connections_${name}`, help, () => read(pool()))];
  const all: Instrument[] = [
    requests,
    durations,
    records,
    batches,
    ...poolGauge("open", "Connections to the database.", ({ open }) => open),
    ...poolGauge("idle", "Idle connections to the database.", ({ idle }) => idle),
    ...poolGauge("max", "Maximum number of connections to the database.", ({ max }) => max),
    ...poolGauge("waiting", "Callers waiting for a database connection.", ({ waiting }) => waiting),
    createGauge(
      "process_start_time_seconds",
      "Start time of the process since the Unix epoch, in seconds.",
      () => startedAt,
    ),
    createGauge("process_resident_memory_bytes", "Resident memory, in bytes.", () =>
      process.memoryUsage.rss(),
    ),
    cpuSeconds(),
  ];
  return {
    requestAnswered({ method, route, status, durationMs }) {
      const labels = { route, method: METHODS.has(method) ? method : "other" };
      requests.add({ ...labels, status: String(status) }, 1);
      durations.observe(labels, durationMs / 1_000);
    },
    recordsIngested({ accepted, duplicates, rejected }) {
      batches.add({}, 1);
      records.add({ outcome: "accepted" }, accepted);
      records.add({ outcome: "duplicate" }, duplicates);
      records.add({ outcome: "rejected" }, rejected);
    },
    text: () => `${all.map((instrument) => instrument.text()).join("\n")}\n`,
  };
}

function cpuSeconds(): Instrument {
  return {
    text() {
      const { user, system } = process.cpuUsage();
      return formatMetric("process_cpu_seconds_total", "counter", "CPU time, in seconds.", [
        [{}, (user + system) / 1e6],
      ]);
    },
  };
}
