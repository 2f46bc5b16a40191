import type { CloudConfig } from "../ports.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limiter.ts";
import { createSignInThrottle, type SignInThrottle } from "./sign-in-throttle.ts";
import { createWrongCodeLock, type WrongCodeLock } from "./wrong-code-lock.ts";

/** The limits of one server. Their state is in memory. */
export interface CloudLimits extends Readonly<Record<keyof CloudConfig["rateLimits"], RateLimiter>> {
  /** Wrong passwords, by account. */
  readonly wrongPasswords: SignInThrottle;
  /** Wrong pairing codes, by person and by address. */
  readonly wrongCodes: WrongCodeLock;
}

/** Creates the limits of one server. */
export function createLimits(rates: CloudConfig["rateLimits"]): CloudLimits {
  return {
    perKey: createRateLimiter(rates.perKey),
    perUser: createRateLimiter(rates.perUser),
    signInPerAddress: createRateLimiter(rates.signInPerAddress),
    pairingPerAddress: createRateLimiter(rates.pairingPerAddress),
    pollPerAddress: createRateLimiter(rates.pollPerAddress),
    wrongPasswords: createSignInThrottle(),
    wrongCodes: createWrongCodeLock(),
  };
}
