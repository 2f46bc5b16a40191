import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { withCloud } from "../../cloud/cloud-control.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { printable } from "../../render/printable.ts";

/** Pulls the published rates now. */
export async function pullRates(context: CommandContext): Promise<void> {
  await withCloud(context, async (cloud) => {
    const result = await cloud.refreshRates();
    switch (result.kind) {
      case "updated":
        return context.print(
          `Pulled ${formatQuantity(result.rates, "rate")}, published on ${printable(result.publishedAt)}.`,
        );
      case "not_modified":
        return context.print("The rates have not changed.");
      case "not_configured":
        throw new CommandFailure(
          "There is no source to pull rates from. Set pull_url in config.toml, section [pricing], or connect to a cloud.\nConnect: meter cloud connect",
        );
      case "not_https":
        throw new CommandFailure("Rates are pulled only over https, and the cloud's address is not https.");
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
  });
}
