import { Option } from "clipanion";

/** The options that several reports take, each for a field of a command. `readPeriod()` reads the period. */
export const sinceOption = (preset?: string) =>
  Option.String("--since", {
    description: `Start this long ago (24h, 7d), or at today, yesterday or a date${preset === undefined ? "" : ` (default ${preset})`}`,
  });

export const fromOption = () =>
  Option.String("--from", { description: "The first day, or the start time (ISO 8601)" });

export const toOption = () =>
  Option.String("--to", { description: "The last day, or the end time (ISO 8601, exclusive)" });

export const utcOption = () => Option.Boolean("--utc", false, { description: "Use days in UTC" });

export const projectOption = () => Option.String("--project", { description: "Only this project" });

export const modelOption = () => Option.String("--model", { description: "Only this model" });

export const providerOption = () => Option.String("--provider", { description: "Only this provider" });

/** `--csv` of a list. */
export const csvOption = () => Option.Boolean("--csv", false, { description: "Print CSV (RFC 4180)" });

/** `--utc` of a list with times. */
export const utcTimesOption = () =>
  Option.Boolean("--utc", false, { description: "Use days and times in UTC" });

/** `--json` of a report with costs. */
export const costJsonOption = () =>
  Option.Boolean("--json", false, {
    description: "Print JSON, with money in pico-USD as decimal strings",
  });
