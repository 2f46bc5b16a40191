import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Millis } from "../../core/values/time.ts";
import { constrainedHosts, reasonToIssue } from "./certificate-authority.ts";

/** The state of an installation's certificate authority. */
export interface AuthorityInspection {
  /** What `openCertificateAuthority()` would find. It keeps `current` and reissues the others. */
  readonly state: "absent" | "current" | "hosts_changed" | "outdated" | "expiring" | "damaged";
  readonly validUntil: Millis | null;
  /** Whether other users can read the key. */
  readonly keyOpenToOthers: boolean;
  /** Whether there is a key that can't be used. `openCertificateAuthority()` then throws, since it replaces no key. */
  readonly keyDamaged: boolean;
  /** Null if there is no certificate. */
  readonly certificatePem: string | null;
}

/** Inspects the authority in the folder without changing it. Never throws. */
export function inspectCertificateAuthority(options: {
  readonly directory: string;
  readonly hosts: readonly string[];
  readonly now: Millis;
}): AuthorityInspection {
  const { directory, now } = options;
  const keyPath = join(directory, "key.pem");
  const mode = (path: string) => statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  const open =
    process.platform !== "win32" && ((mode(keyPath) & 0o077) !== 0 || (mode(directory) & 0o022) !== 0);
  const key = { keyOpenToOthers: open, keyDamaged: isDamagedKey(keyPath) };
  const caPath = join(directory, "ca.pem");
  if (!existsSync(caPath)) return { state: "absent", validUntil: null, certificatePem: null, ...key };
  try {
    const pem = readPlainFile(caPath);
    const certificate = new X509Certificate(pem);
    const validUntil = Date.parse(certificate.validTo);
    const facts = { validUntil, certificatePem: pem, ...key };
    const hosts = constrainedHosts(options.hosts);
    const reason = reasonToIssue(certificate, readPlainFile(keyPath), hosts, now);
    return { state: reason ?? "current", ...facts };
  } catch {
    return { state: "damaged", validUntil: null, certificatePem: null, ...key };
  }
}

/** Whether something in the key's place, or in that of its folder, is no key in a plain file. */
function isDamagedKey(path: string): boolean {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return false;
    if (!found.isFile()) return true;
    createPrivateKey(readFileSync(path, "utf8"));
    return false;
  } catch {
    return true;
  }
}

/** Refuses pipes and devices, since reading them may never end. */
function readPlainFile(path: string): string {
  if (!statSync(path).isFile()) throw new Error(`${path} is not a plain file`);
  return readFileSync(path, "utf8");
}
