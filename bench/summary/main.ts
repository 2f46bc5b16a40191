// `npm run bench:summary`: writes `docs/performance.md` and its plots from the stored results of the benches.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BenchResult, RESULTS_FOLDER } from "./results.ts";
import { writePage } from "./write-page.ts";

const docs = join(import.meta.dirname, "../../docs");

const results = readdirSync(RESULTS_FOLDER)
  .filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(join(RESULTS_FOLDER, name), "utf8")) as BenchResult);
rmSync(join(docs, "performance"), { recursive: true, force: true });
mkdirSync(join(docs, "performance"), { recursive: true });
for (const [path, text] of writePage(results)) writeFileSync(join(docs, path), text);
console.log(`docs/performance.md: ${results.map(({ bench }) => bench).join(", ")}`);
