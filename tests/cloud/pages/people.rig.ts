import { createBetterAuthAccounts } from "../../../adapters/accounts/create-accounts.ts";
import { createRandomBytes, sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { createUser } from "../../../cloud/accounts/admin.ts";
import { createSignUpPolicy } from "../../../cloud/accounts/sign-up-policy.ts";
import type { CloudSettings } from "../../../cloud/config.ts";
import type { Mail } from "../../../core/ports/mail.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";
import { lowerPasswordCost } from "../../adapters/accounts/low-cost-passwords.rig.ts";
import type { OidcRig } from "../../adapters/accounts/oidc-provider.rig.ts";
import { type CloudRig, createRig } from "../kit/cloud-rig.ts";
import type { Engine } from "../kit/engines.ts";

export const PASSWORD = "correct horse battery staple";

const randomBytes = createRandomBytes();

/** A cloud as served: with accounts by better-auth, and pages as a browser without scripts shows them. */
export interface PeopleRig {
  readonly rig: CloudRig;
  /** The emails of the accounts; `rig.mails` has those of the cloud. */
  readonly emails: readonly Mail[];
  readonly app: ReturnType<CloudRig["app"]>;
  readonly baseUrl: string;
  /** A person with a password and a workspace. */
  addOwner(email: string, name?: string): Promise<{ readonly userId: string; readonly workspaceId: string }>;
  visitor(): Visitor;
}

/** A browser: it keeps cookies, does not follow redirects, and sends the `Origin` of its forms. */
export interface Visitor {
  readonly cookies: Map<string, string>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>;
  /** Opens a page and follows its redirects to the last one. */
  follow(path: string): Promise<{ readonly path: string; readonly status: number; readonly text: string }>;
}

/** Makes one. */
export async function createPeopleRig(
  engine: Engine,
  settings: {
    readonly baseUrl?: string;
    readonly openSignUp?: boolean;
    readonly provider?: OidcRig;
    readonly config?: CloudSettings;
  } = {},
): Promise<PeopleRig> {
  lowerPasswordCost();
  const { baseUrl = "http://127.0.0.1:8787", openSignUp = false, provider } = settings;
  const emails: Mail[] = [];
  const config: CloudSettings = {
    baseUrl,
    rateLimits: { perKey: 1e6, perUser: 1e6, signInPerAddress: 1e6, pairingPerAddress: 1e6 },
    ...settings.config,
  };
  const rig = await createRig(engine, {
    config,
    accounts: ({ db }, clock) =>
      createBetterAuthAccounts(db, {
        baseUrl,
        secret: "a secret of the tests that is long enough 0123456789",
        newId: () => uuidV7(clock.now(), randomBytes(10)),
        mail: async (mail) => {
          emails.push(mail);
        },
        policy: createSignUpPolicy({ db, clock, randomBytes, sha256 }, { openSignUp }),
        ...(provider === undefined
          ? {}
          : {
              oidc: [
                {
                  id: "corp",
                  name: "Example Corp",
                  discoveryUrl: `${provider.origin}/.well-known/openid-configuration`,
                  clientId: provider.client.id,
                  clientSecret: provider.client.secret,
                },
              ],
            }),
      }),
  });
  const app = rig.app(config);
  return {
    rig,
    emails,
    app,
    baseUrl,
    async addOwner(email, name = "Owner") {
      const made = await createUser(rig.parts, { name, email, password: PASSWORD });
      if (!made.ok) throw new Error(made.reason);
      return made;
    },
    visitor: () => createVisitor(app, baseUrl),
  };
}

function createVisitor(app: PeopleRig["app"], baseUrl: string): Visitor {
  const cookies = new Map<string, string>();
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    if (cookie !== "") headers.set("cookie", cookie);
    const answer = await app.request(path, { ...init, headers });
    for (const text of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      if (/max-age=0/i.test(text) || value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  };
  const visitor: Visitor = {
    cookies,
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, fields, headers = {}) =>
      send(path, {
        method: "POST",
        body: new URLSearchParams(fields),
        headers: { origin: baseUrl, ...headers },
      }),
    async follow(path) {
      let at = path;
      for (let turns = 0; turns < 10; turns += 1) {
        const answer = await visitor.get(at);
        const location = answer.headers.get("location");
        if (location === null) return { path: at, status: answer.status, text: await answer.text() };
        at = location.startsWith(baseUrl) ? location.slice(baseUrl.length) : location;
      }
      throw new Error("the pages lead in a circle");
    },
  };
  return visitor;
}
