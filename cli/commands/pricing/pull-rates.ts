import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import type { RatesRequest, RefreshRatesResult } from "../../../daemon/cloud/results.ts";
import { withCloud } from "../../cloud/cloud-control.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { printable } from "../../render/printable.ts";
import { checkSourceName } from "./check-source-name.ts";
import { renderDiff, renderPull } from "./render-verdict.ts";

/** The options of `meter pricing pull`. */
export interface PullRatesOptions {
  readonly source: string | undefined;
}

/** The options of `meter pricing diff`. */
export interface DiffRatesOptions extends PullRatesOptions {
  readonly all: boolean;
}

/** Pulls the published rates now. */
export async function pullRates(context: CommandContext, { source }: PullRatesOptions): Promise<void> {
  context.print(describeResult(await requestRates(context, { source: checked(source) })));
}

/** Shows what a pull would change. */
export async function diffRates(context: CommandContext, { source, all }: DiffRatesOptions): Promise<void> {
  const result = await requestRates(context, { source: checked(source), dryRun: true });
  context.print(
    result.kind === "listed"
      ? renderDiff(result, all ? Number.POSITIVE_INFINITY : 20)
      : describeResult(result),
  );
}

function checked(source: string | undefined): string | null {
  if (source !== undefined) checkSourceName(source);
  return source ?? null;
}

/** Asks the cloud service for rates. */
export async function requestRates(
  context: CommandContext,
  request: RatesRequest,
): Promise<RefreshRatesResult> {
  return await withCloud(context, (cloud) => cloud.refreshRates(request));
}

/** Describes a successful pull for people. Throws for a failed one. */
export function describeResult(result: RefreshRatesResult): string {
  switch (result.kind) {
    case "updated":
      return `Pulled ${formatQuantity(result.rates, "rate")}, published on ${printable(result.publishedAt)}.`;
    case "not_modified":
      return "The rates have not changed.";
    case "listed":
      return renderPull(result);
    case "unreadable":
      throw new CommandFailure(`The price list was rejected: it ${result.problem}. No rates changed.`);
    case "not_configured":
    case "unknown_source":
      throw new CommandFailure(
        "There is no source to pull rates from. Name a public price list, or connect to a cloud.\nPull: meter pricing pull --source litellm\nConnect: meter cloud connect",
      );
    case "not_https":
      throw new CommandFailure("Rates are pulled only over https, and the address is not https.");
    case "invalid":
      throw new CommandFailure(
        `The pull was rejected; no rates changed:\n${result.problems
          .slice(0, 10)
          .map(({ provider, model, field, problem }) =>
            printable(`  ${provider} ${model}, ${field}: ${problem}`),
          )
          .join("\n")}`,
      );
    case "failed":
      throw new CommandFailure(`The rates could not be pulled: ${result.error}.`);
  }
}
