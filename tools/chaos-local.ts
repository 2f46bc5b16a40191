/**
 * `npm run chaos:local [-- --only NAME] [--seed S] [--list]`: causes each local fault of `docs/faults.md` on real processes
 * while calls run, and compares bytes, rows and messages with the table. Exits with 1 if anything differs, or if a fault
 * cannot be caused on this machine.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import type { FaultScenario } from "../tests/chaos/faults/fault-scenario.ts";
import { type FaultResult, faultScenarios, runFault } from "../tests/chaos/faults/run-faults.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    seed: { type: "string", default: String(Date.now()) },
    list: { type: "boolean", default: false },
  },
});

const print = (line: string) => process.stdout.write(`${line}\n`);

function describeResult(result: FaultResult): string {
  if (result.kind === "not_tested") return `NOT TESTED: ${result.why}`;
  return `${result.kind === "ok" ? "ok" : "FAILED"} (${(result.tookMs / 1_000).toFixed(1)} s)`;
}

function describe({ name, fault, data, shown }: FaultScenario): string[] {
  return [name, `  fault  ${fault}`, `  data   ${data}`, `  shown  ${shown}`];
}

const unknown = (values.only ?? []).filter((name) => !faultScenarios.some((each) => each.name === name));
if (unknown.length > 0) {
  process.stderr.write(
    `Unknown fault: ${unknown.join(", ")}. List all faults: npm run chaos:local -- --list\n`,
  );
  process.exit(2);
}
const chosen = faultScenarios.filter(({ name }) => values.only?.includes(name) ?? true);
if (values.list) {
  for (const scenario of chosen) describe(scenario).map(print);
  process.exit(0);
}
print(`seed ${values.seed}`);
const results: { scenario: FaultScenario; result: FaultResult }[] = [];
for (const scenario of chosen) {
  const result = await runFault(scenario, values.seed);
  results.push({ scenario, result });
  print(`${scenario.name}: ${describeResult(result)}`);
  if (result.kind === "failed")
    print(String(result.error instanceof Error ? result.error.stack : result.error));
}
print("");
for (const { scenario, result } of results)
  [...describe(scenario), `  result ${describeResult(result)}`].map(print);
const count = (kind: FaultResult["kind"]) => results.filter(({ result }) => result.kind === kind).length;
print(`\n${count("ok")} ok, ${count("failed")} FAILED, ${count("not_tested")} NOT TESTED`);
const figures = results.map(({ scenario, result }) => [scenario.name, describeResult(result)]);
print(JSON.stringify({ seed: values.seed, faults: Object.fromEntries(figures) }, null, 2));
process.exit(count("ok") === results.length ? 0 : 1);
