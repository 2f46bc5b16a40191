import type { Context } from "hono";
import type { Accounts } from "../core/ports/accounts.ts";
import type { BodyKeyStore } from "../core/ports/body-key-store.ts";
import type { OpenCheckout } from "../core/ports/checkout.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { CloudLog } from "../core/ports/cloud-log.ts";
import type { CloudMetrics } from "../core/ports/cloud-metrics.ts";
import type { SendMail } from "../core/ports/mail.ts";
import type { RandomBytes } from "../core/ports/random.ts";
import type { Sha256 } from "../core/values/hash.ts";
import type { BudgetWatch } from "./budgets/budget-watch.ts";
import type { CloudConfig } from "./config.ts";
import type { CloudLimits } from "./limits/create-limits.ts";
import type { FairQueue } from "./limits/fair-queue.ts";
import type { KnownTokens } from "./limits/known-tokens.ts";
import type { CloudDatabase } from "./store/open-database.ts";
import type { RateSource } from "./store/rates.ts";

/** The cloud's dependencies on the outside. */
export interface CloudPorts {
  readonly db: CloudDatabase;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly sha256: Sha256;
  readonly log: CloudLog;
  readonly metrics?: CloudMetrics;
  readonly accounts: Accounts<Request, Response>;
  readonly mail: SendMail;
  /** Opens a checkout after a person agreed on the subscribe page. Default: none; an operator sets the plan (`meter-cloud admin set-plan`). */
  readonly checkout?: OpenCheckout;
  /**
   * Stores the keys of bodies. Default: none; bodies are stored unencrypted, and backups keep deleted ones readable.
   */
  readonly bodyKeys?: BodyKeyStore;
  /** Checks the thresholds of budgets and emails warnings. Default: one of the app's own, which can't be stopped. */
  readonly budgetWatch?: BudgetWatch;
  /** Returns the peer's address from the `env` that the server passes to Hono; null if it is unknown. */
  readonly peerAddress: (env: unknown) => string | null;
}

/** What every route handler gets. */
export interface CloudParts extends CloudPorts {
  readonly config: CloudConfig;
  readonly rates: RateSource;
  readonly limits: CloudLimits;
  readonly budgetWatch: BudgetWatch;
  /** Divides the server among the workspaces whose machines send to it. */
  readonly queue: FairQueue;
  /** Tokens that were valid recently. */
  readonly knownTokens: KnownTokens;
  addressOf(context: Context): string | null;
}

/** Hono's environment: the variables that middleware sets on a request's context. */
export interface CloudEnv {
  Variables: { requestId: string };
}
