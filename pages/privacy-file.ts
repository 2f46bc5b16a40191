import { formatInstant } from "../core/wire/instant.ts";
import { type Columns, formatColumns } from "./page-file.ts";
import type { PrivacyAnswer, SentTimes } from "./views/privacy.ts";

interface SentName extends SentTimes {
  readonly kind: "field" | "project";
  readonly name: string;
}

const COLUMNS: Columns<SentName> = [
  ["kind", ({ kind }) => kind],
  ["name", ({ name }) => name],
  ["first_at", ({ firstAt }) => formatInstant(firstAt)],
  ["last_at", ({ lastAt }) => formatInstant(lastAt)],
  ["times", ({ times }) => times],
  ["projects", ({ projects }) => [...projects].sort().join(" ")],
];

/** Formats the fields and the projects that were sent as CSV. Slugs of projects have no spaces. */
export function privacyCsv({ fields, projects }: Pick<PrivacyAnswer, "fields" | "projects">): string {
  const named = (kind: SentName["kind"], rows: PrivacyAnswer["fields"]): SentName[] =>
    rows.map(([name, times]) => ({ kind, name, ...times }));
  return formatColumns(COLUMNS, [...named("field", fields), ...named("project", projects)]);
}

const timesJson = ({ firstAt, lastAt, times }: SentTimes) => ({
  first_at: formatInstant(firstAt),
  last_at: formatInstant(lastAt),
  times,
});

/** Converts what left this machine to JSON. */
export const privacyJson = ({
  batches,
  bodies,
  origins,
  log,
  fields,
  projects,
  localProjects,
}: PrivacyAnswer) => ({
  ...{ batches, bodies, origins },
  log: log && { first_entry: log.firstSeq, last_entry: log.lastSeq, changed_entry: log.brokenSeq },
  fields: fields.map(([field, sent]) => ({
    field,
    ...timesJson(sent),
    projects: [...sent.projects].sort(),
  })),
  projects: projects.map(([project, sent]) => ({ project, ...timesJson(sent) })),
  local_only_projects: localProjects,
});
