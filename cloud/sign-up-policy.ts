import type { SignUpPolicy } from "../core/ports/sign-up-policy.ts";
import { cutCharacters } from "../core/wire/mod.ts";
import { newId } from "./new-id.ts";
import type { CloudPorts } from "./ports.ts";
import { acceptInvitation, isInvited } from "./store/invitations.ts";
import { createOrganisation } from "./store/organisations.ts";
import { hashToken, workspaceOfInvitation } from "./sync-token.ts";

/**
 * Who may open an account once there is one: those who were invited, by the link and with the address of the invitation,
 * or everybody where sign-up is open. Who was invited joins that workspace; anybody else begins with an organisation and
 * a workspace of their own.
 */
export function createSignUpPolicy(
  parts: Pick<CloudPorts, "db" | "clock" | "randomBytes" | "sha256">,
  settings: { readonly openSignUp: boolean },
): SignUpPolicy {
  const { db, clock, sha256 } = parts;
  return {
    async admits({ email, invitation }) {
      if (settings.openSignUp) return true;
      const workspaceId = invitation === null ? null : workspaceOfInvitation(invitation);
      if (invitation === null || workspaceId === null) return false;
      return await isInvited(db, workspaceId, hashToken(invitation, sha256), email, clock.now());
    },
    async opened(person, invitation) {
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

/** What an organisation is called that nobody has named. */
export function organisationName(personName: string): string {
  const name = cutCharacters(personName.trim(), 80);
  return name === "" ? "My organisation" : `${name}'s organisation`;
}
