import { isUuid } from "../../../core/values/uuid.ts";
import { formatInstant, formatInstantOrNull } from "../../../core/wire/instant.ts";
import { problem } from "../../http/problem.ts";
import { changeMachineUser, listMachines, renameMachine, setMachineBlocked } from "../../store/machines.ts";
import { findWorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiCall, ApiHandlers } from "../api-call.ts";
import { readNames } from "../reads/read-names.ts";

/** The routes of a workspace's machines. */
export const machineHandlers = {
  "GET /v1/workspaces/:ws/machines": async ({ parts, workspace, answer }) => {
    const machines = await listMachines(parts.db, workspace.workspaceId);
    const people = machines.flatMap(({ userId, approvedBy }) => [userId ?? [], approvedBy ?? []].flat());
    const names = await readNames(parts.accounts, people);
    const toPerson = (id: string | null) => (id === null ? null : { id, name: names.get(id) ?? "" });
    const items = machines.map((machine) => ({
      id: machine.machineId,
      hostname: machine.hostname,
      platform: machine.platform,
      daemon_version: machine.daemonVersion,
      created_at: formatInstant(machine.createdAt),
      blocked_at: formatInstantOrNull(machine.blockedAt),
      name: machine.label,
      last_seen_at: formatInstantOrNull(machine.lastSeenAt),
      user: toPerson(machine.userId),
      approved_by: toPerson(machine.approvedBy),
      key: machine.key && {
        id: machine.key.keyId,
        prefix: machine.key.prefix,
        user_id: machine.key.userId,
        created_at: formatInstant(machine.key.createdAt),
      },
    }));
    return answer(200, { items });
  },

  /** Names the machine, and changes who its future requests and prompts belong to. */
  "PATCH /v1/workspaces/:ws/machines/:id": async ({ parts, actor, workspace, params, body, answer }) => {
    const { workspaceId } = workspace;
    const { user_id: userId, name } = body;
    if (!isUuid(params.id)) return problem("not_found");
    const change = { userId: actor.userId, now: parts.clock.now() };
    if (userId !== undefined) {
      if ((await findWorkspaceAccess(parts.db, userId, workspaceId)) === null)
        return problem("member_unknown");
      const outcome = await changeMachineUser(parts.db, workspaceId, params.id, userId, change);
      if (outcome !== "changed") return problem(outcome);
    }
    if (name === undefined) return answer(204);
    const found = await renameMachine(parts.db, workspaceId, params.id, name, change);
    return found ? answer(204) : problem("not_found");
  },

  "POST /v1/workspaces/:ws/machines/:id/block": (call) => blockMachine(call, true),
  "POST /v1/workspaces/:ws/machines/:id/invite": (call) => blockMachine(call, false),
} satisfies Partial<ApiHandlers>;

/**
 * Blocks a machine, whose batches then get 403, or unblocks it; its key stays the same. Source:
 * docs/specification.md#metadata-sync.
 */
async function blockMachine(
  { parts, actor, workspace, params: { id }, answer }: ApiCall<"POST /v1/workspaces/:ws/machines/:id/block">,
  blocked: boolean,
): Promise<Response> {
  const change = { userId: actor.userId, now: parts.clock.now() };
  const found = isUuid(id) && (await setMachineBlocked(parts.db, workspace.workspaceId, id, blocked, change));
  return found ? answer(204) : problem("not_found");
}
