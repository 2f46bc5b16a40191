import type { OriginAssignment } from "../../../core/metering/attribution/project-origin.ts";

/** The origins of projects: remotes of repositories, and folders. They stay on this machine. */
export interface OriginStore {
  /** Reads all assignments, oldest first. */
  list(): OriginAssignment[];
  /** Stores an assignment and deletes those that it replaces, in one transaction. Idempotent. */
  assign(assignment: OriginAssignment, replaced: readonly OriginAssignment[]): void;
  /** Whether a stored request has this project. */
  isUsed(project: string): boolean;
  /** Reads the merged projects, each with the one that it was merged into, which may be merged itself. */
  listMerges(): Map<string, string>;
}
