import type { Context } from "hono";
import type { ApiPorts } from "./api-ports.ts";

/** Whether the request carries the secret in `<meter_home>/loopback-token` as a bearer token, as the command line does. */
export function hasBearerSecret(
  context: Context,
  { equalSecrets, token }: Pick<ApiPorts, "equalSecrets" | "token">,
): boolean {
  const [scheme, given] = (context.req.header("authorization") ?? "").split(" ");
  return scheme?.toLowerCase() === "bearer" && given !== undefined && equalSecrets(given, token);
}
