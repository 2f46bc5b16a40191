import { appendFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { CompiledQuery, Dialect, Driver } from "kysely";

/** The folder in which each test process writes the transactions of the store; `npm test` and `npm run check:statements` set it. */
const FOLDER = process.env.METER_TEST_STATEMENTS;

/** Whether this run is only for the record: statements on PGlite are not recorded, so suites on it do not run. */
export const IS_ONLY_POSTGRES: boolean = process.env.METER_TEST_ONLY_POSTGRES !== undefined;

const seen = new Set<string>();

/** Returns the dialect; if the folder is set, one that writes each different transaction of the store once, as a list of statements. */
export function recordingDialect(dialect: Dialect): Dialect {
  if (FOLDER === undefined) return dialect;
  const path = join(FOLDER, `${process.pid}.jsonl`);
  return { ...dialect, createDriver: () => recordingDriver(dialect.createDriver(), path) };
}

function recordingDriver(driver: Driver, path: string): Driver {
  return {
    ...driver,
    async acquireConnection(options) {
      const connection = await driver.acquireConnection(options);
      // A test's own statements run without a role of the store.
      let inStore = false;
      const statements = new Set<string>();
      const executeQuery = connection.executeQuery.bind(connection);
      connection.executeQuery = async <Row>(query: CompiledQuery) => {
        if (query.parameters.some((each) => each === "meter_app" || each === "meter_purge")) inStore = true;
        if (/^(?:begin|commit|rollback)/.test(query.sql)) {
          const text = JSON.stringify([...statements]);
          if (statements.size > 0 && !seen.has(text)) appendFileSync(path, `${text}\n`);
          seen.add(text);
          statements.clear();
          inStore = false;
        }
        if (inStore) statements.add(query.sql);
        return await executeQuery<Row>(query);
      };
      return connection;
    },
  };
}
