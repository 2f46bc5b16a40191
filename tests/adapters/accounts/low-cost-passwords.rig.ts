import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

const { scrypt } = crypto;

/**
 * Makes the hashes of passwords in this process a thousandth as costly. Scrypt is slow on purpose, and would take most of the
 * CPU time of tests about sign-in. On Deno and Bun it has no effect.
 */
export function lowerPasswordCost(): void {
  crypto.scrypt = ((password, salt, length, { N: _, r, p }, done) =>
    scrypt(password, salt, length, { N: 16, r, p }, done)) as typeof scrypt;
  syncBuiltinESMExports();
}
