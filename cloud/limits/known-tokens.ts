/** Remembers tokens that were valid. */
export interface KnownTokens {
  has(token: string): boolean;
  add(token: string): void;
}

/** The maximum number of tokens remembered: the most recently used ones. */
const MAX_TOKENS = 20_000;

/** Creates an empty set. It may contain tokens that were revoked since, so it must not be used to authenticate. */
export function createKnownTokens(): KnownTokens {
  const tokens = new Set<string>();
  return {
    has: (token) => tokens.has(token),
    add(token) {
      tokens.delete(token);
      tokens.add(token);
      const [oldest] = tokens;
      if (tokens.size > MAX_TOKENS && oldest !== undefined) tokens.delete(oldest);
    },
  };
}
