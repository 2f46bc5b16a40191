import type { Context } from "hono";
import type { Sha256 } from "../core/hash.ts";
import type { Accounts } from "../core/ports/accounts.ts";
import type { OpenCheckout } from "../core/ports/checkout.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { CloudLog } from "../core/ports/cloud-log.ts";
import type { CloudMetrics } from "../core/ports/cloud-metrics.ts";
import type { SendMail } from "../core/ports/mail.ts";
import type { RandomBytes } from "../core/ports/random.ts";
import type { Actor } from "./actor.ts";
import type { AuthenticatedKey } from "./store/keys.ts";
import type { CloudDatabase } from "./store/open-database.ts";
import type { RateSource } from "./store/rates.ts";
import type { WorkspaceAccess } from "./store/workspaces.ts";

/** All that the cloud needs of the outside. */
export interface CloudPorts {
  readonly db: CloudDatabase;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly sha256: Sha256;
  readonly log: CloudLog;
  readonly metrics?: CloudMetrics;
  readonly accounts: Accounts<Request, Response>;
  readonly mail: SendMail;
  /** Opened after the subscribe page's two ticks. Default: none, and an operator sets the plan (`meter-cloud admin set-plan`). */
  readonly checkout?: OpenCheckout;
  /** Who connected, from what the server passes to Hono as `env`; null where it does not say. */
  readonly peerAddress: (env: unknown) => string | null;
}

/** What a host may set. */
export interface CloudConfig {
  /** The address that people reach the cloud at, without a slash at the end. */
  readonly baseUrl: string;
  /** How many proxies of our own stand before this server. */
  readonly trustedHops: number;
  /** What the subscribe page says beside its two boxes. Regulated copy: it comes from the host, word for word. */
  readonly checkoutWording: {
    /** The strings as they are shown, in their order; their hash is what a consent refers to. */
    readonly strings: readonly string[];
    /** Hashes of wordings shown before, whose pages may still be open somewhere. */
    readonly earlierHashes: readonly string[];
  };
  /** Requests a minute. Source: decisions, "Cloud: people, keys, plans". */
  readonly rateLimits: {
    readonly perKey: number;
    readonly perUser: number;
    readonly signInPerAddress: number;
    readonly pairingPerAddress: number;
    /** Decision: as many as a person has; a daemon's polls wait, and need three a minute. */
    readonly pollPerAddress: number;
  };
}

/** What goes where the host sets nothing. */
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
  rateLimits: { perKey: 600, perUser: 120, signInPerAddress: 10, pairingPerAddress: 10, pollPerAddress: 120 },
};

/** What every route gets. */
export interface CloudParts extends CloudPorts {
  readonly config: CloudConfig;
  readonly rates: RateSource;
  addressOf(context: Context): string | null;
}

/** A host sets what it wants of the above, rate limits one by one. */
export type CloudSettings = Partial<Omit<CloudConfig, "rateLimits">> & {
  readonly rateLimits?: Partial<CloudConfig["rateLimits"]>;
};

/** Hono's types: what a request carries on its way. */
export interface CloudEnv {
  Variables: { requestId: string; key: AuthenticatedKey; actor: Actor; workspace: WorkspaceAccess };
}
