import { AsyncLocalStorage } from "node:async_hooks";
import { createHmac } from "node:crypto";
import { type Auth, betterAuth } from "better-auth";
import type { Kysely, Transaction } from "kysely";
import * as v from "valibot";
import type { AccountPerson, Accounts, NewAccount, SessionProof } from "../../core/ports/accounts.ts";
import { DatabaseError } from "../../core/ports/postgres.ts";
import { type AccountsSchema, openAccountsDatabase } from "./accounts-database.ts";
import { answerApi } from "./auth-api.ts";
import { type AccountsSettings, authOptions, PASSWORD_MAX, PASSWORD_MIN } from "./auth-options.ts";

/**
 * Runs a call in the async context in which this module was loaded. better-auth stores a call's database and state in the
 * async context and reuses what it finds there. On Deno 2.9 the context of one request leaks into the next, which may belong
 * to another person.
 */
const outside = AsyncLocalStorage.snapshot();

const emailSchema = v.pipe(v.string(), v.maxLength(254), v.email());

/**
 * Creates accounts on better-auth, in the schema `accounts` of the cloud's migrated database. Sessions are rows, so that ending
 * one takes effect everywhere at once.
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
    signInOptions: {
      password: { minLength: PASSWORD_MIN, maxLength: PASSWORD_MAX },
      providers: (settings.oidc ?? []).map(({ id, name }) => ({ id, name: name ?? id })),
    },
    handle: (request) => outside(() => answerApi(auth, request, settings.baseUrl)),
    authenticate: (proof) => authenticate(auth, proof),
    getPeople: (userIds) => getPeople(db, userIds),
    findByEmail: (email) => findByEmail(db, email),
    createUser: (account) => createUser(auth, db, settings, account),
    createSession: (userId) => createSession(auth, userId),
    endSessions: async (userId) => {
      await db.deleteFrom("sessions").where("userId", "=", userId).execute();
    },
    deleteUser: (userId) => deleteUser(db, userId),
    eraseUser: (userId) => eraseUser(db, userId),
  };
}

async function authenticate(auth: Auth, proof: SessionProof): Promise<AccountPerson | null> {
  const found = await outside(() => auth.api.getSession({ headers: headersOf(proof) }));
  if (found === null) return null;
  const { id, name, email } = found.user;
  const { deletedAt } = found.user as { deletedAt?: Date | null };
  return deletedAt === null || deletedAt === undefined ? { userId: id, name, email } : null;
}

async function getPeople(
  db: Kysely<AccountsSchema>,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, AccountPerson>> {
  if (userIds.length === 0) return new Map();
  const rows = await db
    .selectFrom("people")
    .select(["id as userId", "name", "email", "deletedAt"])
    .where("id", "in", [...new Set(userIds)])
    .execute();
  return new Map(
    rows.map(({ deletedAt, ...row }): [string, AccountPerson] => [
      row.userId,
      { ...row, email: deletedAt === null ? row.email : null },
    ]),
  );
}

async function findByEmail(db: Kysely<AccountsSchema>, email: string): Promise<AccountPerson | null> {
  const row = await db
    .selectFrom("people")
    .select(["id as userId", "name", "email"])
    .where("email", "=", email.toLowerCase())
    .where("deletedAt", "is", null)
    .executeTakeFirst();
  return row ?? null;
}

async function createSession(auth: Auth, userId: string): Promise<string> {
  const { internalAdapter, secret } = await auth.$context;
  const session = await outside(() => internalAdapter.createSession(userId));
  if (!session) throw new RangeError(`createSession: no account has this id: ${userId}`);
  // The format in which better-auth reads a session from a cookie or a bearer token.
  const signature = createHmac("sha256", secret).update(session.token).digest("base64");
  return encodeURIComponent(`${session.token}.${signature}`);
}

async function deleteUser(db: Kysely<AccountsSchema>, userId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const now = new Date();
    await trx
      .updateTable("people")
      .set(({ fn, val }) => ({
        deletedAt: fn.coalesce("deletedAt", val(now)),
        updatedAt: now,
        email: deletedAddress(userId),
      }))
      .where("id", "=", userId)
      .execute();
    await deleteSignInData(trx, userId);
  });
}

async function eraseUser(db: Kysely<AccountsSchema>, userId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const erased = await trx
      .updateTable("people")
      // The row stays, so that its id is never reused and the next sign-up is not treated as the server's first.
      .set({ name: "", email: deletedAddress(userId), emailVerified: false, image: null })
      .where("id", "=", userId)
      .where("deletedAt", "is not", null)
      .executeTakeFirstOrThrow();
    if (erased.numUpdatedRows > 0n) await deleteSignInData(trx, userId);
  });
}

/** Replaces the address of a deleted account. RFC 2606 reserves `.invalid`. */
const deletedAddress = (userId: string) => `${userId}@deleted.invalid`;

/** Deletes everything a person can sign in with: sessions, passwords, provider accounts and open password resets. */
async function deleteSignInData(trx: Transaction<AccountsSchema>, userId: string): Promise<void> {
  await trx.deleteFrom("sessions").where("userId", "=", userId).execute();
  await trx.deleteFrom("credentials").where("userId", "=", userId).execute();
  await trx.deleteFrom("verifications").where("value", "=", userId).execute();
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
        // The host has verified the address, so a provider that verifies it too can sign in to this account.
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
