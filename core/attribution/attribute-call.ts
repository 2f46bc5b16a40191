import type { ProcessFacts } from "../ports/process-table.ts";
import type { ProjectFacts } from "../ports/project-files.ts";
import { normaliseSlug } from "../slug/mod.ts";
import { baseName } from "./file-path.ts";
import { findIdeWorkspace, workspaceName } from "./find-ide-workspace.ts";

/** The project of calls that nothing names one for. Source: decisions, "Daemon". */
export const DEFAULT_PROJECT = "misc";

/**
 * Where a project's name can come from, the strongest first. Source: decisions, "Daemon".
 *
 * Decision: header and proxy user name are one tier there; they keep two names here, because they are two places to look
 * when a name is wrong. The header is the nearer of the two.
 */
export const ATTRIBUTION_TIERS = [
  "header",
  "proxy_user",
  "environment",
  "project_file",
  "ide_workspace",
  "git_root",
  "working_directory",
  "default_project",
] as const;

/** How a call's project was found. */
export type AttributionTier = (typeof ATTRIBUTION_TIERS)[number];

/** All that is known of a call's origin, as plain data. */
export interface AttributionFacts {
  /** `X-Meter-Project` of the request. */
  readonly headerProject: string | null;
  /** The user name given to the proxy. */
  readonly proxyUser: string | null;
  readonly process: ProcessFacts | null;
  /** What the folders from the working directory upward say. */
  readonly folders: ProjectFacts | null;
}

/** The part of the configuration that attribution follows. */
export interface AttributionRules {
  readonly defaultProject: string;
  /** Whether a process that nothing names goes by its working directory's name. */
  readonly autoClassifyUnknownProcesses: boolean;
}

/** A name and where it came from. */
export interface AttributedProject {
  /** Normalised, never empty. */
  readonly project: string;
  readonly tier: AttributionTier;
}

/** A call's project. */
export interface Attribution extends AttributedProject {
  /** What would have won without the winner: tells a surprised reader what was overruled. */
  readonly runnerUp: AttributedProject | null;
}

type Candidate = readonly [tier: AttributionTier, name: string | null | undefined];

function candidates(facts: AttributionFacts, rules: AttributionRules): Candidate[] {
  const { process, folders } = facts;
  const cwd = process?.cwd ?? null;
  const gitRoot = folders?.gitRoot ?? null;
  const workspace = findIdeWorkspace(process?.commandLines ?? [], cwd, gitRoot);
  return [
    ["header", facts.headerProject],
    ["proxy_user", facts.proxyUser],
    ["environment", process?.environmentProject],
    ["project_file", folders?.projectFile?.project],
    ["ide_workspace", workspace === null ? null : workspaceName(workspace)],
    ["git_root", gitRoot === null ? null : baseName(gitRoot)],
    ["working_directory", cwd === null || !rules.autoClassifyUnknownProcesses ? null : baseName(cwd)],
    ["default_project", rules.defaultProject],
    ["default_project", DEFAULT_PROJECT],
  ];
}

/**
 * Which project a call belongs to: the strongest tier whose name normalises to something. A name of which nothing is
 * left falls through to the next. Always gives a project.
 */
export function attributeCall(facts: AttributionFacts, rules: AttributionRules): Attribution {
  const named: AttributedProject[] = [];
  for (const [tier, name] of candidates(facts, rules)) {
    const project = normaliseSlug(name ?? "");
    if (project !== "") named.push({ project, tier });
  }
  // The last candidate is a constant that is a slug, so there is at least one.
  const [winner, runnerUp] = named as [AttributedProject, ...AttributedProject[]];
  return { ...winner, runnerUp: winner.tier === "default_project" ? null : (runnerUp as AttributedProject) };
}
