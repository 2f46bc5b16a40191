import type { Context } from "hono";
import { formatInstant, type Machines } from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { listMachines, setMachineBlocked } from "../../store/machines.ts";
import { isUuid } from "../../uuid.ts";

/** `GET /v1/workspaces/{ws}/machines`. */
export async function getMachines(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const machines = await listMachines(parts.db, context.get("workspace").workspaceId);
  const answer: Machines = {
    items: machines.map((machine) => ({
      id: machine.machineId,
      hostname: machine.hostname,
      platform: machine.platform,
      daemon_version: machine.daemonVersion,
      created_at: formatInstant(machine.createdAt),
      blocked_at: machine.blockedAt === null ? null : formatInstant(machine.blockedAt),
      key: machine.key && {
        id: machine.key.keyId,
        prefix: machine.key.prefix,
        user_id: machine.key.userId,
        created_at: formatInstant(machine.key.createdAt),
      },
    })),
  };
  return context.json(answer);
}

/**
 * `POST …/machines/{id}/block` and `…/invite`, by an admin: the batch's 403 and its cure, with the same key. Source:
 * contract, "Daemon metadata sync".
 */
export async function postMachineBlocked(
  parts: CloudParts,
  blocked: boolean,
  context: Context<CloudEnv>,
): Promise<Response> {
  const id = context.req.param("id") ?? "";
  const { workspaceId } = context.get("workspace");
  const change = { userId: context.get("actor").userId, now: parts.clock.now() };
  const found = isUuid(id) && (await setMachineBlocked(parts.db, workspaceId, id, blocked, change));
  return found ? context.body(null, 204) : problem("not_found");
}
