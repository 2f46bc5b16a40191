import type { LimitEvent } from "../../core/metering/limits/limit-events.ts";
import { toPercent } from "../../core/metering/limits/limit-view.ts";
import type { LogFields } from "../../core/ports/log.ts";
import { formatInstant } from "../../core/wire/instant.ts";

/** Returns the fields of an event, for the log and for the stream of events. */
export function limitEventFields({ name, reading, level, isEarly }: LimitEvent): LogFields<"limit.reset"> {
  const { provider, account, window, scope, usedPpm, resetAt } = reading;
  return {
    provider,
    account,
    window,
    scope,
    severity: level,
    used_percent: toPercent(usedPpm),
    resets_at: resetAt === null ? null : formatInstant(resetAt),
    ...(name === "limit.reset" && { early: isEarly }),
  };
}
