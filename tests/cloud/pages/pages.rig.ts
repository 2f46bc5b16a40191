import { type CloudRig, createRig, type TestPerson, type TestWorkspace } from "../kit/cloud-rig.ts";
import type { Engine } from "../kit/engines.ts";

/** The origin of the pages. */
export const PAGES_BASE = "http://127.0.0.1:8787";

/** A name that would run a script if a page did not escape it. */
export const HOSTILE = `<script>alert(1)</script>"'&`;

const config = { baseUrl: PAGES_BASE, rateLimits: { perKey: 1e6, perUser: 1e6 } };

/** A cloud with a workspace on the plan Team, whose pages a member opens. */
export interface TeamPages {
  readonly rig: CloudRig;
  readonly app: ReturnType<CloudRig["app"]>;
  readonly workspace: TestWorkspace;
  readonly member: TestPerson;
  /** Requests a page below a workspace. Default: as the member, of the workspace. */
  get(path: string, person?: TestPerson, of?: Pick<TestWorkspace, "id">): Promise<Response>;
  /** Returns the text of a page, which must be answered with 200. */
  read(path: string, person?: TestPerson, of?: Pick<TestWorkspace, "id">): Promise<string>;
}

/** Creates a workspace whose pages a test opens. Close its rig at the end. */
export async function openTeamPages(engine: Engine): Promise<TeamPages> {
  const rig = await createRig(engine, { config });
  const app = rig.app(config);
  const workspace = await rig.addWorkspace({ plan: "team" });
  const member = await rig.personIn(workspace, "member");
  const visit = (person: TestPerson = member, of: Pick<TestWorkspace, "id"> = workspace) =>
    visitPages(app, of, person, PAGES_BASE);
  return {
    ...{ rig, app, workspace, member },
    get: async (path, person, of) => await visit(person, of).get(path),
    read: async (path, person, of) => await visit(person, of).read(path),
  };
}

/** A person who opens the pages of one workspace and sends their forms. */
export interface PageVisitor {
  get(path: string): Promise<Response>;
  /** The page's text; it must be answered with 200. */
  read(path: string): Promise<string>;
  post(path: string, fields: Readonly<Record<string, string>>, origin?: string): Promise<Response>;
}

/** Returns the visitor of a workspace's pages with a person's session cookie. */
export function visitPages(
  app: ReturnType<CloudRig["app"]>,
  { id }: Pick<TestWorkspace, "id">,
  { token }: TestPerson,
  base: string,
): PageVisitor {
  const cookie = `session=${token}`;
  const get = async (path: string) => await app.request(`/w/${id}${path}`, { headers: { cookie } });
  return {
    get,
    async read(path) {
      const answer = await get(path);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
      return await answer.text();
    },
    post: async (path, fields, origin = base) =>
      await app.request(`/w/${id}${path}`, {
        method: "POST",
        body: new URLSearchParams(fields),
        headers: { cookie, origin },
      }),
  };
}
