import { BUNDLED_RATES_DATE, BUNDLED_RATES_SOURCE } from "../../../core/pricing/bundled-rates.data.ts";
import type { RateOrigin } from "../../../core/pricing/rates.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { currentRates } from "../../records/current-rates.ts";
import { printable } from "../../render/printable.ts";
import { readPullState } from "./pull-state.ts";

const CLOUD = "the connected cloud";

const originName = (origin: RateOrigin | undefined): string =>
  origin === undefined || origin.name === "cloud" ? CLOUD : origin.name;

/** The options of `meter pricing status`. */
export interface ShowPricingStatusOptions {
  readonly json: boolean;
}

/** Shows where the rates come from and how old they are. */
export async function showPricingStatus(
  context: CommandContext,
  options: ShowPricingStatusOptions,
): Promise<void> {
  const rows = await currentRates(context.env);
  const inForce = { bundled: 0, auto: 0, operator: 0 };
  for (const row of rows) inForce[row.source] += 1;
  const ageDays = Math.floor((Date.now() - Date.parse(BUNDLED_RATES_DATE)) / 86_400_000);
  const { home } = context;
  const { pricing } = (await readConfig(home, context.env)).config;
  const pull = await readPullState(home, pricing);
  if (options.json) {
    return context.printJson({
      ...{
        bundled_date: BUNDLED_RATES_DATE,
        bundled_source: BUNDLED_RATES_SOURCE,
        bundled_age_days: ageDays,
      },
      in_force: inForce,
      pull,
    });
  }
  const minute = (iso: string | null) =>
    iso === null ? "never" : `${iso.slice(0, 16).replace("T", " ")} UTC`;
  const selected = pull.pull_url ?? (pull.source === "cloud" ? null : pull.source) ?? CLOUD;
  const pulled = rows.filter(({ source }) => source === "auto").map(({ origin }) => originName(origin));
  // Pulled or imported rates may come from another list than the selected one.
  const from = pulled.length === 0 ? selected : [...new Set(pulled)].sort().join(", ");
  return context.print(
    [
      `bundled   ${formatQuantity(inForce.bundled, "model")}, dated ${BUNDLED_RATES_DATE} (${ageDays} days old), from ${BUNDLED_RATES_SOURCE}`,
      inForce.auto === 0 && pull.last_pull_at === null
        ? "pulled    never"
        : `pulled    ${formatQuantity(inForce.auto, "model")}, from ${printable(from)}; last pull: ${minute(pull.last_pull_at)}`,
      ...(pull.last_error === null
        ? []
        : [`failed    ${minute(pull.last_failed_at)}: ${printable(pull.last_error)}; no rates changed`]),
      `operator  ${formatQuantity(inForce.operator, "model")}, from config.toml`,
      pull.auto_pull
        ? `auto-pull on, every ${pull.interval_seconds / 3600} h; next pull: ${pull.next_pull_at === null ? "now" : minute(pull.next_pull_at)}`
        : "auto-pull off",
      ...(pull.auto_pull
        ? []
        : [
            "Pull once: meter pricing pull --source litellm",
            "Pull every six hours: meter pricing auto-pull --source litellm",
          ]),
    ].join("\n"),
  );
}
