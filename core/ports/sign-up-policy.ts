import type { AccountPerson } from "./accounts.ts";

/** Somebody who wants an account, with the token of an invitation if they brought one. */
export interface Applicant {
  readonly email: string;
  readonly invitation: string | null;
}

/** Who may open an account once the first one exists, and what a new account begins with. */
export interface SignUpPolicy {
  /** Whether they may. Asked before anything is looked up, so that a stranger learns nothing from the answer. */
  admits(applicant: Applicant): Promise<boolean>;
  /** Called once for each account that somebody opened themselves. A failure leaves the account without a workspace. */
  opened(person: AccountPerson, invitation: string | null): Promise<void>;
}
