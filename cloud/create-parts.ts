import { createBudgetWatch } from "./budgets/budget-watch.ts";
import { CLOUD_CONFIG_DEFAULTS, type CloudConfig, type CloudSettings } from "./config.ts";
import { clientAddress } from "./http/client-address.ts";
import { createLimits } from "./limits/create-limits.ts";
import { createFairQueue } from "./limits/fair-queue.ts";
import { createKnownTokens } from "./limits/known-tokens.ts";
import type { CloudParts, CloudPorts } from "./ports.ts";
import { createSharedStates } from "./store/limit-states.ts";
import { createRateSource } from "./store/rates.ts";

/** The maximum number of requests of a workspace's machines at once. Further ones are refused. Decision: a few seconds of work. */
const MAX_VISITS = 64;

/** How long a machine's request waits for its turn, milliseconds. Decision: a quarter of the time that a daemon waits for a response. */
const MAX_QUEUE_WAIT_MS = 10_000;

/** Adds to the ports what else every handler needs. */
export function createParts(ports: CloudPorts, config: CloudSettings): CloudParts {
  const settings: CloudConfig = {
    ...CLOUD_CONFIG_DEFAULTS,
    ...config,
    rateLimits: { ...CLOUD_CONFIG_DEFAULTS.rateLimits, ...config.rateLimits },
  };
  return {
    ...ports,
    config: settings,
    rates: createRateSource(ports.db, ports.clock),
    queue: createFairQueue({
      slots: settings.concurrentUploads,
      maxVisits: MAX_VISITS,
      maxWaitMs: MAX_QUEUE_WAIT_MS,
      setTimer: ports.clock.setTimer,
    }),
    knownTokens: createKnownTokens(),
    limits: createLimits(
      settings.rateLimits,
      settings.shareLimits ? createSharedStates(ports.db, ports.sha256) : null,
    ),
    budgetWatch: ports.budgetWatch ?? createBudgetWatch({ ...ports, baseUrl: settings.baseUrl }),
    addressOf: (context) => {
      const forwardedFor = context.req.header("x-forwarded-for");
      return clientAddress(ports.peerAddress(context.env), forwardedFor, settings.trustedHops);
    },
  };
}
