import type { Hono } from "hono";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { createRateLimiter, type RateLimiter } from "../../rate-limiter.ts";
import { requireActor } from "../../require-actor.ts";
import { requireWorkspace } from "../../require-workspace.ts";
import { createWrongCodeLock } from "../../wrong-code-lock.ts";
import { deleteAccount, deleteWorkspaceByOwner } from "./deletions.ts";
import { deleteInvitation, getInvitations, postInvitation, postInvitationAccept } from "./invitations.ts";
import { deleteListedKey, getKeys, postAdminKey } from "./keys.ts";
import { getMachines, postMachineBlocked } from "./machines.ts";
import { getMe, getWorkspaces } from "./me.ts";
import { deleteMember, getMembers, patchMember } from "./members.ts";
import {
  deleteOrganisationMember,
  getOrganisationMembers,
  getOrganisations,
  patchOrganisationMember,
  postOrganisation,
  postWorkspace,
  requireOrganisation,
} from "./organisations.ts";
import { getPairingByCode, postPairingDecision } from "./pairing-decisions.ts";
import { getAdvancedSettings, getSettings, patchAdvancedSettings, patchSettings } from "./settings.ts";
import { answerAuth } from "./sign-in.ts";

/**
 * Every endpoint by which people come in, and change who may do what. Decision: an admin key changes a workspace's
 * settings, members, machines and keys as its owner does, but makes no further keys, and what belongs to the person
 * (account, organisations, approving a machine, deleting a workspace) needs the person.
 */
export function registerPeopleRoutes(app: Hono<CloudEnv>, parts: CloudParts, perUser: RateLimiter): void {
  const actor = requireActor(parts, perUser);
  const inPerson = requireActor(parts, perUser, { sessionOnly: true });
  const member = requireWorkspace(parts);
  const admin = requireWorkspace(parts, { role: "admin" });
  const perAddress = createRateLimiter(parts.config.rateLimits.signInPerAddress);
  app.on(["GET", "POST"], "/api/auth/*", (context) => answerAuth(parts, perAddress, context));

  app.get("/v1/me", actor, (context) => getMe(parts, context));
  app.delete("/v1/account", inPerson, (context) => deleteAccount(parts, context));
  app.get("/v1/workspaces", actor, (context) => getWorkspaces(parts, context));
  app.post("/v1/workspaces", inPerson, (context) => postWorkspace(parts, context));
  app.delete("/v1/workspaces/:ws", inPerson, member, (context) => deleteWorkspaceByOwner(parts, context));

  const owner = requireOrganisation(parts, ["owner"]);
  const runner = requireOrganisation(parts, ["owner", "admin"]);
  app.get("/v1/organisations", inPerson, (context) => getOrganisations(parts, context));
  app.post("/v1/organisations", inPerson, (context) => postOrganisation(parts, context));
  app.get("/v1/organisations/:org/members", inPerson, runner, (context) =>
    getOrganisationMembers(parts, context),
  );
  app.patch("/v1/organisations/:org/members/:user", inPerson, owner, (context) =>
    patchOrganisationMember(parts, context),
  );
  app.delete("/v1/organisations/:org/members/:user", inPerson, owner, (context) =>
    deleteOrganisationMember(parts, context),
  );

  const advancedRead = requireWorkspace(parts, { feature: "advancedSettings" });
  const advanced = requireWorkspace(parts, { role: "admin", feature: "advancedSettings" });
  app.get("/v1/workspaces/:ws/settings", actor, member, getSettings);
  app.patch("/v1/workspaces/:ws/settings", actor, admin, (context) => patchSettings(parts, context));
  app.get("/v1/workspaces/:ws/settings/advanced", actor, advancedRead, getAdvancedSettings);
  app.patch("/v1/workspaces/:ws/settings/advanced", actor, advanced, (context) =>
    patchAdvancedSettings(parts, context),
  );

  app.get("/v1/workspaces/:ws/members", actor, member, (context) => getMembers(parts, context));
  app.patch("/v1/workspaces/:ws/members/:user", actor, admin, (context) => patchMember(parts, context));
  app.delete("/v1/workspaces/:ws/members/:user", actor, member, (context) => deleteMember(parts, context));
  app.get("/v1/workspaces/:ws/invitations", actor, admin, (context) => getInvitations(parts, context));
  app.post("/v1/workspaces/:ws/invitations", actor, admin, (context) => postInvitation(parts, context));
  app.delete("/v1/workspaces/:ws/invitations/:id", actor, admin, (context) =>
    deleteInvitation(parts, context),
  );
  app.post("/v1/invitations/accept", inPerson, (context) => postInvitationAccept(parts, context));

  app.get("/v1/workspaces/:ws/machines", actor, member, (context) => getMachines(parts, context));
  app.post("/v1/workspaces/:ws/machines/:id/block", actor, admin, (context) =>
    postMachineBlocked(parts, true, context),
  );
  app.post("/v1/workspaces/:ws/machines/:id/invite", actor, admin, (context) =>
    postMachineBlocked(parts, false, context),
  );
  app.get("/v1/workspaces/:ws/keys", actor, member, (context) => getKeys(parts, context));
  app.post("/v1/workspaces/:ws/keys", inPerson, admin, (context) => postAdminKey(parts, context));
  app.delete("/v1/workspaces/:ws/keys/:id", actor, member, (context) => deleteListedKey(parts, context));

  const lock = createWrongCodeLock();
  app.get("/v1/pairing/codes/:code", inPerson, (context) => getPairingByCode(parts, lock, context));
  app.post("/v1/pairing/approve", inPerson, (context) => postPairingDecision(parts, lock, true, context));
  app.post("/v1/pairing/deny", inPerson, (context) => postPairingDecision(parts, lock, false, context));
}
