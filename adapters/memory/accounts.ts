import type { AccountPerson, Accounts, NewAccount } from "../../core/ports/accounts.ts";
import type { RandomBytes } from "../../core/ports/random.ts";
import { encodeBase64Url } from "../../core/wire/base64.ts";

/** The minimum for an address: text before and after one `@`, without spaces. */
const EMAIL = /^[^\s@]+@[^\s@]+$/;

interface Account {
  readonly userId: string;
  name: string;
  email: string | null;
  isDeleted: boolean;
}

/**
 * Creates accounts in memory, for tests and for hosts that sign people in elsewhere and then call `createSession`. There is no
 * sign-in by password: passwords are not stored, and `handle` returns 404.
 */
export function createMemoryAccounts(randomBytes: RandomBytes): Accounts<Request, Response> {
  const accounts = new Map<string, Account>();
  const sessions = new Map<string, string>();
  const byEmail = (email: string) =>
    [...accounts.values()].find((account) => account.email === email.toLowerCase());
  const endSessions = (userId: string) => {
    for (const [token, owner] of sessions) if (owner === userId) sessions.delete(token);
  };
  return {
    signInOptions: { password: null, providers: [] },
    handle: async () => new Response(null, { status: 404 }),
    async authenticate(proof) {
      const token = proof.kind === "bearer" ? proof.token : /(?:^|; )session=([^;]*)/.exec(proof.cookie)?.[1];
      const account = accounts.get(sessions.get(token ?? "") ?? "");
      return account === undefined ? null : toPerson(account);
    },
    async getPeople(userIds) {
      const found = userIds.flatMap((userId) => accounts.get(userId) ?? []);
      return new Map(found.map((account) => [account.userId, toPerson(account)]));
    },
    async findByEmail(email) {
      const account = byEmail(email);
      return account === undefined || account.isDeleted ? null : toPerson(account);
    },
    async createUser({ name, email }: NewAccount) {
      if (!EMAIL.test(email)) return { ok: false, reason: "email_malformed" };
      if (byEmail(email) !== undefined) return { ok: false, reason: "email_taken" };
      const userId = `user-${encodeBase64Url(randomBytes(16))}`;
      accounts.set(userId, { userId, name, email: email.toLowerCase(), isDeleted: false });
      return { ok: true, userId };
    },
    async createSession(userId) {
      if (accounts.get(userId)?.isDeleted !== false)
        throw new RangeError(`createSession: no account has this id: ${userId}`);
      const token = encodeBase64Url(randomBytes(32));
      sessions.set(token, userId);
      return token;
    },
    endSessions: async (userId) => endSessions(userId),
    async deleteUser(userId) {
      endSessions(userId);
      const account = accounts.get(userId);
      if (account === undefined) return;
      account.isDeleted = true;
      account.email = null;
    },
    async eraseUser(userId) {
      const account = accounts.get(userId);
      if (account?.isDeleted === true) account.name = "";
    },
  };
}

function toPerson({ userId, name, email }: Account): AccountPerson {
  return { userId, name, email };
}
