import { Agent, request } from "undici";

/** A response of the cloud; the body is its JSON, or null if there is none. */
interface PersonAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a caller says what it expects, field by field.
  readonly body: any;
}

/** A person who is signed in to a cloud, with a browser's cookie. */
export interface Person {
  readonly userId: string;
  /** The first workspace that they can access: their own after a sign-up. */
  readonly workspaceId: string;
  ask(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: object): Promise<PersonAnswer>;
  /** Approves the machine that shows this code, for `workspaceId`. */
  approve(code: string): Promise<void>;
  close(): Promise<void>;
}

/** Signs a person up at a cloud in another process. Only `ca` is trusted for its certificate. */
export async function signUp(
  url: string,
  account: {
    readonly name: string;
    readonly email: string;
    readonly password?: string;
    readonly ca?: string;
  },
): Promise<Person> {
  const { name, email, password = crypto.randomUUID(), ca } = account;
  const dispatcher = new Agent(ca === undefined ? {} : { connect: { ca } });
  let cookie = "";

  const ask: Person["ask"] = async (method, path, body) => {
    const answer = await request(`${url}${path}`, {
      method,
      dispatcher,
      headers: { origin: url, cookie, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const cookies = [answer.headers["set-cookie"] ?? []].flat();
    if (cookies.length > 0) cookie = cookies.map((each) => each.split(";")[0]).join("; ");
    return { status: answer.statusCode, body: text === "" ? null : JSON.parse(text) };
  };
  const expect = async (
    status: number,
    ...asked: Parameters<Person["ask"]>
  ): Promise<PersonAnswer["body"]> => {
    const answer = await ask(...asked);
    if (answer.status === status) return answer.body;
    throw new Error(`${asked[0]} ${asked[1]} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  };

  await expect(200, "POST", "/api/auth/sign-up/email", { name, email, password });
  const { user, workspaces } = await expect(200, "GET", "/v1/me");
  const workspaceId = workspaces[0].id as string;
  return {
    userId: user.id,
    workspaceId,
    ask,
    approve: async (code) => {
      await expect(204, "POST", "/v1/pairing/approve", { code, workspace_id: workspaceId });
    },
    close: () => dispatcher.close(),
  };
}
