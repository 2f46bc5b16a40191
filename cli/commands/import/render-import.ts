import { LOG_FAULTS, type LogFault } from "../../../core/metering/agent-logs/log-entry.ts";
import { formatCount } from "../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { describeReadProblem, problemJson, type ReadProblem } from "../../records/read-agent-file.ts";
import { fixedUsd } from "../../render/report.ts";
import { renderTable } from "../../render/table.ts";
import type { AgentSummary } from "./import-summary.ts";

/** What an import did. */
export interface ImportResult {
  agents: AgentSummary[];
  /** Files that were not read. */
  problems: (ReadProblem & { path: string })[];
  /** Records from earlier imports that records of the proxy replaced. */
  replaced: number;
  /** Calls whose pull request the logs name. */
  linked: number;
}

/** How many files that were not read are named. */
const MAX_PROBLEMS = 5;

const right = "right" as const;

/** Renders what an import did, for people. */
export function renderImport(
  { agents, problems, replaced, linked }: ImportResult,
  dryRun: boolean,
  width: number,
): string {
  if (agents.length === 0) return "No logs of agents were found.";
  const read = agents.filter(({ filesRead, filesFailed }) => filesRead + filesFailed > 0);
  const lines =
    read.length === 0 ? ["Nothing is new in the logs since the last import."] : [table(read, width)];
  const total = read.reduce((sum, { records }) => sum + records, 0);
  const unpriced = read.reduce((sum, each) => sum + each.unpriced, 0);
  if (read.length > 0)
    lines.push(
      "",
      `${total === 0 ? "No" : formatCount(total)} new ${total === 1 ? "record" : "records"} from logs${dryRun ? " would be stored" : ""}.`,
    );
  if (unpriced > 0)
    lines.push(
      `${formatQuantity(unpriced, "of these has", "of these have")} no known price; the cost is not included.`,
    );
  lines.push(...read.flatMap(notesOf));
  if (replaced > 0)
    lines.push(
      `${formatQuantity(replaced, "earlier record")} from logs ${replaced === 1 ? "was" : "were"} replaced by records from the wire.`,
    );
  if (linked > 0)
    lines.push(`${formatQuantity(linked, "call")} got the pull request that the logs name for the session.`);
  for (const problem of problems.slice(0, MAX_PROBLEMS))
    lines.push(`Could not read ${problem.path}: ${describeReadProblem(problem)}.`);
  if (problems.length > MAX_PROBLEMS)
    lines.push(`${formatQuantity(problems.length - MAX_PROBLEMS, "other file")} could not be read.`);
  if (total > 0 && !dryRun) lines.push("See them: meter report", "Delete them again: meter import remove");
  if (total > 0 && dryRun) lines.push("Import them: meter import");
  return lines.join("\n");
}

function table(agents: readonly AgentSummary[], width: number): string {
  return renderTable(
    [
      { title: "agent" },
      ...["files", "lines", "new records", "tokens", "cost", "on the wire", "known"].map((title) => ({
        title,
        align: right,
      })),
    ],
    agents.map((each) => [
      each.agent,
      each.filesRead === each.files
        ? formatCount(each.files)
        : `${formatCount(each.filesRead)} of ${formatCount(each.files)}`,
      formatCount(each.lines),
      formatCount(each.records),
      formatCount(tokensOf(each)),
      each.records > 0 && each.unpriced === each.records ? "unpriced" : fixedUsd(each.costPicoUsd),
      formatCount(each.onWire),
      formatCount(each.known),
    ]),
    width,
  );
}

const tokensOf = ({ tokens }: AgentSummary) =>
  tokens.promptTokens +
  tokens.cacheReadTokens +
  tokens.cacheWriteTokens +
  tokens.completionTokens +
  tokens.thinkingTokens;

function notesOf({ agent, faults, overlapping, grown, pruned }: AgentSummary): string[] {
  const notes: string[] = [];
  if (grown > 0) notes.push(`${agent}: ${formatQuantity(grown, "earlier record")} got larger counts.`);
  if (pruned > 0)
    notes.push(`${agent}: ${formatQuantity(pruned, "call")} left out, from before the date of a prune.`);
  if (overlapping > 0)
    notes.push(
      `${agent}: ${formatQuantity(overlapping, "sum")} of sessions or turns left out, because calls of that time passed through the proxy.`,
    );
  const found = (Object.keys(LOG_FAULTS) as LogFault[]).flatMap((fault) => {
    const count = faults[fault] ?? 0;
    return count === 0 ? [] : [`${LOG_FAULTS[fault]}: ${formatCount(count)}`];
  });
  if (found.length > 0) notes.push(`${agent}: ${found.join(", ")}.`);
  return notes;
}

/** What an import did, as JSON. */
export function toJson({ agents, problems, replaced, linked }: ImportResult, dryRun: boolean) {
  return {
    dry_run: dryRun,
    agents: agents.map((each) => ({
      agent: each.agent,
      files: each.files,
      files_read: each.filesRead,
      files_failed: each.filesFailed,
      lines: each.lines,
      new_records: each.records,
      prompt_tokens: each.tokens.promptTokens,
      cache_read_tokens: each.tokens.cacheReadTokens,
      cache_write_tokens: each.tokens.cacheWriteTokens,
      cache_write_1h_tokens: each.tokens.cacheWrite1hTokens,
      completion_tokens: each.tokens.completionTokens,
      thinking_tokens: each.tokens.thinkingTokens,
      cost_pico_usd: each.costPicoUsd,
      unpriced: each.unpriced,
      grown: each.grown,
      known: each.known,
      on_wire: each.onWire,
      pruned: each.pruned,
      overlapping: each.overlapping,
      faults: each.faults,
    })),
    replaced_by_wire: replaced,
    linked_to_pull_requests: linked,
    problems: problems.map(problemJson),
  };
}
