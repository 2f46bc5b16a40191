import { arch, release, version as systemVersion } from "node:os";
import process from "node:process";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { version } from "../../program/version.ts";
import { labelled } from "../../render/labelled.ts";
import { type StepResult, tryPlatform } from "./try-platform.ts";

/** The options of `meter self-test`. */
export interface RunSelfTestOptions {
  readonly report: boolean;
  readonly json: boolean;
}

const LABEL_WIDTH = 9;

/** Tries on this machine what depends on its operating system, and prints the results. */
export async function runSelfTest(context: CommandContext, options: RunSelfTestOptions): Promise<number> {
  const results: StepResult[] = [];
  const isWhole = await tryPlatform(context.home, context.env, (result) => {
    results.push(result);
    if (options.report || options.json) return;
    const { step, outcome, detail, ms } = result;
    context.print(labelled(outcome, `${step}: ${detail} (${ms} ms)`, LABEL_WIDTH, context.width));
  });
  if (!isWhole) throw new CommandFailure("The test was interrupted. Its daemon has ended.");
  const platform = describePlatform();
  if (options.json) context.printJson({ ...platform, steps: results });
  else if (options.report) context.printAsIs(renderReport(platform, results));
  return results.some(({ outcome }) => outcome === "failed") ? exitCodes.failed : exitCodes.ok;
}

function describePlatform() {
  const { bun, deno, node } = process.versions as Record<string, string | undefined>;
  const runtime = bun !== undefined ? `Bun ${bun}` : deno !== undefined ? `Deno ${deno}` : `Node ${node}`;
  return {
    meter: version,
    runtime,
    platform: `${process.platform} ${arch()}`,
    system: `${systemVersion()}, ${release()}`,
  };
}

/** Renders the results as Markdown. */
function renderReport(platform: ReturnType<typeof describePlatform>, results: readonly StepResult[]): string {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  return [
    `meter ${platform.meter}, ${platform.runtime}, ${platform.platform} (${platform.system})`,
    "",
    "| step | result | detail | ms |",
    "|---|---|---|---|",
    ...results.map(({ step, outcome, detail, ms }) => `| ${step} | ${outcome} | ${cell(detail)} | ${ms} |`),
  ].join("\n");
}
