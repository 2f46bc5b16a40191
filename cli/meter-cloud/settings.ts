import * as v from "valibot";

/** Reads a whole number: from the file as a TOML integer, from the environment as text. */
const integer = (least: number, most: number) => {
  const message = `must be a whole number from ${least} to ${most}`;
  return v.pipe(
    v.union([v.number(), v.pipe(v.string(), v.regex(/^-?\d{1,15}$/), v.transform(Number))], message),
    v.integer(message),
    v.minValue(least, message),
    v.maxValue(most, message),
  );
};

const flag = v.union(
  [
    v.boolean(),
    v.pipe(
      v.picklist(["true", "false"]),
      v.transform((word) => word === "true"),
    ),
  ],
  "must be true or false",
);

const text = v.pipe(v.string("must be text"), v.nonEmpty("must not be empty"));

/** An origin: scheme, host and an optional port. */
const origin = v.pipe(
  text,
  v.check((address) => {
    const url = URL.parse(address);
    return url !== null && /^https?:$/.test(url.protocol) && `${url.origin}` === address.replace(/\/$/, "");
  }, "must be an address such as https://meter.example.com, without a path"),
  v.transform((address) => address.replace(/\/$/, "")),
);

const oidcProvider = v.strictObject({
  /** Part of the sign-in address and of the name of the secret's variable. */
  id: v.pipe(text, v.regex(/^[a-z][a-z0-9-]{0,31}$/, "must be lower-case letters, digits and -")),
  name: v.optional(text),
  issuer: v.pipe(
    text,
    v.url("must be the issuer's https:// address"),
    v.startsWith("https://", "must begin with https://"),
  ),
  client_id: text,
});

/**
 * The settings, without the secrets, with their defaults. The keys are those of the file. An environment variable overrides
 * the file: `METER_CLOUD_SERVER_PORT` overrides `[server] port`.
 */
export const settingsSchema = v.strictObject({
  server: v.optional(
    v.strictObject({
      host: v.optional(text, "127.0.0.1"),
      port: v.optional(integer(0, 65_535), 8787),
      /** Null if it is derived from host, port and TLS. */
      base_url: v.optional(v.nullable(origin), null),
      tls_cert: v.optional(v.nullable(text), null),
      tls_key: v.optional(v.nullable(text), null),
      trusted_hops: v.optional(integer(0, 10), 0),
      max_connections: v.optional(integer(1, 1_000_000), 10_000),
      drain_delay_seconds: v.optional(integer(0, 300), 0),
      drain_seconds: v.optional(integer(1, 300), 20),
    }),
    {},
  ),
  database: v.optional(
    v.strictObject({
      /** The folder of the embedded database; null for the one in the home. */
      folder: v.optional(v.nullable(text), null),
      max_connections: v.optional(integer(1, 1_000), 10),
      acquire_timeout_seconds: v.optional(integer(1, 60), 5),
      statement_timeout_seconds: v.optional(integer(1, 600), 15),
      /** Whether `DATABASE_URL` is a pooler in transaction mode, such as PgBouncer. */
      transaction_pooler: v.optional(flag, false),
      /** Whether `serve` migrates the tables and stores the bundled rates. Off if its role does not own the tables. */
      migrate: v.optional(flag, true),
    }),
    {},
  ),
  bodies: v.optional(
    v.strictObject({
      /** The folder of the body keys; null for the one in the home. */
      keys_folder: v.optional(v.nullable(text), null),
    }),
    {},
  ),
  limits: v.optional(
    v.strictObject({
      key_per_minute: v.optional(integer(1, 10_000_000), 600),
      user_per_minute: v.optional(integer(1, 10_000_000), 120),
      sign_in_per_minute: v.optional(integer(1, 10_000_000), 10),
      pairing_per_minute: v.optional(integer(1, 10_000_000), 10),
      poll_per_minute: v.optional(integer(1, 10_000_000), 120),
    }),
    {},
  ),
  mail: v.optional(
    v.strictObject({
      /** The sender, such as `meter <meter@example.com>`; needed with a mail server. */
      from: v.optional(v.nullable(text), null),
    }),
    {},
  ),
  people: v.optional(v.strictObject({ open_sign_up: v.optional(flag, false) }), {}),
  checkout: v.optional(
    v.strictObject({
      /** The exact texts beside the two consent boxes; null for placeholders. */
      strings: v.optional(v.nullable(v.array(text, "must be a list of texts, in the file")), null),
      earlier_hashes: v.optional(
        v.array(
          v.pipe(text, v.regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hex")),
          "must be a list, in the file",
        ),
        [],
      ),
    }),
    {},
  ),
  oidc: v.optional(v.array(oidcProvider, "must be tables [[oidc]]"), []),
  log: v.optional(
    v.strictObject({
      level: v.optional(
        v.picklist(["debug", "info", "warn", "error"], "must be debug, info, warn or error"),
        "info",
      ),
    }),
    {},
  ),
});

/** The resolved settings. */
export type Settings = v.InferOutput<typeof settingsSchema>;

/** The settings that an environment variable can set, as section and key. */
export const SETTING_NAMES: readonly (readonly [section: string, key: string])[] = Object.entries(
  settingsSchema.entries,
).flatMap(([section, { wrapped }]) =>
  "entries" in wrapped ? Object.keys(wrapped.entries).map((key) => [section, key] as const) : [],
);

/** Returns the environment variable of a setting. */
export function variableOf(section: string, key: string): string {
  return `METER_CLOUD_${section}_${key}`.toUpperCase();
}
