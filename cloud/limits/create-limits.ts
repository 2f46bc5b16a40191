import type { CloudConfig } from "../config.ts";
import { createEmailLimit, type EmailLimit } from "./email-limit.ts";
import { type LimitStates, statesOf } from "./limit-states.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limiter.ts";
import { createSignInThrottle, type SignInThrottle } from "./sign-in-throttle.ts";
import { createWrongCodeLock, type WrongCodeLock } from "./wrong-code-lock.ts";

/** The limits of the cloud. */
export interface CloudLimits extends Readonly<Record<keyof CloudConfig["rateLimits"], RateLimiter>> {
  /** Wrong passwords, by account. */
  readonly wrongPasswords: SignInThrottle;
  /** Wrong pairing codes, by person and by address. */
  readonly wrongCodes: WrongCodeLock;
  /** Emails with an invitation, by workspace and address. */
  readonly invitationEmails: EmailLimit;
}

/** Creates the limits. `shared` is the state that several processes share; null if it is in memory. */
export function createLimits(
  rates: CloudConfig["rateLimits"],
  shared: LimitStates | null = null,
): CloudLimits {
  const limiter = (name: keyof CloudConfig["rateLimits"]) =>
    createRateLimiter(rates[name], shared === null ? null : statesOf(name, shared));
  return {
    perKey: limiter("perKey"),
    perUser: limiter("perUser"),
    signInPerAddress: limiter("signInPerAddress"),
    pairingPerAddress: limiter("pairingPerAddress"),
    pollPerAddress: limiter("pollPerAddress"),
    wrongPasswords: createSignInThrottle(shared === null ? undefined : statesOf("wrongPasswords", shared)),
    wrongCodes: createWrongCodeLock(shared === null ? undefined : statesOf("wrongCodes", shared)),
    invitationEmails: createEmailLimit(shared === null ? undefined : statesOf("invitationEmails", shared)),
  };
}
