import process from "node:process";
import type { CloudMetrics } from "../../core/ports/cloud-metrics.ts";
import type { DatabasePool } from "../../core/ports/postgres.ts";
import { createCounter, createGauge, createHistogram, type Instrument } from "./instruments.ts";

/** The media type of Prometheus' text form. */
export const METRICS_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Upper bounds of the answers' times, seconds: from a rate's 304 to a pairing poll that waits 25 s. */
const DURATIONS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Methods that are told apart; a client may send any word as one. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** The cloud's counters, with what makes a page of them. */
export interface CloudMetricsPage extends CloudMetrics {
  /** All metrics in Prometheus' text form. */
  text(): string;
}

/** Makes the counters; `pool` says how the database's connections stand, where there is a pool. */
export function createCloudMetrics(pool: (() => DatabasePool) | null): CloudMetricsPage {
  const startedAt = Date.now() / 1_000;
  const requests = createCounter(
    "meter_cloud_http_requests_total",
    "Answers, by route pattern, method and status.",
  );
  const durations = createHistogram(
    "meter_cloud_http_request_duration_seconds",
    "Time until an answer's head was ready, by route pattern and method.",
    DURATIONS_S,
  );
  const records = createCounter("meter_cloud_ingested_records_total", "Records of batches, by outcome.");
  const batches = createCounter(
    "meter_cloud_ingested_batches_total",
    "Batches that were answered record by record.",
  );
  const poolGauge = (name: string, help: string, read: (now: DatabasePool) => number): Instrument[] =>
    pool === null ? [] : [createGauge(`meter_cloud_database_connections_${name}`, help, () => read(pool()))];
  const all: Instrument[] = [
    requests,
    durations,
    records,
    batches,
    ...poolGauge("open", "Connections to the database.", ({ open }) => open),
    ...poolGauge("idle", "Connections that nobody uses.", ({ idle }) => idle),
    ...poolGauge("max", "Most connections at once.", ({ max }) => max),
    ...poolGauge("waiting", "Callers that wait for a connection.", ({ waiting }) => waiting),
    createGauge(
      "process_start_time_seconds",
      "When the process started, seconds since 1970.",
      () => startedAt,
    ),
    createGauge("process_resident_memory_bytes", "Memory in use.", () => process.memoryUsage.rss()),
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
  const name = "process_cpu_seconds_total";
  return {
    text() {
      const { user, system } = process.cpuUsage();
      return `# HELP ${name} Processor time.\n# TYPE ${name} counter\n${name} ${(user + system) / 1e6}`;
    },
  };
}
