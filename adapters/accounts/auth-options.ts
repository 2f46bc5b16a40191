import type { BetterAuthOptions } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { bearer } from "better-auth/plugins/bearer";
import { genericOAuth } from "better-auth/plugins/generic-oauth";
import type { Kysely } from "kysely";
import type { SendMail } from "../../core/ports/mail.ts";
import type { SignUpPolicy } from "../../core/ports/sign-up-policy.ts";
import { countCharacters, isStorableText } from "../../core/wire/mod.ts";
import type { AccountsSchema } from "./accounts-database.ts";
import { applicantOf, broughtInvitation, putInvitationAway } from "./brought-invitation.ts";

/** A provider of OpenID Connect. */
export interface OidcProvider {
  /** A short name for addresses: `{base_url}/api/auth/oauth2/callback/<id>` is what the provider must know. */
  readonly id: string;
  /** What people call it. Default: the id. */
  readonly name?: string;
  /** `https://…/.well-known/openid-configuration`. */
  readonly discoveryUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** What accounts need of the outside, and what a host may set. */
export interface AccountsSettings {
  /** The address that people reach the cloud at; cookies are `Secure` where it is https. */
  readonly baseUrl: string;
  /** Signs sessions: at least 32 characters that nobody can guess. Changed, it ends every session. */
  readonly secret: string;
  readonly mail: SendMail;
  /** Told of a letter that nobody can be told of: who asked for it may be a stranger. Default: nobody is told. */
  readonly mailFailed?: (cause: unknown) => void;
  readonly policy: SignUpPolicy;
  /** Default: none. */
  readonly oidc?: readonly OidcProvider[];
  /** Makes an account's id. */
  readonly newId: () => string;
}

/** A session ends so long after the sign-in, used or not, seconds. Decision: a week; a read never has to write. */
const SESSION_SECONDS = 7 * 86_400;

/** Shortest and longest password, characters. Decision: length and nothing else, as NIST SP 800-63B says; 12 resist guessing at our rate limit. */
export const PASSWORD_MIN = 12;
export const PASSWORD_MAX = 128;

/** Longest name of a person, characters: as long as a workspace's. */
const NAME_MAX = 100;

/**
 * Decision: an account by a provider needs an address that the provider has verified. Otherwise somebody could open one
 * under another's address, wait until its owner comes by mail or by another provider, and still get in.
 */
const unverified = () => new APIError("FORBIDDEN", { message: "email not verified" });

/** Letters for a new password that may be open at once, of which each is good for an hour: a stranger can ask for them too. */
const MAX_OPEN_RESETS = 3;

const nameless = () =>
  new APIError("BAD_REQUEST", { code: "NAME_REFUSED", message: `A name has 1 to ${NAME_MAX} characters.` });

const refuse = () =>
  new APIError("FORBIDDEN", { code: "SIGN_UP_CLOSED", message: "Accounts are by invitation here." });

/** On the way over a provider, better-auth makes the word that the browser comes back with from the message. */
const refuseByProvider = () => new APIError("FORBIDDEN", { message: "sign up closed" });

/** What better-auth is told. */
export function authOptions(db: Kysely<AccountsSchema>, settings: AccountsSettings): BetterAuthOptions {
  const { baseUrl, policy } = settings;
  const forgetLetters = async (userId: string) => {
    await db.deleteFrom("verifications").where("value", "=", userId).execute();
  };
  const isFirst = async () =>
    (await db.selectFrom("people").select("id").limit(1).executeTakeFirst()) === undefined;
  return {
    appName: "meter",
    baseURL: baseUrl,
    basePath: "/api/auth",
    secret: settings.secret,
    trustedOrigins: [new URL(baseUrl).origin],
    // No transactions of better-auth's own: our hooks ask the database too, and PGlite has a single connection.
    database: { db: db as unknown as Kysely<never>, type: "postgres", transaction: false },
    telemetry: { enabled: false },
    // It writes addresses into its log; what fails is thrown, and logged without them.
    logger: { disabled: true },
    onAPIError: { throw: true, errorURL: `${baseUrl}/sign-in` },
    rateLimit: { enabled: false },
    advanced: {
      cookiePrefix: "meter",
      useSecureCookies: baseUrl.startsWith("https:"),
      defaultCookieAttributes: { httpOnly: true, sameSite: "lax" },
      // Said, because in a test environment both default to the opposite.
      disableOriginCheck: false,
      disableCSRFCheck: false,
      ipAddress: { disableIpTracking: true },
      database: { generateId: () => settings.newId() },
    },
    user: {
      modelName: "people",
      additionalFields: {
        deletedAt: { type: "date", required: false, input: false },
        isFirst: { type: "boolean", required: false, input: false, returned: false },
      },
    },
    session: {
      modelName: "sessions",
      expiresIn: SESSION_SECONDS,
      disableSessionRefresh: true,
    },
    account: { modelName: "credentials" },
    verification: { modelName: "verifications", storeIdentifier: "hashed" },
    // Decision: where sign-up is open, it tells that an address is taken; to hide that, every sign-up would need a letter.
    emailAndPassword: {
      enabled: true,
      minPasswordLength: PASSWORD_MIN,
      maxPasswordLength: PASSWORD_MAX,
      revokeSessionsOnPasswordReset: true,
      sendResetPassword: async ({ user, token }) => {
        if ((user as { deletedAt?: Date | null }).deletedAt) return;
        const open = await db
          .selectFrom("verifications")
          .select("id")
          .where("value", "=", user.id)
          .where("expiresAt", ">", new Date())
          .limit(MAX_OPEN_RESETS + 1)
          .execute();
        if (open.length > MAX_OPEN_RESETS) return;
        // After the `#`: no server's log, no Referer ever has it.
        const link = `${baseUrl}/reset-password#${token}`;
        const text = `Set a new password within the hour:\n${link}\nIf you did not ask for it, do nothing.\n`;
        // Not waited for, and its failure not told: how long a letter takes, or that there is one, says who has an account.
        settings
          .mail({ to: user.email, subject: "A new password", text })
          .catch((cause) => settings.mailFailed?.(cause));
      },
      // The letter came to that address, and was read; other letters are good for nothing from now on.
      onPasswordReset: async ({ user }) => {
        await db.updateTable("people").set({ emailVerified: true }).where("id", "=", user.id).execute();
        await forgetLetters(user.id);
      },
    },
    plugins: [
      bearer({ requireSignature: true }),
      genericOAuth({
        config: (settings.oidc ?? []).map((provider) => ({
          providerId: provider.id,
          discoveryUrl: provider.discoveryUrl,
          clientId: provider.clientId,
          clientSecret: provider.clientSecret,
          scopes: ["openid", "email", "profile"],
          pkce: true,
          mapProfileToUser: personOfClaims,
        })),
      }),
    ],
    hooks: {
      // Before the address is looked up: a stranger must not learn which ones have accounts.
      before: createAuthMiddleware(async (context) => {
        if (context.path === "/sign-in/oauth2") {
          const { additionalData, ...rest } = context.body;
          const putAway = await putInvitationAway(additionalData, settings.secret);
          return { context: { ...context, body: { ...rest, additionalData: putAway } } };
        }
        // Whoever else knew the old password is out.
        if (context.path === "/change-password")
          return { context: { ...context, body: { ...context.body, revokeOtherSessions: true } } };
        if (context.path !== "/sign-up/email") return;
        const { email, invitation } = applicantOf(context.body);
        const { name } = (context.body ?? {}) as { name?: unknown };
        if (personName(name) === null) throw nameless();
        if (!(await isFirst()) && !(await policy.admits({ email, invitation }))) throw refuse();
      }),
    },
    databaseHooks: {
      user: {
        create: {
          // Every way to an account passes here, a provider's too.
          before: async (user, context) => {
            const byProvider = context?.path.startsWith("/oauth2/callback/") === true;
            if (byProvider && !user.emailVerified) throw unverified();
            const first = await isFirst();
            const invitation = await broughtInvitation(context?.body, settings.secret);
            if (!first && !(await policy.admits({ email: user.email, invitation })))
              throw byProvider ? refuseByProvider() : refuse();
            return { data: { ...user, name: user.name.trim(), isFirst: first ? true : null } };
          },
          after: async (user, context) => {
            const person = { userId: user.id, name: user.name, email: user.email };
            await policy.opened(person, await broughtInvitation(context?.body, settings.secret));
          },
        },
      },
      session: {
        create: {
          before: async ({ userId }) => {
            const person = await db
              .selectFrom("people")
              .select("deletedAt")
              .where("id", "=", userId)
              .executeTakeFirst();
            return person?.deletedAt === null ? undefined : false;
          },
        },
      },
      account: {
        create: {
          // A provider's tokens open its doors, not ours: nothing here needs them.
          before: async (account) => ({
            data: { ...account, accessToken: null, refreshToken: null, idToken: null },
          }),
        },
        update: {
          before: async (account) => ({
            data: { ...account, accessToken: null, refreshToken: null, idToken: null },
          }),
          // Whoever can read old letters must not undo the new password.
          after: async ({ userId }, context) => {
            if (context?.path === "/change-password") await forgetLetters(userId);
          },
        },
      },
    },
  };
}

/** A name without blanks around it; null for none, or one that can't be kept. */
function personName(said: unknown): string | null {
  if (typeof said !== "string" || !isStorableText(said)) return null;
  const trimmed = said.trim();
  return trimmed === "" || countCharacters(trimmed) > NAME_MAX ? null : trimmed;
}

/**
 * A provider's claims as better-auth should take them: the subject and nothing else is the account there, and an address is
 * verified where they say exactly so. Some say it in a string, and `"false"` would count as true.
 * Source: OpenID Connect Core 1.0, section 5.1.
 */
function personOfClaims(claims: Readonly<Record<string, unknown>>) {
  const { sub, email_verified: verified, name, preferred_username: userName, email } = claims;
  return {
    ...(typeof sub === "string" ? { id: sub } : {}),
    name: personName(name) ?? personName(userName) ?? personName(email) ?? "Somebody",
    emailVerified: verified === true || verified === "true",
  };
}
