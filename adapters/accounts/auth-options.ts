import type { BetterAuthOptions } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { bearer } from "better-auth/plugins/bearer";
import { genericOAuth } from "better-auth/plugins/generic-oauth";
import type { Kysely } from "kysely";
import * as v from "valibot";
import type { SendMail } from "../../core/ports/mail.ts";
import type { SignUpPolicy } from "../../core/ports/sign-up-policy.ts";
import { GIVEN_NAME_MAX, givenName } from "../../core/wire/people.ts";
import type { AccountsSchema } from "./accounts-database.ts";
import { encryptInvitation, readApplicant, readInvitation } from "./sign-up-invitation.ts";

/** A provider of OpenID Connect. */
export interface OidcProvider {
  /** A short name for URLs. The provider needs the callback `{base_url}/api/auth/oauth2/callback/<id>`. */
  readonly id: string;
  /** The name on the sign-in page. Default: the id. */
  readonly name?: string;
  /** `https://…/.well-known/openid-configuration`. */
  readonly discoveryUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Settings and dependencies of the accounts. */
export interface AccountsSettings {
  /** The cloud's public address. Cookies are `Secure` if it is https. */
  readonly baseUrl: string;
  /** Signs sessions: at least 32 random characters. Changing it ends every session. */
  readonly secret: string;
  readonly mail: SendMail;
  /** Called when an email could not be sent. The requester is not told, since they may be a stranger. Default: no-op. */
  readonly mailFailed?: (cause: unknown) => void;
  readonly policy: SignUpPolicy;
  /** Default: none. */
  readonly oidc?: readonly OidcProvider[];
  /** Creates an account id. */
  readonly newId: () => string;
}

/** Lifetime of a session from sign-in, used or not, in seconds. Decision: a week, not extended, so that reads never write. */
const SESSION_SECONDS = 7 * 86_400;

/**
 * Shortest and longest password, in characters. Decision: only the length is checked (NIST SP 800-63B). With the rate
 * limit, 12 characters resist guessing.
 */
export const PASSWORD_MIN = 12;
export const PASSWORD_MAX = 128;

/**
 * Decision: a provider must have verified the address of a new account. Otherwise an attacker could create an account with
 * someone else's address, wait until the owner signs in by email or another provider, and keep access.
 */
const emailNotVerified = () => new APIError("FORBIDDEN", { message: "email not verified" });

/** Most open password resets of one account, each valid for an hour. Bounded, since strangers can request them too. */
const MAX_OPEN_RESETS = 3;

const nameRefused = () =>
  new APIError("BAD_REQUEST", {
    code: "NAME_REFUSED",
    message: `A name has 1 to ${GIVEN_NAME_MAX} characters, in one line.`,
  });

const signUpClosed = () =>
  new APIError("FORBIDDEN", { code: "SIGN_UP_CLOSED", message: "Accounts are by invitation here." });

/** For sign-up through a provider, better-auth derives the error code in the redirect from the message. */
const signUpClosedForProvider = () => new APIError("FORBIDDEN", { message: "sign up closed" });

/** What the options are made from. */
interface AuthParts {
  readonly db: Kysely<AccountsSchema>;
  readonly settings: AccountsSettings;
}

/** Returns the options for better-auth. */
export function authOptions(db: Kysely<AccountsSchema>, settings: AccountsSettings): BetterAuthOptions {
  const parts: AuthParts = { db, settings };
  return {
    ...serverOptions(parts),
    ...tableOptions,
    emailAndPassword: passwordOptions(parts),
    plugins: [bearer({ requireSignature: true }), genericOAuth({ config: providerConfigs(settings) })],
    hooks: { before: createAuthMiddleware((context) => prepareRequest(parts, context)) },
    databaseHooks: {
      user: { create: userHooks(parts) },
      session: { create: { before: ({ userId }) => allowSession(parts, userId) } },
      account: credentialHooks(parts),
    },
  };
}

function serverOptions({ db, settings }: AuthParts) {
  const { baseUrl } = settings;
  return {
    appName: "meter",
    baseURL: baseUrl,
    basePath: "/api/auth",
    secret: settings.secret,
    trustedOrigins: [new URL(baseUrl).origin],
    // better-auth must not open transactions: our hooks query the database too, and PGlite has a single connection.
    database: { db: db as unknown as Kysely<never>, type: "postgres", transaction: false },
    telemetry: { enabled: false },
    // better-auth logs email addresses. Errors are thrown instead and logged without them.
    logger: { disabled: true },
    onAPIError: { throw: true, errorURL: `${baseUrl}/sign-in` },
    rateLimit: { enabled: false },
    advanced: {
      cookiePrefix: "meter",
      useSecureCookies: baseUrl.startsWith("https:"),
      defaultCookieAttributes: { httpOnly: true, sameSite: "lax" },
      // Explicit, because both default to true in a test environment.
      disableOriginCheck: false,
      disableCSRFCheck: false,
      ipAddress: { disableIpTracking: true },
      database: { generateId: () => settings.newId() },
    },
  } as const satisfies BetterAuthOptions;
}

/** The names of better-auth's tables here, and their additional columns. */
const tableOptions = {
  user: {
    modelName: "people",
    additionalFields: {
      deletedAt: { type: "date", required: false, input: false },
      isFirst: { type: "boolean", required: false, input: false, returned: false },
    },
  },
  session: { modelName: "sessions", expiresIn: SESSION_SECONDS, disableSessionRefresh: true },
  account: { modelName: "credentials" },
  verification: { modelName: "verifications", storeIdentifier: "hashed" },
} as const satisfies BetterAuthOptions;

/** Decision: open sign-up reveals that an address is taken; hiding it would need an email for every sign-up. */
function passwordOptions(parts: AuthParts): NonNullable<BetterAuthOptions["emailAndPassword"]> {
  return {
    enabled: true,
    minPasswordLength: PASSWORD_MIN,
    maxPasswordLength: PASSWORD_MAX,
    revokeSessionsOnPasswordReset: true,
    sendResetPassword: ({ user, token }) => sendPasswordReset(parts, user, token),
    // The reset proves that the person reads this address. Other open resets become invalid.
    onPasswordReset: async ({ user }) => {
      await parts.db.updateTable("people").set({ emailVerified: true }).where("id", "=", user.id).execute();
      await deleteResetTokens(parts, user.id);
    },
  };
}

async function sendPasswordReset(
  { db, settings }: AuthParts,
  user: { readonly id: string; readonly email: string; readonly deletedAt?: Date | null },
  token: string,
): Promise<void> {
  if (user.deletedAt) return;
  const open = await db
    .selectFrom("verifications")
    .select("id")
    .where("value", "=", user.id)
    .where("expiresAt", ">", new Date())
    .limit(MAX_OPEN_RESETS + 1)
    .execute();
  if (open.length > MAX_OPEN_RESETS) return;
  // After the `#`, so that it appears in no server log and no Referer header.
  const link = `${settings.baseUrl}/reset-password#${token}`;
  const text = `To set a new password, open this link within an hour:\n${link}\nIf you did not ask for it, ignore this email.\n`;
  // Not awaited, and failures are not reported: timing or an error would reveal which addresses have accounts.
  settings
    .mail({ to: user.email, subject: "Reset your password", text })
    .catch((cause) => settings.mailFailed?.(cause));
}

async function deleteResetTokens({ db }: AuthParts, userId: string): Promise<void> {
  await db.deleteFrom("verifications").where("value", "=", userId).execute();
}

async function isFirstAccount({ db }: AuthParts): Promise<boolean> {
  return (await db.selectFrom("people").select("id").limit(1).executeTakeFirst()) === undefined;
}

function providerConfigs({ oidc = [] }: AccountsSettings) {
  return oidc.map((provider) => ({
    providerId: provider.id,
    discoveryUrl: provider.discoveryUrl,
    clientId: provider.clientId,
    clientSecret: provider.clientSecret,
    scopes: ["openid", "email", "profile"],
    pkce: true,
    mapProfileToUser: mapClaims,
  }));
}

type RequestHook = Parameters<typeof createAuthMiddleware>[0];
type RequestContext = Parameters<Extract<RequestHook, (...arguments_: never[]) => unknown>>[0];

/** Checks or completes a request. Runs before the address is looked up, so that a stranger can't learn which have accounts. */
async function prepareRequest(parts: AuthParts, context: RequestContext) {
  const { policy, secret } = parts.settings;
  if (context.path === "/sign-in/oauth2") {
    const { additionalData, ...rest } = context.body;
    const encrypted = await encryptInvitation(additionalData, secret);
    return { context: { ...context, body: { ...rest, additionalData: encrypted } } };
  }
  // Ends the sessions of anyone else who knew the old password.
  if (context.path === "/change-password")
    return { context: { ...context, body: { ...context.body, revokeOtherSessions: true } } };
  if (context.path !== "/sign-up/email") return;
  const { email, invitation } = readApplicant(context.body);
  const { name } = (context.body ?? {}) as { name?: unknown };
  if (personName(name) === null) throw nameRefused();
  if (!(await isFirstAccount(parts)) && !(await policy.allows({ email, invitation }))) throw signUpClosed();
}

type DatabaseHooks = NonNullable<BetterAuthOptions["databaseHooks"]>;

/** Every sign-up passes here, including those through a provider. */
function userHooks(parts: AuthParts): NonNullable<NonNullable<DatabaseHooks["user"]>["create"]> {
  const { policy, secret } = parts.settings;
  return {
    before: async (user, context) => {
      const byProvider = context?.path.startsWith("/oauth2/callback/") === true;
      if (byProvider && !user.emailVerified) throw emailNotVerified();
      const first = await isFirstAccount(parts);
      const invitation = await readInvitation(context?.body, secret);
      if (!first && !(await policy.allows({ email: user.email, invitation })))
        throw byProvider ? signUpClosedForProvider() : signUpClosed();
      return { data: { ...user, name: user.name.trim(), isFirst: first ? true : null } };
    },
    after: async (user, context) => {
      const person = { userId: user.id, name: user.name, email: user.email };
      await policy.accountCreated(person, await readInvitation(context?.body, secret));
    },
  };
}

/** Returns false, which refuses the session, if the account was deleted. */
async function allowSession({ db }: AuthParts, userId: string): Promise<false | undefined> {
  const person = await db
    .selectFrom("people")
    .select("deletedAt")
    .where("id", "=", userId)
    .executeTakeFirst();
  return person?.deletedAt === null ? undefined : false;
}

function credentialHooks(parts: AuthParts): NonNullable<DatabaseHooks["account"]> {
  // The provider's tokens are not needed here, so they are not stored.
  const withoutTokens = async <Credential>(credential: Credential) => ({
    data: { ...credential, accessToken: null, refreshToken: null, idToken: null },
  });
  return {
    create: { before: withoutTokens },
    update: {
      before: withoutTokens,
      // An old reset email must not be able to replace the new password.
      after: async ({ userId }, context) => {
        if (context?.path === "/change-password") await deleteResetTokens(parts, userId);
      },
    },
  };
}

/** Returns the trimmed name, or null if it is missing or invalid. */
function personName(value: unknown): string | null {
  const name = v.safeParse(givenName, value);
  return name.success ? name.output : null;
}

/**
 * Maps a provider's claims to a better-auth profile. Only the subject identifies the account. `email_verified` must be true or
 * `"true"`: some providers send a string, and `"false"` would otherwise count as true.
 * Source: OpenID Connect Core 1.0, section 5.1.
 */
function mapClaims(claims: Readonly<Record<string, unknown>>) {
  const { sub, email_verified: verified, name, preferred_username: userName, email } = claims;
  return {
    ...(typeof sub === "string" ? { id: sub } : {}),
    name: personName(name) ?? personName(userName) ?? personName(email) ?? "Somebody",
    emailVerified: verified === true || verified === "true",
  };
}
