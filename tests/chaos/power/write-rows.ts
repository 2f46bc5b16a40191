/** Commits rows to the embedded database in a folder, each alone, and prints the time of each confirmation. */
import process from "node:process";
import { Kysely } from "kysely";
import { openPgliteFolder } from "../../../adapters/postgres/pglite.ts";

const [, , folder = "", commits = "0"] = process.argv;
const { dialect } = await openPgliteFolder(folder);
const db = new Kysely<{ kept: { n: number } }>({ dialect });
for (let n = 0; n < Number(commits); n += 1) {
  await db.insertInto("kept").values({ n }).execute();
  process.stdout.write(`${n} ${process.hrtime.bigint()}\n`);
}
// As a power cut finds it: the database is not closed.
process.exit(0);
