/**
 * `npm run bench:scale`: computes how many daemons one, three and thirty machines can serve, and writes it into `docs/scale.md`. `--measure`
 * first measures the processor time and disk space that records need on this machine (Linux, PostgreSQL 15; some minutes for a million
 * records) and saves them in `bench/scale/measured.json`. `--partitions` only compares one table of requests with partitions by month, and
 * prints the result.
 *
 * `node bench/scale/main.ts [--measure] [--partitions] [--records 1000000]`
 */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { type Measured, measureCloud } from "./measure-cloud.ts";
import { measurePartitions } from "./measure-partitions.ts";
import { insertModel } from "./write-page.ts";

const { values } = parseArgs({
  options: {
    measure: { type: "boolean", default: false },
    partitions: { type: "boolean", default: false },
    records: { type: "string", default: "1000000" },
  },
});
const measuredFile = join(import.meta.dirname, "measured.json");
const page = join(import.meta.dirname, "../../docs/scale.md");

if (values.partitions) {
  console.log(JSON.stringify(await measurePartitions(Number(values.records)), null, 2));
  process.exit(0);
}
if (values.measure) {
  const measured = await measureCloud(Number(values.records), {
    date: new Date().toISOString().slice(0, 10),
    machine: `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}`,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  });
  writeFileSync(measuredFile, `${JSON.stringify(measured, null, 2)}\n`);
  console.log(JSON.stringify(measured, null, 2));
}
const measured = JSON.parse(readFileSync(measuredFile, "utf8")) as Measured;
writeFileSync(page, insertModel(readFileSync(page, "utf8"), measured));
