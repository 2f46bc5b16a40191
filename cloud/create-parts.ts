import { BATCH_MAX_BYTES } from "../core/wire/metadata-batch.ts";
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

/**
 * The maximum number of bytes of payloads that machines send at once, from their first byte until the answer; a workspace has a quarter. Further
 * requests are refused. Decision: 16 of the largest batches, so that a server with 512 MiB survives as many calls at once as come.
 */
export const MAX_PAYLOAD_BYTES = 16 * BATCH_MAX_BYTES;

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
      maxHeldBytes: MAX_PAYLOAD_BYTES,
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
