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

/** The cloud's configuration. */
export interface CloudConfig {
  /** The public URL of the cloud, without a trailing slash. */
  readonly baseUrl: string;
  /** How many trusted proxies are in front of this server. */
  readonly trustedHops: number;
  /** The text beside the subscribe page's two checkboxes. Regulated copy, shown exactly as the host provides it. */
  readonly checkoutWording: {
    /** The strings in the order they are shown; a consent refers to their hash. */
    readonly strings: readonly string[];
    /** Hashes of earlier wordings, for pages that are still open. */
    readonly earlierHashes: readonly string[];
  };
  /** Whether several processes on the database share the limits. Default: false; each process has its own, in memory. */
  readonly shareLimits: boolean;
  /** How many requests of machines are processed at once; a workspace has at most a quarter of them, and at least two. Default: 10. */
  readonly concurrentUploads: number;
  /** Requests a minute. Source: docs/specification.md#cloud-accounts-and-keys. */
  readonly rateLimits: {
    readonly perKey: number;
    readonly perUser: number;
    readonly signInPerAddress: number;
    readonly pairingPerAddress: number;
    /** Decision: as many as `perUser`; a daemon's polls wait, and need three a minute. */
    readonly pollPerAddress: number;
  };
}

/** The default configuration. */
export const CLOUD_CONFIG_DEFAULTS: CloudConfig = {
  baseUrl: "http://127.0.0.1:8787",
  trustedHops: 0,
  checkoutWording: {
    strings: [
      "Placeholder: I agree to the Terms, the Privacy notice and the Refund policy.",
      "Placeholder: I ask for immediate performance, and know that I lose the 14-day right of withdrawal on delivery.",
    ],
    earlierHashes: [],
  },
  shareLimits: false,
  concurrentUploads: 10,
  rateLimits: { perKey: 600, perUser: 120, signInPerAddress: 10, pairingPerAddress: 10, pollPerAddress: 120 },
};

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

/** A partial configuration; omitted values, including single rate limits, take their defaults. */
export type CloudSettings = Partial<Omit<CloudConfig, "rateLimits">> & {
  readonly rateLimits?: Partial<CloudConfig["rateLimits"]>;
};

/** Hono's environment: the variables that middleware sets on a request's context. */
export interface CloudEnv {
  Variables: { requestId: string };
}
