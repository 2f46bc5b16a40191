import type { SignUpPolicy } from "../../core/ports/sign-up-policy.ts";
import { truncateCharacters } from "../../core/wire/characters.ts";
import { hashToken, workspaceOfInvitation } from "../access/token.ts";
import { newId } from "../new-id.ts";
import type { CloudPorts } from "../ports.ts";
import { acceptInvitation, isInvited } from "../store/invitations.ts";
import { createOrganisation } from "../store/organisations.ts";

/**
 * Creates the policy for sign-ups after the first account: everyone if sign-up is open, else only a person with the link of
 * an invitation to their email address. An invited person joins the workspace; anyone else gets their own organisation and
 * workspace.
 */
export function createSignUpPolicy(
  parts: Pick<CloudPorts, "db" | "clock" | "randomBytes" | "sha256">,
  settings: { readonly openSignUp: boolean },
): SignUpPolicy {
  const { db, clock, sha256 } = parts;
  return {
    async allows({ email, invitation }) {
      if (settings.openSignUp) return true;
      const workspaceId = invitation === null ? null : workspaceOfInvitation(invitation);
      if (invitation === null || workspaceId === null) return false;
      return await isInvited(db, workspaceId, hashToken(invitation, sha256), email, clock.now());
    },
    async accountCreated(person, invitation) {
      const now = clock.now();
      const workspaceId = invitation === null ? null : workspaceOfInvitation(invitation);
      if (invitation !== null && workspaceId !== null) {
        const hash = hashToken(invitation, sha256);
        if ((await acceptInvitation(db, workspaceId, hash, person, now)) !== null) return;
      }
      await createOrganisation(
        db,
        {
          organisationId: newId(parts),
          name: organisationName(person.name),
          workspaceId: newId(parts),
          workspaceName: "Main",
          ownerUserId: person.userId,
        },
        { userId: person.userId, now },
      );
    },
  };
}

/** Returns the default name of a person's organisation. */
export function organisationName(personName: string): string {
  const name = truncateCharacters(personName.trim(), 80);
  return name === "" ? "My organisation" : `${name}'s organisation`;
}
