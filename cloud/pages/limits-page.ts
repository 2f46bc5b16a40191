import { html } from "hono/html";
import { compareLimits, isLimitListed, toLimitView } from "../../core/metering/limits/limit-view.ts";
import type { LimitReading } from "../../core/metering/limits/stated-limit.ts";
import { parseInstant } from "../../core/wire/instant.ts";
import { type LimitsResponse, limitsSchema } from "../../core/wire/limit-readings.ts";
import { limitsCsv } from "../../pages/limits-file.ts";
import { createPageFile, fileFormatOf, pageFiles } from "../../pages/page-file.ts";
import { renderState } from "../../pages/states.ts";
import { type LimitWindow, renderLimits } from "../../pages/views/limits.ts";
import { readRoutePart } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { sendFile, toolsOf } from "./page-tools.ts";

const PATH = "/limits";

/**
 * `GET /w/{ws}/limits`: the windows that responses stated to the machines of the workspace. Accounts are hashes that differ by machine,
 * so each machine's readings stand for themselves. A cloud has no history of them and so no forecast.
 */
export async function showLimits(call: PageCall): Promise<PageAnswer> {
  const limits = await readWindows(call, () => true);
  const format = fileFormatOf(call.parameters);
  if (format !== null)
    return sendFile(
      call,
      createPageFile("limits", format, { csv: () => limitsCsv(limits), json: () => ({ limits }) }),
    );
  const main =
    limits.length > 0
      ? renderLimits(limits, call.place)
      : renderState(
          "No limits received",
          html`A machine sends the limits that providers state if its configuration has <code>preset = "full"</code> or <code>field.limit_readings = true</code> under <code>[cloud.upload]</code>.`,
        );
  return {
    heading: "Limits",
    path: PATH,
    main,
    tools: toolsOf(call, PATH, pageFiles(call.place.base + PATH)),
  };
}

/** Reads the windows that were seen lately, by machine. */
export async function readWindows(
  call: PageCall,
  isShown: (limit: LimitReading) => boolean,
): Promise<readonly LimitWindow[]> {
  const answer = await readRoutePart(call, PATH, limitsSchema);
  const { now } = call.place;
  return answer.limits
    .map((reading) => ({ limit: toReading(reading), machine: reading.machine_name }))
    .filter(({ limit }) => isLimitListed(limit, now) && isShown(limit))
    .sort((one, other) => byName(one.machine, other.machine) || compareLimits(one.limit, other.limit))
    .map(({ limit, machine }): LimitWindow => ({ ...toLimitView(limit, [], now), machine }));
}

const byName = (one: string, other: string): number => (one < other ? -1 : one === other ? 0 : 1);

function toReading(wire: LimitsResponse["limits"][number]): LimitReading {
  return {
    provider: wire.provider,
    account: wire.account,
    window: wire.window,
    scope: wire.scope,
    unit: wire.unit as LimitReading["unit"],
    windowMs: wire.window_ms,
    usedPpm: wire.used_ppm,
    limit: wire.limit,
    remaining: wire.remaining,
    resetAt: wire.reset_at === null ? null : parseInstant(wire.reset_at),
    status: wire.status as LimitReading["status"],
    seenAt: parseInstant(wire.seen_at) ?? 0,
  };
}
