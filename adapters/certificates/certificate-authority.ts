import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type CertificatePair, CertificateStoreError } from "../../core/ports/certificates.ts";
import { DAY_MS, type Millis } from "../../core/values/time.ts";
import { makeFolder } from "../files/make-folder.ts";
import { syncFolder } from "../files/write-file-atomic.ts";
import {
  authorityExtensions,
  issueCertificate,
  keyIdentifier,
  nameConstraints,
  SERVER_AUTHENTICATION,
} from "./issue-certificate.ts";

/** Validity of the authority's certificate, in days. */
export const authorityDays = 1_095;

/** The authority's certificate is replaced if it has fewer days left when it is opened. */
const authorityRenewDays = 60;

/** The installation's certificate authority. */
export interface CertificateAuthority extends CertificatePair {
  /** Path of the certificate file for clients. */
  readonly certificatePath: string;
  /** Why this call issued a new certificate, or null. Clients that loaded the old one must reload. */
  readonly issued: "first" | "hosts_changed" | "outdated" | "expiring" | "damaged" | null;
  /** Problems that were found and fixed, for `doctor` and the log. */
  readonly warnings: readonly string[];
}

/**
 * Opens the certificate authority in the folder. Creates or reissues the certificate if it is missing, damaged, about to expire,
 * constrained to another list of hosts, or less constrained than today's. The key stays the same unless the certificate is
 * about to expire, so that clients that loaded the earlier certificate keep trusting it. Throws a `CertificateStoreError` if
 * the folder or a file is a symbolic link, belongs to another user, or can't be read or written.
 */
export function openCertificateAuthority(options: {
  readonly directory: string;
  readonly hosts: readonly string[];
  readonly now: Millis;
}): CertificateAuthority {
  const { directory, now } = options;
  const hosts = constrainedHosts(options.hosts);
  const keyPath = join(directory, "key.pem");
  const certificatePath = join(directory, "ca.pem");
  const warnings: string[] = [];
  try {
    prepareFolder(directory, warnings);
    const stored = readPrivateFile(keyPath, warnings);
    let keyPem = stored ?? createKeyFile(directory, keyPath);
    const certificate = readCertificate(certificatePath);
    const issued = stored === null ? "first" : reasonToIssue(certificate, keyPem, hosts, now);
    if (issued === null && certificate !== null) {
      return { certificatePem: certificate.toString(), keyPem, certificatePath, issued, warnings };
    }
    if (issued === "expiring") {
      rmSync(keyPath);
      keyPem = createKeyFile(directory, keyPath);
    }
    const certificatePem = issueAuthority(createPrivateKey(keyPem), hosts, now);
    replaceFile(directory, certificatePath, certificatePem);
    return { certificatePem, keyPem, certificatePath, issued, warnings };
  } catch (error) {
    if (error instanceof CertificateStoreError) throw error;
    throw storeError(directory, error);
  }
}

/** What `openTrustedAuthority()` found. */
export interface TrustedAuthority {
  /** Null if it can't sign: its key is missing or does not match, or it is not valid at this time. */
  readonly authority: CertificatePair | null;
  /** Problems that were found and fixed, for `doctor` and the log. */
  readonly warnings: readonly string[];
}

/**
 * Opens the authority with this certificate, which programs already trust. Issues nothing in its place, because they would reject
 * it; only restores its file if that is missing or damaged. Throws a `CertificateStoreError` as `openCertificateAuthority()` does.
 */
export function openTrustedAuthority(options: {
  readonly directory: string;
  readonly certificatePem: string;
  readonly now: Millis;
}): TrustedAuthority {
  const { directory, certificatePem, now } = options;
  const warnings: string[] = [];
  try {
    prepareFolder(directory, warnings);
    const keyPem = readPrivateFile(join(directory, "key.pem"), warnings);
    const certificate = new X509Certificate(certificatePem);
    const isUsable =
      keyPem !== null &&
      certificate.verify(createPublicKey(keyPem)) &&
      Date.parse(certificate.validFrom) <= now &&
      now < Date.parse(certificate.validTo);
    if (!isUsable) return { authority: null, warnings };
    const certificatePath = join(directory, "ca.pem");
    if (readCertificate(certificatePath) === null) replaceFile(directory, certificatePath, certificatePem);
    return { authority: { certificatePem, keyPem }, warnings };
  } catch (error) {
    if (error instanceof CertificateStoreError) throw error;
    throw storeError(directory, error);
  }
}

const storeError = (directory: string, cause: unknown) =>
  new CertificateStoreError(`certificate authority in ${directory}: ${(cause as Error).message}`, { cause });

/** Returns the hosts as a certificate's constraints list them: unique, in lower case, sorted. */
export function constrainedHosts(hosts: readonly string[]): string[] {
  return [...new Set(hosts.map((host) => host.toLowerCase()))].sort();
}

/** Returns why the certificate must be reissued, or null if it is current. */
export function reasonToIssue(
  certificate: X509Certificate | null,
  keyPem: string,
  hosts: readonly string[],
  now: Millis,
): Exclude<CertificateAuthority["issued"], "first"> {
  if (certificate === null) return "damaged";
  const publicKey = createPublicKey(keyPem);
  if (!certificate.verify(publicKey)) return "damaged";
  if (Date.parse(certificate.validTo) - now < authorityRenewDays * DAY_MS) return "expiring";
  if (Date.parse(certificate.validFrom) > now) return "damaged"; // made by a clock that ran ahead
  // Earlier versions were not limited to TLS servers. `keyUsage` is Node's name for the extended key usage.
  if (!certificate.keyUsage?.includes(SERVER_AUTHENTICATION)) return "outdated";
  return certificate.raw.includes(Buffer.from(nameConstraints(hosts))) ? null : "hosts_changed";
}

function issueAuthority(key: KeyObject, hosts: readonly string[], now: Millis): string {
  const publicKey = createPublicKey(key);
  // The name contains the key identifier, so that two installations never share an issuer name.
  const subject = `meter local CA ${Buffer.from(keyIdentifier(publicKey)).toString("hex").slice(0, 16)}`;
  return issueCertificate({
    subject,
    issuer: subject,
    publicKey,
    signingKey: key,
    notBefore: now - 2 * DAY_MS,
    notAfter: now + authorityDays * DAY_MS,
    extensions: authorityExtensions(publicKey, hosts),
  });
}

function prepareFolder(directory: string, warnings: string[]): void {
  makeFolder(directory);
  const found = lstatSync(directory);
  if (!found.isDirectory()) throw new CertificateStoreError(`${directory} is not a folder`);
  rejectForeignOwner(directory, found.uid);
  if (process.platform !== "win32" && (found.mode & 0o777) !== 0o700) {
    if ((found.mode & 0o022) !== 0) warnings.push(`${directory} was writable by others`);
    chmodSync(directory, 0o700);
  }
}

function rejectForeignOwner(path: string, uid: number): void {
  if (process.getuid && uid !== process.getuid())
    throw new CertificateStoreError(`${path} belongs to user ${uid}`);
}

function readPrivateFile(path: string, warnings: string[]): string | null {
  let file: number;
  try {
    rejectNonRegularFile(path);
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    const found = fstatSync(file);
    rejectForeignOwner(path, found.uid);
    if (process.platform !== "win32" && (found.mode & 0o077) !== 0) {
      warnings.push(`${path} was open to others (mode ${(found.mode & 0o777).toString(8)})`);
      fchmodSync(file, 0o600);
    }
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

function rejectNonRegularFile(path: string): void {
  if (!lstatSync(path).isFile()) throw new CertificateStoreError(`${path} is not a plain file`);
}

/** Writes a new key to a temporary file and links it into place: atomic, and never replaces an existing file. */
function createKeyFile(directory: string, path: string): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keyPem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const draft = writeDraft(directory, "key", keyPem, 0o600);
  try {
    placeKey(draft, path, keyPem);
    return keyPem;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    rejectNonRegularFile(path); // another process created the key first; use that one
    return readFileSync(path, "utf8");
  } finally {
    rmSync(draft, { force: true });
    syncFolder(directory);
  }
}

function placeKey(draft: string, path: string, keyPem: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
    // The file system has no hard links, as exFAT. This write never replaces a file either, but a reader may see a part of it.
    writeNewFile(path, keyPem, 0o600);
  }
}

function replaceFile(directory: string, path: string, text: string): void {
  renameSync(writeDraft(directory, "ca", text, 0o644), path);
  syncFolder(directory);
}

function writeDraft(directory: string, stem: string, text: string, mode: number): string {
  const draft = join(directory, `.${stem}-${process.pid}-${Math.trunc(performance.now() * 1_000)}`);
  writeNewFile(draft, text, mode);
  return draft;
}

function writeNewFile(path: string, text: string, mode: number): void {
  const file = openSync(path, "wx", mode); // O_CREAT | O_EXCL: a planted link is not followed
  try {
    fchmodSync(file, mode); // regardless of the umask
    writeFileSync(file, text);
    // An authority whose key is lost in a power cut would have to be trusted again.
    fsyncSync(file);
  } catch (error) {
    rmSync(path, { force: true }); // the disk may be full
    throw error;
  } finally {
    closeSync(file);
  }
}

function readCertificate(path: string): X509Certificate | null {
  try {
    rejectNonRegularFile(path);
    return new X509Certificate(readFileSync(path));
  } catch (error) {
    if (error instanceof CertificateStoreError) throw error;
    return null; // missing or unreadable: a new one is issued
  }
}
