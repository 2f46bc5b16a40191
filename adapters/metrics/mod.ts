/**
 * What the cloud counts of itself, as a page of Prometheus' text form.
 *
 * ```ts
 * import { createCloudMetrics } from "./mod.ts";
 *
 * const metrics = createCloudMetrics(null);
 * metrics.recordsIngested({ accepted: 3, duplicates: 1, rejected: 0 });
 * console.log(metrics.text().includes('meter_cloud_ingested_records_total{outcome="accepted"} 3')); // true
 * ```
 *
 * @module
 */
export { type CloudMetricsPage, createCloudMetrics, METRICS_MEDIA_TYPE } from "./create-cloud-metrics.ts";
