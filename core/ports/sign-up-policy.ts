import type { AccountPerson } from "./accounts.ts";

/** A person who wants an account, with the token of an invitation if they have one. */
export interface Applicant {
  readonly email: string;
  readonly invitation: string | null;
}

/** Decides who may create an account after the first one, and sets up new accounts. */
export interface SignUpPolicy {
  /** Whether the applicant may create an account. Called before any lookup, so that the response reveals nothing to a stranger. */
  allows(applicant: Applicant): Promise<boolean>;
  /** Called once for each account that a person created by signing up. A failure leaves the account without a workspace. */
  accountCreated(person: AccountPerson, invitation: string | null): Promise<void>;
}
