import { type Context, Hono } from "hono";
import * as v from "valibot";
import { readJson } from "../../core/wire/read-json.ts";
import type { ProjectOrigins } from "../capture/project-origins.ts";
import { problem } from "./problem.ts";

/** The maximum length of a path. Linux allows 4,096 bytes. */
const MAX_PATH_LENGTH = 4_096;

/** The name of a folder, as a slug, and its origin. */
const findRequest = v.object({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
  remote: v.nullable(v.pipe(v.string(), v.maxLength(MAX_PATH_LENGTH))),
  folder: v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_PATH_LENGTH)),
});

/**
 * Creates the project routes of the loopback API. Mount them at `/v1/projects`, behind the checks of host and origin. Both
 * require the secret:
 * - `POST /v1/projects/find`: the project of a folder (`name`, `remote`, `folder`), for `meter run`.
 * - `POST /v1/projects/reload`: reads the stored projects again, after a command changed them.
 */
export function createProjectRoutes(origins: ProjectOrigins, isOwner: (context: Context) => boolean): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    if (isOwner(context)) return await next();
    const detail = "This endpoint requires the secret from the loopback-token file as a bearer token.";
    return problem(context, 401, "unauthorised", detail);
  });
  app.post("/find", async (context) => {
    const json = readJson(new Uint8Array(await context.req.arrayBuffer()));
    const request = v.safeParse(findRequest, json.ok ? json.value : null);
    if (!request.success)
      return problem(context, 422, "invalid_request", "The request body is not a name with its origin.");
    const { name, remote, folder } = request.output;
    return context.json({ project: await origins.find(name, { remote, folder }) });
  });
  app.post("/reload", (context) => {
    origins.reload();
    return context.json({ reloaded: true });
  });
  return app;
}
