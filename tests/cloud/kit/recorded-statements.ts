import { appendFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { CompiledQuery, Dialect, Driver } from "kysely";

/** The folder in which each test process writes the statements that the store executed; `npm run check:statements` sets it. */
const FOLDER = "METER_TEST_STATEMENTS";

const seen = new Set<string>();

/** Returns the dialect; if the folder is set, one that writes each different statement of the store once. */
export function recordingDialect(dialect: Dialect): Dialect {
  const folder = process.env[FOLDER];
  if (folder === undefined) return dialect;
  const path = join(folder, `${process.pid}.jsonl`);
  return { ...dialect, createDriver: () => recordingDriver(dialect.createDriver(), path) };
}

function recordingDriver(driver: Driver, path: string): Driver {
  return {
    ...driver,
    async acquireConnection(options) {
      const connection = await driver.acquireConnection(options);
      // A test's own statements run without a role of the store.
      let inStore = false;
      const executeQuery = connection.executeQuery.bind(connection);
      connection.executeQuery = async <Row>(query: CompiledQuery) => {
        if (query.parameters.some((each) => each === "meter_app" || each === "meter_purge")) inStore = true;
        if (/^(?:begin|commit|rollback)/.test(query.sql)) inStore = false;
        if (inStore && !seen.has(query.sql)) {
          seen.add(query.sql);
          appendFileSync(path, `${JSON.stringify(query.sql)}\n`);
        }
        return await executeQuery<Row>(query);
      };
      return connection;
    },
  };
}
