// Writes a row from a separate process and prints whether it could: POSIX locks are held by processes.
import process from "node:process";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";

const connection = await createSqliteOpener().open(process.argv[2] as string, { busyTimeoutMs: 0 });
try {
  connection.execute("INSERT INTO t VALUES (2)");
  process.stdout.write("written\n");
} catch (error) {
  process.stdout.write(error instanceof StoreError && error.reason === "busy" ? "locked\n" : `${error}\n`);
} finally {
  connection.close();
}
