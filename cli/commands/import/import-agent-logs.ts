import { type FoundLog, findLogFiles } from "../../../adapters/agent-logs/find-log-files.ts";
import { deleteLeftScratch } from "../../../adapters/agent-logs/scratch-folder.ts";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import type { LogAgent, PullRequestLink } from "../../../core/metering/agent-logs/log-entry.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import { createRedact } from "../../../core/privacy/redaction/redact.ts";
import type { Millis } from "../../../core/values/time.ts";
import { createRecordRedaction } from "../../../daemon/capture/redact-record.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { databaseBytes } from "../../home/database-file.ts";
import { withStore } from "../../home/open-store.ts";
import { prepareHome } from "../../home/prepare-home.ts";
import { readConfig } from "../../home/read-config.ts";
import { scratchFolder } from "../../home/scratch-folder.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { exitCodes } from "../../program/exit-codes.ts";
import { readPeriod } from "../../program/period.ts";
import { findLogLocations } from "../../records/offer-import.ts";
import { openPriceBook } from "../../records/price-book.ts";
import { isUnchanged, readAgentFile } from "../../records/read-agent-file.ts";
import { createFolderProjects } from "./find-folder-project.ts";
import { type AgentSummary, emptySummary } from "./import-summary.ts";
import { createProgress } from "./progress.ts";
import { readAgents } from "./read-agents.ts";
import { type ImportResult, renderImport, toJson } from "./render-import.ts";
import { createEntryWriter, type EntryWriter } from "./store-entries.ts";

/** The options of `meter import`. */
export interface ImportOptions {
  readonly agents: readonly string[];
  readonly since: string | undefined;
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** Imports past usage from the logs of agents. */
export async function importAgentLogs(context: CommandContext, options: ImportOptions): Promise<number> {
  const agents = readAgents(options.agents);
  const { from: since } = readPeriod(
    { since: options.since, from: undefined, to: undefined },
    Date.now(),
    false,
  );
  const { home, env } = context;
  const { config } = await readConfig(home, env);
  const files = await findLogFiles(findLogLocations(env).filter(({ agent }) => agents.includes(agent)));
  const result = await inStore(home, options.dryRun, (store) =>
    importFiles(context, { store, config, files, since, dryRun: options.dryRun }),
  );
  if (options.json) context.printJson(toJson(result, options.dryRun));
  else context.print(renderImport(result, options.dryRun, context.width));
  return result.problems.length === 0 ? exitCodes.ok : exitCodes.failed;
}

/** Opens the database. A dry run changes nothing, so without a database it uses an empty one in memory. */
async function inStore<Result>(
  home: string,
  dryRun: boolean,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  if (dryRun && databaseBytes(home) === 0) {
    const store = await openStore(createSqliteOpener(), ":memory:");
    return work(store).finally(() => store.close());
  }
  if (!dryRun) prepareHome(home);
  return withStore(home, { readOnly: dryRun, create: !dryRun }, work);
}

interface Import {
  readonly store: Store;
  readonly config: Config;
  readonly files: readonly FoundLog[];
  readonly since: Millis | null;
  readonly dryRun: boolean;
}

async function importFiles(context: CommandContext, work: Import): Promise<ImportResult> {
  const { store, config, files, since, dryRun } = work;
  const writer = createEntryWriter({
    logs: store.logs,
    prices: openPriceBook(config, store.rates),
    findProject: await createFolderProjects(context.home, config, store, dryRun),
    redact: createRecordRedaction(createRedact(config.redactionRules)),
    now: Date.now,
    dryRun,
    since,
  });
  const summaries = new Map<LogAgent, AgentSummary>();
  const result: ImportResult = { agents: [], problems: [], replaced: 0, linked: 0 };
  await deleteLeftScratch(scratchFolder(context.home));
  const changed = files.filter((file) => {
    const summary = summaries.get(file.agent) ?? emptySummary(file.agent);
    summaries.set(file.agent, summary);
    summary.files += 1;
    const isOld = since !== null && file.modifiedAt < since;
    return !isOld && !isUnchanged(file, store.logs.position(file.path));
  });
  const bytes = changed.reduce((sum, { size }) => sum + size, 0);
  const progress = createProgress(context.stderr, changed.length, bytes);
  try {
    for (const file of changed) {
      progress.onFile(file.agent);
      await importFile(
        context.home,
        work,
        file,
        summaries.get(file.agent)!,
        writer,
        result,
        progress.onBytes,
      );
    }
  } finally {
    progress.end();
  }
  result.replaced = writer.replaceByWire();
  result.linked = dryRun ? 0 : store.logs.linkPullRequests();
  result.agents = [...summaries.values()];
  return result;
}

async function importFile(
  home: string,
  { store, since, dryRun }: Import,
  file: FoundLog,
  summary: AgentSummary,
  writer: EntryWriter,
  result: ImportResult,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const links: PullRequestLink[] = [];
  const read = await readAgentFile(file, store.logs.position(file.path), scratchFolder(home), {
    onEntries: (entries) => writer.write(entries, file.path, summary),
    onFault: (fault) => {
      summary.faults[fault] = (summary.faults[fault] ?? 0) + 1;
    },
    onLink: (link) => links.push(link),
    onLines: (lines) => {
      summary.lines += lines;
    },
    onBytes,
  });
  if (!read.ok) {
    summary.filesFailed += 1;
    result.problems.push({ path: file.path, ...read });
    return;
  }
  summary.filesRead += 1;
  if (dryRun) return;
  // After an import since a date, the rest of the file is still to be read.
  const position = since === null ? read.position : null;
  const { agent } = file;
  store.logs.save(
    { records: [], matches: [], position, links: links.map((link) => ({ ...link, agent })) },
    Date.now(),
  );
}
