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

/** A partial configuration; omitted values, including single rate limits, take their defaults. */
export type CloudSettings = Partial<Omit<CloudConfig, "rateLimits">> & {
  readonly rateLimits?: Partial<CloudConfig["rateLimits"]>;
};
