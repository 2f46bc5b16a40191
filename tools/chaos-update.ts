/**
 * `npm run chaos:update -- --from COMMIT --rounds N --seed S`: runs the cloud of an earlier commit and this one on one PostgreSQL database
 * under load, while the database is migrated and processes are replaced by either version. Exits with 1 unless every acknowledged record is
 * then stored once and every rollup is the sum of its records. By default, the commit is the last one without this version's latest migration.
 */
import { execFileSync } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import { isExact, runUpdateChaos } from "../tests/chaos/chaos-update.ts";

const { values } = parseArgs({
  options: {
    from: { type: "string" },
    rounds: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now()) },
    workspaces: { type: "string", default: "4" },
  },
});
const git = (...words: readonly string[]) => execFileSync("git", words, { encoding: "utf8" }).trim();
const latest = () => git("log", "-1", "--diff-filter=A", "--format=%H", "--", "cloud/store/migrations");
const result = await runUpdateChaos(
  {
    from: git("rev-parse", values.from ?? `${latest()}^`),
    ...{ rounds: Number(values.rounds), seed: values.seed, workspaces: Number(values.workspaces) },
  },
  (line) => process.stdout.write(`${line}\n`),
);
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
process.exit(isExact(result) ? 0 : 1);
