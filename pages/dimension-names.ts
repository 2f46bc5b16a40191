import { describeMissing } from "../core/pricing/view/usage-answer.ts";
import type { UsageDimension } from "../core/wire/usage.ts";

/** The names of dimensions in headings and menus. */
export const DIMENSION_NAMES: Readonly<Record<UsageDimension, string>> = {
  project: "Project",
  branch: "Branch",
  model: "Model",
  provider: "Provider",
  client: "Program",
  client_version: "Program version",
  session: "Session",
  agent: "Agent",
  commit: "Commit",
  remote: "Repository",
  pull_request: "Pull request",
  status: "Status",
  http_status: "HTTP status",
  error: "Error",
  billing: "Billing",
  cost: "Cost",
  tokens: "Token counts",
  source: "Source",
  kind: "Kind",
  machine: "Machine",
  person: "Person",
};

/** Returns the name of a dimension within a sentence. An abbreviation stays as it is. */
export const nameDimension = (dimension: UsageDimension): string =>
  DIMENSION_NAMES[dimension].replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase());

/** Returns a filter's value in words: that of an ID, and the empty one as `none` or `unknown`. */
export const nameFilterValue = (
  name: string,
  value: string,
  nameOf: (filter: string, value: string) => string | null = () => null,
): string => (value === "" ? describeMissing(name as UsageDimension) : (nameOf(name, value) ?? value));

/** Returns the name of a filter in a heading or a menu. */
export const filterName = (name: string): string =>
  name === "host" ? "Host" : (DIMENSION_NAMES[name as UsageDimension] ?? name);
