/** Remembers tokens that were valid. */
export interface KnownTokens {
  has(token: string): boolean;
  add(token: string): void;
}

/** Most tokens remembered: those that were used last. */
const MAX_TOKENS = 20_000;

/** Creates an empty set. A token that was revoked later can be in it, so it authenticates nobody. */
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
