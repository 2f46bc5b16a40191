import * as v from "valibot";
import { PLANS } from "../values/plan.ts";
import { isLegibleLine } from "./characters.ts";
import { identifier, instant, maybe, name, text, uuid } from "./fields.ts";

/** The roles in a workspace. Source: docs/specification.md#cloud-accounts-and-keys. */
const WORKSPACE_ROLES = ["member", "admin"] as const;

/** The roles in an organisation. Owners and admins are admins of all its workspaces. */
export const ORGANISATION_ROLES = ["member", "admin", "owner"] as const;

const workspaceRole = v.picklist(WORKSPACE_ROLES);
const organisationRole = v.picklist(ORGANISATION_ROLES);

/** Maximum length of a name that a person chooses, in characters. */
export const GIVEN_NAME_MAX = 100;

/** A name that a person chooses: 1 to 100 characters after trimming, on one line, and not all of them invisible. */
export const givenName = v.pipe(
  v.string(),
  v.trim(),
  name(GIVEN_NAME_MAX),
  v.check(isLegibleLine, "must be one line with a visible character"),
);

/** An email address in lower case. */
export const emailAddress = v.pipe(
  v.string(),
  v.trim(),
  v.toLowerCase(),
  text(254),
  v.email("must be an email address"),
);

/** A workspace, with the caller's role in it. */
export const workspaceSummarySchema = v.object({
  id: uuid,
  organisation_id: uuid,
  name: v.string(),
  plan: v.picklist(PLANS),
  role: workspaceRole,
  store_prompt_content: v.boolean(),
});

/** A workspace in a list. */
export type WorkspaceSummary = v.InferOutput<typeof workspaceSummarySchema>;

/** An organisation, with the caller's role in it. */
const organisationSummarySchema = v.object({ id: uuid, name: v.string(), role: organisationRole });

/** An organisation in a list. */
export type OrganisationSummary = v.InferOutput<typeof organisationSummarySchema>;

/** The response of `GET /v1/me`. */
export const meSchema = v.object({
  user: v.object({ id: identifier, name: v.string(), email: maybe(v.string()) }),
  organisations: v.array(organisationSummarySchema),
  workspaces: v.array(workspaceSummarySchema),
});

/** The request of `POST /v1/organisations`. It also creates a first workspace, with the same name by default. */
export const newOrganisationSchema = v.object({ name: givenName, workspace_name: maybe(givenName) });

/** The 201 response: the new organisation and its first workspace. */
export const organisationCreatedSchema = v.object({
  organisation: organisationSummarySchema,
  workspace: workspaceSummarySchema,
});

/** The request of `POST /v1/workspaces`. */
export const newWorkspaceSchema = v.object({ organisation_id: uuid, name: givenName });

/** The response of `GET /v1/organisations`. */
export const organisationsSchema = v.object({ items: v.array(organisationSummarySchema) });

/** The response of `GET /v1/workspaces`. */
export const workspacesSchema = v.object({ items: v.array(workspaceSummarySchema) });

/** The response of `GET …/members` of an organisation. */
export const organisationMembersSchema = v.object({
  items: v.array(
    v.object({
      user_id: identifier,
      name: v.string(),
      email: maybe(v.string()),
      role: organisationRole,
      joined_at: instant,
    }),
  ),
});

/** The response of `GET …/members` of a workspace. */
export const membersSchema = v.object({
  items: v.array(
    v.object({
      user_id: identifier,
      name: v.string(),
      email: maybe(v.string()),
      role: workspaceRole,
      /** `organisation` if the role in the organisation gives access to the workspace. */
      via: v.picklist(["workspace", "organisation"]),
      joined_at: instant,
    }),
  ),
});

/** The people with access to a workspace. */
export type Members = v.InferOutput<typeof membersSchema>;

/** The request of `PATCH …/members/{user}` of a workspace. */
export const memberPatchSchema = v.object({ role: workspaceRole });

/** The request of `PATCH …/members/{user}` of an organisation. */
export const organisationMemberPatchSchema = v.object({ role: organisationRole });

/** The request of `POST …/invitations`. */
export const newInvitationSchema = v.object({
  email: emailAddress,
  role: v.optional(workspaceRole, "member"),
});

const invitationFields = {
  id: uuid,
  email: v.string(),
  role: workspaceRole,
  created_at: instant,
  expires_at: instant,
};

/** The 201 response. It contains the link once, because email may not be configured. */
export const invitationCreatedSchema = v.object({
  ...invitationFields,
  link: v.string(),
  mailed: v.boolean(),
});

/** The response of `GET …/invitations`: the pending invitations. */
export const invitationsSchema = v.object({ items: v.array(v.object(invitationFields)) });

/** The pending invitations of a workspace. */
export type Invitations = v.InferOutput<typeof invitationsSchema>;

/** The request of `POST /v1/invitations/accept`, sent by the invited person. */
export const invitationAcceptSchema = v.object({ token: name(256) });

/** The response of `GET …/machines`. */
export const machinesSchema = v.object({
  items: v.array(
    v.object({
      id: uuid,
      hostname: v.string(),
      platform: v.string(),
      daemon_version: v.string(),
      created_at: instant,
      blocked_at: maybe(instant),
      /** The name that an administrator gave it; `null` if it has only its host name. */
      name: maybe(v.string()),
      /** When a key of the machine was last used, up to five minutes earlier; `null` if none was. */
      last_seen_at: maybe(instant),
      /** The author of its requests and prompts. */
      user: maybe(v.object({ id: identifier, name: v.string() })),
      /** The person who approved its pairing. */
      approved_by: maybe(v.object({ id: identifier, name: v.string() })),
      /** The machine's active key; `null` if it has none. */
      key: maybe(v.object({ id: uuid, prefix: v.string(), user_id: identifier, created_at: instant })),
    }),
  ),
});

/** A list of machines. */
export type Machines = v.InferOutput<typeof machinesSchema>;

/** The request of `PATCH …/machines/{id}`: its person, its name, or both. A name of `null` is the host name again. */
export const machinePatchSchema = v.pipe(
  v.object({ user_id: v.optional(identifier), name: v.optional(v.nullable(givenName)) }),
  v.check((patch) => Object.keys(patch).length > 0, "must change something"),
);

/** The response of `GET …/keys`: the active keys. */
export const keysSchema = v.object({
  items: v.array(
    v.object({
      id: uuid,
      prefix: v.string(),
      scope: v.picklist(["sync", "admin"]),
      user_id: identifier,
      machine_id: maybe(uuid),
      created_at: instant,
      /** Up to five minutes before the last use; `null` if it was not used. */
      last_used_at: maybe(instant),
    }),
  ),
});

/** The active keys of a workspace. */
export type Keys = v.InferOutput<typeof keysSchema>;

/** The 201 response of `POST …/keys`: a new admin key. The token is shown only once. */
export const keyCreatedSchema = v.object({
  id: uuid,
  prefix: v.string(),
  token: v.string(),
  created_at: instant,
});

/** The response of `GET /v1/pairing/codes/{code}`: what a person sees before approving or denying. */
export const pairingCodeViewSchema = v.object({
  code: v.string(),
  hostname: v.string(),
  platform: v.string(),
  address: maybe(v.string()),
});

/** A machine that is waiting for approval. */
export type PairingCodeView = v.InferOutput<typeof pairingCodeViewSchema>;
