import type { LogReader } from "./log-entry.ts";
import { ampLog } from "./readers/amp-log.ts";
import { claudeLog } from "./readers/claude-log.ts";
import { codexLog } from "./readers/codex-log.ts";
import { copilotLog } from "./readers/copilot-log.ts";
import { geminiLog, qwenLog } from "./readers/gemini-log.ts";
import { kiloLog, opencodeLog } from "./readers/opencode-log.ts";
import { piLog } from "./readers/pi-log.ts";
import { droidLog, gooseLog } from "./readers/session-logs.ts";
import { clineLog, clineTaskLog, kiloTaskLog, rooLog } from "./readers/vscode-logs.ts";

/** Changes with every change of a reader: files that another version read are read again from the start. */
export const LOG_READER_VERSION = 2;

/** How a file is read: line by line, as one JSON document, or as rows of a SQLite database. */
export type LogFileKind = "lines" | "document" | "rows";

/** A format of files. */
export interface LogFormat {
  readonly kind: LogFileKind;
  readonly reader: LogReader;
  /** The queries of a database, of which the first that its tables allow is used. */
  readonly queries?: readonly LogQuery[];
  /** Finds the session in the path of a file, relative to the folder of the logs. */
  readonly session?: RegExp;
}

/** A query of a database of an agent. */
export interface LogQuery {
  readonly table: string;
  /** The columns that are read, as far as the table has them. */
  readonly columns: readonly string[];
  /** The column that grows when a row changes. Rows up to the last value that was read are not read again. */
  readonly changedAt: string;
}

/** A file whose name without its ending is the session. */
const FILE_NAME = /([^/]+?)\.(?:settings\.json|messages\.json|jsonl?)$/;

/** A file in a folder that is named after the session. */
const FOLDER_NAME = /([^/]+)\/[^/]+$/;

const MESSAGES: readonly LogQuery[] = ["message", "session_message"].map((table) => ({
  table,
  columns: ["id", "session_id", "data"],
  changedAt: "time_updated",
}));

/** The formats by name. */
export const LOG_FORMATS = {
  claude: { kind: "lines", reader: claudeLog, session: FILE_NAME },
  codex: { kind: "lines", reader: codexLog, session: /rollout-.*?([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl$/ },
  gemini: { kind: "lines", reader: geminiLog },
  gemini_document: { kind: "document", reader: geminiLog },
  qwen: { kind: "lines", reader: qwenLog, session: FILE_NAME },
  opencode: { kind: "rows", reader: opencodeLog, queries: MESSAGES },
  opencode_document: { kind: "document", reader: opencodeLog },
  kilo: { kind: "rows", reader: kiloLog, queries: MESSAGES },
  kilo_tasks: { kind: "document", reader: kiloTaskLog, session: FOLDER_NAME },
  copilot: { kind: "lines", reader: copilotLog, session: FOLDER_NAME },
  goose: {
    kind: "rows",
    reader: gooseLog,
    queries: [
      {
        table: "sessions",
        columns: [
          "id",
          "provider_name",
          "model_config_json",
          "working_dir",
          "created_at",
          "updated_at",
          "accumulated_input_tokens",
          "accumulated_output_tokens",
          "accumulated_cache_read_tokens",
          "accumulated_cache_write_tokens",
          "accumulated_cost",
          "parent_session_id",
        ],
        changedAt: "updated_at",
      },
    ],
  },
  amp: { kind: "document", reader: ampLog },
  cline: { kind: "document", reader: clineLog, session: FILE_NAME },
  cline_tasks: { kind: "document", reader: clineTaskLog, session: FOLDER_NAME },
  roo: { kind: "document", reader: rooLog, session: FOLDER_NAME },
  pi: { kind: "lines", reader: piLog, session: FILE_NAME },
  droid: { kind: "document", reader: droidLog, session: FILE_NAME },
} as const satisfies Readonly<Record<string, LogFormat>>;

/** The name of a format. */
export type LogFormatName = keyof typeof LOG_FORMATS;

/** Returns the format of a name. */
export const logFormatOf = (name: LogFormatName): LogFormat => LOG_FORMATS[name];

/** Returns the session that the path of a file states, or null. */
export function sessionOfPath(name: LogFormatName, path: string): string | null {
  return logFormatOf(name).session?.exec(path)?.[1] ?? null;
}
