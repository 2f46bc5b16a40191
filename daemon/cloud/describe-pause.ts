import { WORKSPACE_DELETED } from "../../core/delivery/sync/sync-machine.ts";

const SENTENCES: Readonly<Record<string, string>> = {
  paused_manual: "Sending was paused by meter cloud pause. Continue: meter cloud resume",
  paused_unauthorised:
    "The cloud no longer accepts this machine's key. Pair this machine again: meter cloud connect",
  paused_forbidden:
    "The workspace does not permit this machine. Ask its owner to re-invite it, then continue: meter cloud resume",
  paused_database_replaced:
    "The database was damaged and replaced, and whether sending was paused is not known. Continue: meter cloud resume",
};

/** Describes a pause and the command that ends it, by `paused_reason` and the problem code that caused it. */
export function describePause(pausedReason: string, pausedCode: string | null): string {
  if (pausedCode === WORKSPACE_DELETED) {
    return "The workspace was deleted. Pair this machine with another workspace: meter cloud connect";
  }
  return SENTENCES[pausedReason] ?? `Sending is paused (${pausedReason}). Continue: meter cloud resume`;
}
