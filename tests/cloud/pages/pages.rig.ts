import type { CloudRig, TestPerson, TestWorkspace } from "../kit/cloud-rig.ts";

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
