import { createHash, randomBytes } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";

/** The claims of an ID token about a person. */
export type Claims = Readonly<Record<string, unknown>>;

/** An OpenID Connect provider that signs everyone in as the person whom `claims` names at that moment. */
export interface OidcRig {
  readonly client: { readonly id: string; readonly secret: string };
  readonly origin: string;
  claims: Claims;
  close(): void;
}

/** For a provider with an https address: a certificate of `localhost` and its key, PEM. */
interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** The client's credentials, which the provider checks. */
const CLIENT = { id: "meter", secret: "the client's secret" };

/**
 * Discovery, authorisation and tokens as in RFC 6749 and RFC 7636: a code is valid once, for the redirect address and
 * the challenge that it was requested with, and for the client with its secret.
 */
export async function startOidcProvider(tls: Tls | null = null): Promise<OidcRig> {
  const codes = new Map<string, { redirectUri: string | null; challenge: string | null }>();
  const answer: RequestListener = (request, response) => {
    const url = new URL(request.url ?? "/", rig.origin);
    if (url.pathname === "/authorize") {
      const code = randomBytes(16).toString("hex");
      const redirectUri = url.searchParams.get("redirect_uri");
      codes.set(code, { redirectUri, challenge: url.searchParams.get("code_challenge") });
      const back = new URL(redirectUri ?? "about:blank");
      back.searchParams.set("code", code);
      back.searchParams.set("state", url.searchParams.get("state") ?? "");
      response.writeHead(302, { location: back.href }).end();
      return;
    }
    if (url.pathname !== "/token") {
      const discovery = {
        issuer: rig.origin,
        authorization_endpoint: `${rig.origin}/authorize`,
        token_endpoint: `${rig.origin}/token`,
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(discovery));
      return;
    }
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const fields = new URLSearchParams(text);
      const known = codes.get(fields.get("code") ?? "");
      codes.delete(fields.get("code") ?? "");
      const challenge = createHash("sha256")
        .update(fields.get("code_verifier") ?? "")
        .digest("base64url");
      const isGood =
        known?.redirectUri === fields.get("redirect_uri") &&
        known?.challenge === challenge &&
        fields.get("client_id") === CLIENT.id &&
        fields.get("client_secret") === CLIENT.secret;
      response.setHeader("content-type", "application/json");
      response.statusCode = isGood ? 200 : 400;
      const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
      const idToken = { iss: rig.origin, aud: CLIENT.id, ...rig.claims };
      response.end(
        JSON.stringify(
          isGood
            ? {
                access_token: "canary-access",
                refresh_token: "canary-refresh",
                token_type: "Bearer",
                expires_in: 60,
                id_token: `${part({ alg: "none" })}.${part(idToken)}.canary`,
              }
            : { error: "invalid_grant" },
        ),
      );
    });
  };
  const server = tls === null ? createServer(answer) : createTlsServer(tls, answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const rig = {
    origin: `${tls === null ? "http://127.0.0.1" : "https://localhost"}:${(server.address() as AddressInfo).port}`,
    claims: {} as Claims,
    client: CLIENT,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return rig;
}
