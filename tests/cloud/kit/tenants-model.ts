/** The tenants, people, keys and requests of a run, by their place in these lists. */
export const WORKSPACES = 2;
export const REQUESTS = 3;

/** The role of each person at the beginning, by workspace. The last person has none. */
export const PEOPLE: readonly (readonly ("owner" | "admin" | "member" | null)[])[] = [
  ["owner", null],
  ["member", null],
  [null, "owner"],
  [null, "member"],
  ["admin", "member"],
  [null, null],
];

/** The owners of the keys, each with its own machine. */
export const KEYS: readonly { readonly person: number; readonly workspace: number }[] = [
  { person: 1, workspace: 0 },
  { person: 4, workspace: 0 },
  { person: 3, workspace: 1 },
  { person: 4, workspace: 1 },
];

/** The actions. Numbers are positions in the lists above. */
export type Operation =
  | { readonly kind: "send"; readonly key: number; readonly stale: boolean; readonly request: number }
  | { readonly kind: "upload"; readonly key: number; readonly stale: boolean; readonly request: number }
  | {
      readonly kind: "read_body";
      readonly person: number;
      readonly request: number;
      readonly within: number | null;
    }
  | { readonly kind: "trace"; readonly person: number; readonly workspace: number; readonly request: number }
  | { readonly kind: "list"; readonly person: number; readonly workspace: number }
  | { readonly kind: "sum"; readonly person: number; readonly workspace: number }
  | { readonly kind: "views"; readonly person: number; readonly workspace: number }
  | { readonly kind: "switch"; readonly person: number; readonly workspace: number; readonly on: boolean }
  | { readonly kind: "remove"; readonly person: number; readonly workspace: number; readonly whom: number }
  | {
      readonly kind: "invite";
      readonly person: number;
      readonly workspace: number;
      readonly whom: number;
      readonly role: "admin" | "member";
    }
  | {
      readonly kind: "block";
      readonly person: number;
      readonly workspace: number;
      readonly key: number;
      readonly on: boolean;
    }
  | { readonly kind: "renew"; readonly key: number }
  | { readonly kind: "delete"; readonly person: number; readonly workspace: number };

/** A request as its workspace stores it. */
interface ModelRequest {
  readonly key: number;
  body: string | null;
}

/** The expected response, as far as the model determines it. */
export interface Expected {
  readonly status: number;
  /** The expected contents of the response. */
  readonly shows?: unknown;
}

/** One workspace. */
interface ModelWorkspace {
  isDeleted: boolean;
  stores: boolean;
  readonly owner: number;
  readonly members: Map<number, "admin" | "member">;
  readonly requests: Map<number, ModelRequest>;
  readonly views: { readonly viewer: number; readonly subject: number; readonly request: number }[];
}

/**
 * A model of the cloud's tenants: maps instead of a database. `apply` performs an action and returns the expected
 * response.
 */
export interface TenantsModel {
  readonly workspaces: readonly ModelWorkspace[];
  /** Whether a person can access a workspace now. */
  reaches(person: number, workspace: number): boolean;
  /** `text` is the content of an upload, `prompt` the number of tokens of each request. */
  apply(operation: Operation, text: string): Expected;
}

/** The text that all data of a workspace contains. */
export const markOf = (workspace: number) => `mark-of-tenant-${workspace}`;

/** The tokens of a request, which identify the key that sent it. */
export const tokensOf = (request: number, key: number) => 1_000 * (key + 1) + request;

export function createTenantsModel(): TenantsModel {
  const workspaces = Array.from({ length: WORKSPACES }, (_, at): ModelWorkspace => {
    const standing = PEOPLE.map((places) => places[at] ?? null);
    return {
      isDeleted: false,
      stores: true,
      owner: standing.indexOf("owner"),
      members: new Map(
        standing.flatMap((role, person) =>
          role === "admin" || role === "member" ? [[person, role] as const] : [],
        ),
      ),
      requests: new Map(),
      views: [],
    };
  });
  const blocked = new Set<number>();
  const of = (workspace: number) => workspaces[workspace] as ModelWorkspace;
  const belongs = (person: number, { owner, members }: ModelWorkspace) =>
    owner === person || members.has(person);
  const reaches = (person: number, workspace: number) =>
    !of(workspace).isDeleted && belongs(person, of(workspace));
  const isAdmin = (person: number, workspace: number) =>
    of(workspace).owner === person || of(workspace).members.get(person) === "admin";
  const owned = (key: number) => KEYS[key] as (typeof KEYS)[number];

  /** Returns why a key is refused, or null. */
  function refusal(key: number, stale: boolean): Expected | null {
    if (stale) return { status: 401 };
    const { person, workspace } = owned(key);
    const serves = !of(workspace).isDeleted && belongs(person, of(workspace)) && !blocked.has(key);
    return serves ? null : { status: 403 };
  }

  /** Runs an action of admins, or returns why it is refused. */
  function asAdmin(person: number, workspace: number, work: () => Expected): Expected {
    if (!reaches(person, workspace)) return { status: 404 };
    return isAdmin(person, workspace) ? work() : { status: 403 };
  }

  const asMember = (person: number, workspace: number, work: () => Expected): Expected =>
    reaches(person, workspace) ? work() : { status: 404 };

  function upload(key: number, request: number, text: string): Expected {
    const { workspace } = owned(key);
    if (!of(workspace).stores) return { status: 200, shows: { stored: false } };
    const own = of(workspace).requests.get(request);
    if (own !== undefined) {
      if (own.key !== key) return { status: 403 };
      own.body = `${markOf(workspace)} ${text}`;
      return { status: 204 };
    }
    return { status: workspaces.some(({ requests }) => requests.has(request)) ? 404 : 425 };
  }

  function readBody(person: number, request: number, within: number | null): Expected {
    const readable = workspaces.flatMap((one, at) => {
      const found = one.requests.get(request);
      if (found === undefined || !reaches(person, at) || (within ?? at) !== at) return [];
      const isAuthor = owned(found.key).person === person;
      return isAuthor || isAdmin(person, at) ? [{ one, found, isAuthor }] : [];
    });
    const [first, second] = readable;
    if (first === undefined) return { status: 403 };
    if (second !== undefined) return { status: 409 };
    const { one, found, isAuthor } = first;
    if (found.body === null) return { status: 404 };
    if (!isAuthor) one.views.push({ viewer: person, subject: owned(found.key).person, request });
    return { status: 200, shows: found.body };
  }

  function apply(operation: Operation, text: string): Expected {
    switch (operation.kind) {
      case "send": {
        const { key, request } = operation;
        const refused = refusal(key, operation.stale);
        if (refused !== null) return refused;
        const { requests } = of(owned(key).workspace);
        const known = requests.get(request);
        if (known !== undefined)
          return { status: 200, shows: known.key === key ? "duplicates" : "not_the_sender" };
        requests.set(request, { key, body: null });
        return { status: 200, shows: "accepted" };
      }
      case "upload":
        return refusal(operation.key, operation.stale) ?? upload(operation.key, operation.request, text);
      case "read_body":
        return readBody(operation.person, operation.request, operation.within);
      case "trace":
        return asMember(operation.person, operation.workspace, () => {
          const found = of(operation.workspace).requests.get(operation.request);
          return found === undefined ? { status: 404 } : { status: 200, shows: found.key };
        });
      case "list":
      case "sum":
        return asMember(operation.person, operation.workspace, () => ({
          status: 200,
          shows: new Map([...of(operation.workspace).requests].map(([request, { key }]) => [request, key])),
        }));
      case "views":
        return asAdmin(operation.person, operation.workspace, () => ({
          status: 200,
          shows: [...of(operation.workspace).views],
        }));
      case "switch":
        return asAdmin(operation.person, operation.workspace, () => {
          of(operation.workspace).stores = operation.on;
          return { status: 200 };
        });
      case "remove":
        return asMember(operation.person, operation.workspace, () => {
          const { person, workspace, whom } = operation;
          if (!isAdmin(person, workspace) && person !== whom) return { status: 403 };
          return { status: of(workspace).members.delete(whom) ? 204 : 404 };
        });
      case "invite":
        return asAdmin(operation.person, operation.workspace, () => {
          const { members } = of(operation.workspace);
          const role = members.get(operation.whom) === "admin" ? "admin" : operation.role;
          members.set(operation.whom, role);
          return { status: 200 };
        });
      case "block":
        return asAdmin(operation.person, operation.workspace, () => {
          const { key, on } = operation;
          if (owned(key).workspace !== operation.workspace) return { status: 404 };
          if (on) blocked.add(key);
          else blocked.delete(key);
          return { status: 204 };
        });
      case "renew":
        return { status: 200 };
      case "delete":
        return asMember(operation.person, operation.workspace, () => {
          if (of(operation.workspace).owner !== operation.person) return { status: 403 };
          of(operation.workspace).isDeleted = true;
          return { status: 200 };
        });
    }
  }

  return { workspaces, reaches, apply };
}
