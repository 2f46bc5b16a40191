import { spawn } from "node:child_process";
import process from "node:process";

/** The failure of `pg_dump` or `pg_restore`. Its message has no password. */
export class DumpProgramError extends Error {
  override readonly name = "DumpProgramError";
}

/** Writes the whole database to a file in PostgreSQL's custom format, as a snapshot that another session exported sees it. */
export async function runPgDump(url: string, snapshot: string, path: string): Promise<void> {
  await run("pg_dump", url, [
    "--format=custom",
    "--no-unlogged-table-data",
    `--snapshot=${snapshot}`,
    `--file=${path}`,
  ]);
}

/** Restores such a file into an empty database, in one transaction: everything or nothing. */
export async function runPgRestore(url: string, path: string): Promise<void> {
  await run("pg_restore", url, ["--single-transaction", "--exit-on-error", path]);
}

/** Runs a program of PostgreSQL's on a database. The password is in its environment, since other users can read arguments. */
async function run(program: "pg_dump" | "pg_restore", url: string, words: readonly string[]): Promise<void> {
  const target = new URL(url);
  const password = decodeURIComponent(target.password);
  target.password = "";
  const child = spawn(program, [...words, `--dbname=${target.href}`], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, ...(password === "" ? {} : { PGPASSWORD: password }) },
  });
  let text = "";
  child.stderr.on("data", (chunk) => {
    text = `${text}${chunk}`.slice(-2_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (cause: NodeJS.ErrnoException) =>
      reject(
        cause.code === "ENOENT"
          ? new DumpProgramError(
              `${program} is not installed. Install PostgreSQL's client programs (postgresql-client) of the server's version or later.`,
            )
          : cause,
      ),
    );
    child.once("close", resolve);
  });
  if (code !== 0) throw new DumpProgramError(`${program} failed: ${text.trim() || `exit status ${code}`}`);
}
