import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readPemBundle } from "../../../adapters/certificates/root-certificates.ts";
import type { DoctorFacts } from "../../../core/operations/doctor/doctor-facts.ts";
import { listExemptHosts, readNoProxy } from "../../../core/values/text/no-proxy.ts";
import { isOwnProxy } from "../../install/install-plan.ts";
import { trustVariables } from "../../install/run-environment.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns what the variables of this shell mean for metering. */
export function gatherShellFacts(
  env: Environment,
  home: string,
  { proxyPort, password }: { readonly proxyPort: number; readonly password: string | null },
  hosts: readonly string[],
  caPem: string | null,
): DoctorFacts["shell"] {
  const variablesFile = join(home, /(^|\/)fish$/.test(env.SHELL ?? "") ? "env.fish" : "env.sh");
  const named = env.HTTPS_PROXY ?? env.https_proxy ?? env.ALL_PROXY ?? env.all_proxy ?? "";
  const proxy = named === "" ? "none" : isOwnProxy(named, proxyPort) ? "meter" : "other";
  const own = caPem === null ? null : new X509Certificate(caPem).fingerprint256;
  const containsAuthority = (path: string) => {
    try {
      return readPemBundle(readFileSync(path, "utf8"), path).some(
        (pem) => new X509Certificate(pem).fingerprint256 === own,
      );
    } catch {
      return false;
    }
  };
  return {
    proxy,
    variablesFile: existsSync(variablesFile) ? variablesFile : null,
    lacksPassword:
      proxy === "meter" && password !== null && !named.includes(`:${encodeURIComponent(password)}@`),
    exemptHosts: proxy === "meter" ? listExemptHosts(readNoProxy(env), hosts) : [],
    badTrustVariables:
      proxy === "meter"
        ? trustVariables.filter((name) => env[name] && !containsAuthority(env[name] as string))
        : [],
  } as const;
}
