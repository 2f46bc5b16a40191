/** A person as the accounts know them. */
export interface AccountPerson {
  /** Opaque, at most 64 characters; never used again for somebody else. */
  readonly userId: string;
  readonly name: string;
  /** In lower case; null where the provider that vouches for them says none. */
  readonly email: string | null;
}

/** What a request brings along to prove a session: a token in `Authorization`, or the text of its `Cookie` header. */
export type SessionProof =
  | { readonly kind: "bearer"; readonly token: string }
  | { readonly kind: "cookie"; readonly cookie: string };

/** An account to be made. */
export interface NewAccount {
  readonly name: string;
  readonly email: string;
  /** Null for somebody who signs in by a provider or sets a password by mail. */
  readonly password: string | null;
}

/** What became of it; nothing is made unless `ok`. */
export type AccountCreation =
  | { readonly ok: true; readonly userId: string }
  | { readonly ok: false; readonly reason: "email_taken" | "email_malformed" | "password_refused" };

/** The ways in that there are, for the pages that offer them. */
export interface SignInWays {
  /** Bounds of a password's length, in UTF-16 code units as browsers count them; null where nobody has passwords. */
  readonly password: { readonly minLength: number; readonly maxLength: number } | null;
  /** Providers that vouch for people, in the order in which they are offered. */
  readonly providers: readonly { readonly id: string; readonly name: string }[];
}

/**
 * Who people are and how they sign in. `TRequest` and `TResponse` are the platform's, which the core does not know. Every
 * method may be called again after a failure; an outside failure rejects.
 */
export interface Accounts<TRequest = unknown, TResponse = unknown> {
  /** What `handle` offers. */
  readonly ways: SignInWays;
  /** Answers the sign-in, sign-up and sign-out API below `/api/auth/`; 404 for what it does not offer. */
  handle(request: TRequest): Promise<TResponse>;
  /** Whose session it is; null where there is none, it has ended, or the account was deleted. Always asks: a session that was ended ends at once. */
  sessionOf(proof: SessionProof): Promise<AccountPerson | null>;
  /** Who these are; ids that nobody has are left out, deleted accounts are not. */
  people(userIds: readonly string[]): Promise<ReadonlyMap<string, AccountPerson>>;
  /** The account of an address, whatever its case; null where there is none or it was deleted. */
  findByEmail(email: string): Promise<AccountPerson | null>;
  /** Makes an account, whatever the sign-up setting says: for the host's own administration. */
  createUser(account: NewAccount): Promise<AccountCreation>;
  /** Begins a session for somebody and returns its bearer token; for the host's own programs. An unknown id rejects. */
  createSession(userId: string): Promise<string>;
  /** Ends all sessions of a person. Twice does nothing. */
  endSessions(userId: string): Promise<void>;
  /** Closes an account: its sessions end, and nobody signs in to it again. Removes nothing. Twice does nothing. */
  deleteUser(userId: string): Promise<void>;
}
