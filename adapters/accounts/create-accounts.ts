import { AsyncLocalStorage } from "node:async_hooks";
import { createHmac } from "node:crypto";
import { type Auth, betterAuth } from "better-auth";
import type { Kysely } from "kysely";
import * as v from "valibot";
import type { AccountPerson, Accounts, NewAccount, SessionProof } from "../../core/ports/accounts.ts";
import { DatabaseError } from "../../core/ports/postgres.ts";
import { type AccountsSchema, openAccountsDatabase } from "./accounts-database.ts";
import { answerApi } from "./auth-api.ts";
import { type AccountsSettings, authOptions, PASSWORD_MAX, PASSWORD_MIN } from "./auth-options.ts";

/**
 * Runs a call outside of any other's async context, that in which this module was loaded. better-auth keeps a call's
 * database and state there, and believes one that is there already; on Deno (2.9) the context of one request is seen by
 * the next one, which is somebody else's.
 */
const outside = AsyncLocalStorage.snapshot();

const emailSchema = v.pipe(v.string(), v.maxLength(254), v.email());

/**
 * Accounts on better-auth, in the schema `accounts` of the cloud's database, which must have been migrated. Sessions are
 * rows, so that ending one ends it at once everywhere.
 */
export function createBetterAuthAccounts<Schema>(
  cloud: Kysely<Schema>,
  settings: AccountsSettings,
): Accounts<Request, Response> {
  if (settings.secret.length < 32) {
    throw new RangeError(`the accounts' secret must have 32 characters or more: ${settings.secret.length}`);
  }
  const db = openAccountsDatabase(cloud);
  const auth = betterAuth(authOptions(db, settings)) as unknown as Auth;

  return {
    ways: {
      password: { minLength: PASSWORD_MIN, maxLength: PASSWORD_MAX },
      providers: (settings.oidc ?? []).map(({ id, name }) => ({ id, name: name ?? id })),
    },
    handle: (request) => outside(() => answerApi(auth, request, settings.baseUrl)),
    async sessionOf(proof) {
      const found = await outside(() => auth.api.getSession({ headers: headersOf(proof) }));
      if (found === null) return null;
      const { id, name, email } = found.user;
      const { deletedAt } = found.user as { deletedAt?: Date | null };
      return deletedAt === null || deletedAt === undefined ? { userId: id, name, email } : null;
    },
    async people(userIds) {
      if (userIds.length === 0) return new Map();
      const rows = await db
        .selectFrom("people")
        .select(["id as userId", "name", "email"])
        .where("id", "in", [...new Set(userIds)])
        .execute();
      return new Map(rows.map((row): [string, AccountPerson] => [row.userId, row]));
    },
    async findByEmail(email) {
      const row = await db
        .selectFrom("people")
        .select(["id as userId", "name", "email"])
        .where("email", "=", email.toLowerCase())
        .where("deletedAt", "is", null)
        .executeTakeFirst();
      return row ?? null;
    },
    createUser: (account) => createUser(auth, db, settings, account),
    async createSession(userId) {
      const { internalAdapter, secret } = await auth.$context;
      const session = await outside(() => internalAdapter.createSession(userId));
      if (!session) throw new RangeError("createSession: nobody has that id");
      // The form in which better-auth takes a session from a cookie or a bearer token.
      const signature = createHmac("sha256", secret).update(session.token).digest("base64");
      return encodeURIComponent(`${session.token}.${signature}`);
    },
    endSessions: async (userId) => {
      await db.deleteFrom("sessions").where("userId", "=", userId).execute();
    },
    async deleteUser(userId) {
      await db.transaction().execute(async (trx) => {
        const now = new Date();
        await trx
          .updateTable("people")
          .set({ deletedAt: now, updatedAt: now })
          .where("id", "=", userId)
          .where("deletedAt", "is", null)
          .execute();
        await trx.deleteFrom("sessions").where("userId", "=", userId).execute();
      });
    },
  };
}

function headersOf(proof: SessionProof): Headers {
  return new Headers(
    proof.kind === "bearer" ? { authorization: `Bearer ${proof.token}` } : { cookie: proof.cookie },
  );
}

async function createUser(
  auth: Auth,
  db: Kysely<AccountsSchema>,
  settings: AccountsSettings,
  { name, email: address, password }: NewAccount,
): ReturnType<Accounts["createUser"]> {
  const email = address.trim().toLowerCase();
  if (!v.is(emailSchema, email)) return { ok: false, reason: "email_malformed" };
  if (password !== null && (password.length < PASSWORD_MIN || password.length > PASSWORD_MAX))
    return { ok: false, reason: "password_refused" };
  const hash = password === null ? null : await (await auth.$context).password.hash(password);
  const [id, now] = [settings.newId(), new Date()];
  try {
    await db.transaction().execute(async (trx) => {
      const stamps = { createdAt: now, updatedAt: now };
      await trx
        .insertInto("people")
        // The host vouches for the address, so that a provider that does too leads into this account.
        .values({ id, name, email, emailVerified: true, deletedAt: null, ...stamps })
        .execute();
      if (hash === null) return;
      await trx
        .insertInto("credentials")
        .values({
          id: settings.newId(),
          userId: id,
          providerId: "credential",
          accountId: id,
          password: hash,
          ...stamps,
        })
        .execute();
    });
  } catch (error) {
    if (error instanceof DatabaseError && error.reason === "constraint")
      return { ok: false, reason: "email_taken" };
    throw error;
  }
  return { ok: true, userId: id };
}
