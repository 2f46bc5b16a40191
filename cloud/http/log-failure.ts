import type { Context } from "hono";
import type { CloudEnv, CloudPorts } from "../ports.ts";
import { problemOf } from "./problem.ts";

/** Logs an error of a request, and returns the problem that it is to the client. */
export function logFailure(
  { log }: Pick<CloudPorts, "log">,
  error: unknown,
  context: Context<CloudEnv>,
): Response {
  const { answer, reason, code } = problemOf(error);
  log({
    event: "cloud.request_failed",
    request_id: context.get("requestId"),
    method: context.req.method,
    // The pattern, not the path, which is the client's text.
    route: context.req.routePath,
    reason,
    code,
  });
  return answer;
}
