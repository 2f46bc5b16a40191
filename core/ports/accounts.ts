/** A person with an account. */
export interface AccountPerson {
  /** Opaque, at most 64 characters; never reused for another person. */
  readonly userId: string;
  readonly name: string;
  /** In lower case; null if the identity provider states none, and for a deleted account. */
  readonly email: string | null;
}

/** The credentials of a request: a token in `Authorization`, or the text of its `Cookie` header. */
export type SessionProof =
  | { readonly kind: "bearer"; readonly token: string }
  | { readonly kind: "cookie"; readonly cookie: string };

/** An account to create. */
export interface NewAccount {
  readonly name: string;
  readonly email: string;
  /** Null for a person who signs in with a provider or sets a password by email. */
  readonly password: string | null;
}

/** The result of creating an account; nothing is created unless `ok`. */
export type AccountCreation =
  | { readonly ok: true; readonly userId: string }
  | { readonly ok: false; readonly reason: "email_taken" | "email_malformed" | "password_refused" };

/** The sign-in options that the pages offer. */
export interface SignInOptions {
  /** Bounds of a password's length, in UTF-16 code units as browsers count them; null if passwords are not offered. */
  readonly password: { readonly minLength: number; readonly maxLength: number } | null;
  /** Identity providers, in the order in which they are offered. */
  readonly providers: readonly { readonly id: string; readonly name: string }[];
}

/**
 * The accounts of people and their sign-in. `TRequest` and `TResponse` are the platform's types, which the core does not
 * import. Every method may be retried after a failure; an outside failure rejects.
 */
export interface Accounts<TRequest = unknown, TResponse = unknown> {
  /** The sign-in options that `handle` offers. */
  readonly signInOptions: SignInOptions;
  /** Answers the sign-in, sign-up and sign-out API below `/api/auth/`; 404 for what it does not offer. */
  handle(request: TRequest): Promise<TResponse>;
  /** Returns the person whose session it is; null without a session, after it has ended, or if the account was deleted. Never cached: ending a session takes effect at once. */
  authenticate(proof: SessionProof): Promise<AccountPerson | null>;
  /** Returns the people with these ids; unknown ids are left out, deleted accounts are not. */
  getPeople(userIds: readonly string[]): Promise<ReadonlyMap<string, AccountPerson>>;
  /** Returns the account of an email address, whatever its case; null if there is none or it was deleted. */
  findByEmail(email: string): Promise<AccountPerson | null>;
  /** Creates an account, whatever the sign-up setting: for administration by the host. */
  createUser(account: NewAccount): Promise<AccountCreation>;
  /** Starts a session for a person and returns its bearer token; for the host's programs. Rejects an unknown id. */
  createSession(userId: string): Promise<string>;
  /** Ends all sessions of a person. Idempotent. */
  endSessions(userId: string): Promise<void>;
  /**
   * Closes an account for good and ends its sessions. Its address, password and provider accounts are erased at once, so
   * that the address can be used for a new account; the name stays until `eraseUser`. Idempotent.
   */
  deleteUser(userId: string): Promise<void>;
  /**
   * Erases the name of a closed account. Its id stays reserved. An account that is not closed is left unchanged.
   * Idempotent.
   */
  eraseUser(userId: string): Promise<void>;
}
