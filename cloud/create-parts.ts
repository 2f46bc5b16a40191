import { createBudgetWatch } from "./budgets/budget-watch.ts";
import { clientAddress } from "./http/client-address.ts";
import { createLimits } from "./limits/create-limits.ts";
import {
  CLOUD_CONFIG_DEFAULTS,
  type CloudConfig,
  type CloudParts,
  type CloudPorts,
  type CloudSettings,
} from "./ports.ts";
import { createRateSource } from "./store/rates.ts";

/** Adds to the ports what every handler needs besides. */
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
    limits: createLimits(settings.rateLimits),
    budgetWatch: ports.budgetWatch ?? createBudgetWatch({ ...ports, baseUrl: settings.baseUrl }),
    addressOf: (context) => {
      const forwardedFor = context.req.header("x-forwarded-for");
      return clientAddress(ports.peerAddress(context.env), forwardedFor, settings.trustedHops);
    },
  };
}
