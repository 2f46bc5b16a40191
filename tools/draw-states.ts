// Draws docs/states.md from the machines' tables: node tools/draw-states.ts
import { writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { pairingTable } from "../core/pairing/mod.ts";
import { supervisorTable } from "../core/supervisor/mod.ts";
import { syncTable } from "../core/sync/mod.ts";
import { uploaderTable } from "../core/uploader/mod.ts";
import { watchdogTable } from "../core/watchdog/mod.ts";

/** What drawing needs of a table: of each state and event, where it leads and in what words. */
type DrawnTable = Readonly<
  Record<string, Readonly<Record<string, "ignored" | { readonly to: Readonly<Record<string, string>> }>>>
>;

const machines: readonly [title: string, source: string, initial: string, table: DrawnTable][] = [
  ["Metadata sync", "core/sync", "active", syncTable],
  ["Body uploader", "core/uploader", "active", uploaderTable],
  ["Supervisor of a worker", "core/supervisor", "stopped", supervisorTable],
  ["Watchdog of the proxy's port", "core/watchdog", "healthy", watchdogTable],
  ["Pairing handshake", "core/pairing", "idle", pairingTable],
];

/** The file that is drawn. */
export const statesFile: string = fileURLToPath(new URL("../docs/states.md", import.meta.url));

/** The text of `docs/states.md`. */
export function drawStates(): string {
  const parts = machines.map(([title, source, initial, table]) =>
    [
      `## ${title}`,
      "",
      `\`${source}\`. States: ${Object.keys(table)
        .map((state) => `\`${state}\``)
        .join(", ")}.`,
      "",
      "```mermaid",
      "stateDiagram-v2",
      `  [*] --> ${initial}`,
      ...arrows(table),
      "```",
      "",
      "Without leaving the state:",
      "",
      ...stays(table),
      "",
    ].join("\n"),
  );
  return `${[
    "# States",
    "",
    "<!-- Drawn by tools/draw-states.ts from the tables in core/. Do not edit: run `node tools/draw-states.ts`. -->",
    "",
    "Each machine is a table: a row for each state, in it a cell for each event. The diagrams show where an event leads to",
    "another state; below each stands what it does without leaving. An event that is in neither is ignored in that state.",
    "",
    ...parts,
  ]
    .join("\n")
    .trimEnd()}\n`;
}

/** Every cell's targets, in the table's order. */
function targets(table: DrawnTable): { from: string; event: string; to: string; when: string }[] {
  return Object.entries(table).flatMap(([from, row]) =>
    Object.entries(row).flatMap(([event, cell]) =>
      cell === "ignored" ? [] : Object.entries(cell.to).map(([to, when]) => ({ from, event, to, when })),
    ),
  );
}

function arrows(table: DrawnTable): string[] {
  return targets(table)
    .filter(({ from, to }) => from !== to)
    .map(({ from, event, to, when }) => `  ${from} --> ${to}: ${event} (${escapeLabel(when)})`);
}

/** A Markdown table with its columns aligned, as the formatter wants them. */
function stays(table: DrawnTable): string[] {
  const rows = targets(table)
    .filter(({ from, to }) => from === to)
    .map(({ from, event, when }) => [`\`${from}\``, `\`${event}\``, when]);
  const all = [["state", "event", "when"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => String(row[column]).length)));
  const lines = all.map((row) => `| ${row.map((cell, at) => cell.padEnd(Number(widths[at]))).join(" | ")} |`);
  return lines.toSpliced(1, 0, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`);
}

/** A colon or a semicolon would end a label in Mermaid. */
function escapeLabel(text: string): string {
  return text.replaceAll(":", " -").replaceAll(";", ",");
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(statesFile, drawStates());
}
