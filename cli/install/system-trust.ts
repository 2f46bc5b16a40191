import process from "node:process";
import { createProgramRunner } from "../../adapters/installer/run-program.ts";

/** How long reading the system's list may take, in milliseconds. */
const READ_TIMEOUT_MS = 4_000;

/** Prints the system's certificates that have the subject of the certificate in a file. Ends with 2 if Node is too old. */
const script = `const t=require("tls"),{X509Certificate:X}=require("crypto");if(!t.getCACertificates)process.exit(2);
  const own=new X(require("fs").readFileSync(process.argv[1])).subject;
  const has=(each)=>{try{return new X(each).subject===own}catch{return false}};
  console.log(JSON.stringify([...new Set(t.getCACertificates("system"))].filter(has)))`;

/**
 * Returns the certificates of the authority (PEM) that the system trusts: the one in the file, or an earlier one with the same
 * key. Null if that can't be found out. Asks another process, because this one's list includes the certificates that the shell's
 * variables name.
 */
export async function findInSystemList(
  env: Readonly<Record<string, string | undefined>>,
  caFile: string,
): Promise<readonly string[] | null> {
  const plain = Object.fromEntries(Object.entries(env).filter(([name]) => !/^SSL_CERT_|^NODE_/.test(name)));
  const { code, stdout } = await createProgramRunner(plain)([process.execPath, "-e", script, caFile], {
    timeoutMs: READ_TIMEOUT_MS,
  });
  return code === 0 ? (JSON.parse(stdout) as string[]) : null;
}

/** Returns the certificate of the list that programs may have to accept: of several, the one that is not the current one. */
export const pickListed = (listed: readonly string[] | null, current: string): string | null =>
  listed?.find((each) => each.trim() !== current.trim()) ?? listed?.[0] ?? null;
