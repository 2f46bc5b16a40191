import type { ProcessFacts } from "../../ports/process-table.ts";
import type { ProjectFacts } from "../../ports/project-files.ts";
import { normaliseSlug } from "../../values/slug/normalise-slug.ts";
import { DEFAULT_PROJECT } from "./default-project.ts";
import { baseName } from "./file-path.ts";
import { findIdeWorkspace, workspaceFolder, workspaceName } from "./find-ide-workspace.ts";
import { findOrigin, type ProjectOrigin } from "./project-origin.ts";
import { readRunUser } from "./run-label.ts";

/**
 * The sources of a project name, strongest first. Source: docs/specification.md#attribution.
 *
 * Decision: the specification treats header and proxy user name as one tier. They are separate here, so that a wrong name
 * can be traced to its source. The header takes precedence.
 */
export const ATTRIBUTION_TIERS = [
  "header",
  "proxy_user",
  "environment",
  "project_file",
  "ide_workspace",
  "git_root",
  "working_directory",
  "run_folder",
  "default_project",
] as const;

/** The source of a call's project name. */
export type AttributionTier = (typeof ATTRIBUTION_TIERS)[number];

/** What is known about a call's origin. */
export interface AttributionFacts {
  /** The request's `X-Meter-Project` header. */
  readonly headerProject: string | null;
  /** The user name in the proxy credentials: a project, or what `meter run` states (`RunLabel`). */
  readonly proxyUser: string | null;
  readonly process: ProcessFacts | null;
  /** What was found in the working directory and its parent folders. */
  readonly folders: ProjectFacts | null;
}

/** The configuration of attribution. */
export interface AttributionRules {
  readonly defaultProject: string;
  /** Whether a call without a stronger source is attributed to the name of its working directory. */
  readonly autoClassifyUnknownProcesses: boolean;
  /** Whether a name contains a secret and must not be used. Defaults to the built-in redaction rules. */
  readonly isSecret?: (name: string) => boolean;
}

/** A project and the source of its name. */
export interface AttributedProject {
  /** A normalised slug, never empty. */
  readonly project: string;
  readonly tier: AttributionTier;
}

/** The project of a call. */
export interface Attribution extends AttributedProject {
  /** The second-strongest source, which explains an unexpected attribution. */
  readonly runnerUp: AttributedProject | null;
  /** The place after which the project is named. Null if the name was given. */
  readonly origin: ProjectOrigin | null;
}

/** `folder` is the one whose name it is. A given name has none. */
type Candidate = readonly [tier: AttributionTier, name: string | null | undefined, folder?: string | null];

function candidates(facts: AttributionFacts, rules: AttributionRules): Candidate[] {
  const { process, folders } = facts;
  const cwd = process?.cwd ?? null;
  const gitRoot = folders?.gitRoot ?? null;
  const run = facts.proxyUser === null ? null : readRunUser(facts.proxyUser);
  const workspace = findIdeWorkspace(process?.commandLines ?? [], cwd, gitRoot);
  return [
    ["header", facts.headerProject],
    ["proxy_user", run === null ? facts.proxyUser : run.isGiven ? run.project : null],
    ["environment", process?.environmentProject],
    ["project_file", folders?.projectFile?.project],
    [
      "ide_workspace",
      workspace === null ? null : workspaceName(workspace),
      workspace === null ? null : workspaceFolder(workspace),
    ],
    ["git_root", gitRoot === null ? null : baseName(gitRoot), gitRoot],
    ["working_directory", cwd === null || !rules.autoClassifyUnknownProcesses ? null : baseName(cwd), cwd],
    ["run_folder", run === null || run.isGiven || cwd !== null ? null : run.project],
    ["default_project", rules.defaultProject],
    ["default_project", DEFAULT_PROJECT],
  ];
}

/**
 * Returns the project of a call, from the strongest tier with a usable name. A name is skipped if its slug is empty or if
 * it is a secret. There is always a project.
 */
export function chooseProject(
  facts: AttributionFacts,
  rules: AttributionRules,
  isSecret: (name: string) => boolean,
): Attribution {
  const named: (AttributedProject & { folder: string | null })[] = [];
  for (const [tier, name, folder = null] of candidates(facts, rules)) {
    const project = normaliseSlug(name ?? "");
    // Check the original name: some rules need the upper-case letters that a slug loses.
    if (project !== "" && (name === DEFAULT_PROJECT || !isSecret(name as string)))
      named.push({ project, tier, folder });
    if (named.length === 2) break;
  }
  // The last candidate is a valid constant slug, so there is at least one.
  const [{ project, tier, folder }, second] = named as [(typeof named)[0], (typeof named)[0] | undefined];
  const runnerUp = second === undefined ? null : { project: second.project, tier: second.tier };
  return {
    project,
    tier,
    runnerUp: tier === "default_project" ? null : runnerUp,
    origin: folder === null ? null : findOrigin(project, folder, facts.folders),
  };
}
