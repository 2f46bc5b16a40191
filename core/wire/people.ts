import * as v from "valibot";
import { PLANS } from "../plans/plan.ts";
import { identifier, instant, maybe, name, text, uuid } from "./fields.ts";

/** How somebody stands in a workspace. Source: decisions, "Cloud: people, keys, plans". */
export const WORKSPACE_ROLES = ["member", "admin"] as const;

/** How somebody stands in an organisation; owner and admin are admins of all its workspaces. */
export const ORGANISATION_ROLES = ["member", "admin", "owner"] as const;

const workspaceRole = v.picklist(WORKSPACE_ROLES);
const organisationRole = v.picklist(ORGANISATION_ROLES);

/** A name that a person gives: 1 to 100 characters without blanks around them. */
const givenName = v.pipe(v.string(), v.trim(), name(100));

/** An e-mail address in lower case. */
export const emailAddress = v.pipe(
  v.string(),
  v.trim(),
  v.toLowerCase(),
  text(254),
  v.email("must be an e-mail address"),
);

/** A workspace as its visitor stands in it. */
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

/** An organisation as its member stands in it. */
export const organisationSummarySchema = v.object({ id: uuid, name: v.string(), role: organisationRole });

/** An organisation in a list. */
export type OrganisationSummary = v.InferOutput<typeof organisationSummarySchema>;

/** `GET /v1/me`. */
export const meSchema = v.object({
  user: v.object({ id: identifier, name: v.string(), email: maybe(v.string()) }),
  organisations: v.array(organisationSummarySchema),
  workspaces: v.array(workspaceSummarySchema),
});

/** Who one is. */
export type Me = v.InferOutput<typeof meSchema>;

/** `POST /v1/organisations`: with it comes a first workspace, of the same name unless one is given. */
export const newOrganisationSchema = v.object({ name: givenName, workspace_name: maybe(givenName) });

/** 201: both. */
export const organisationCreatedSchema = v.object({
  organisation: organisationSummarySchema,
  workspace: workspaceSummarySchema,
});

/** A new organisation. */
export type OrganisationCreated = v.InferOutput<typeof organisationCreatedSchema>;

/** `POST /v1/workspaces`. */
export const newWorkspaceSchema = v.object({ organisation_id: uuid, name: givenName });

/** `GET /v1/organisations`. */
export const organisationsSchema = v.object({ items: v.array(organisationSummarySchema) });

/** `GET /v1/workspaces`. */
export const workspacesSchema = v.object({ items: v.array(workspaceSummarySchema) });

/** `GET …/members` of an organisation. */
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

/** Who belongs to an organisation. */
export type OrganisationMembers = v.InferOutput<typeof organisationMembersSchema>;

/** `GET …/members` of a workspace. */
export const membersSchema = v.object({
  items: v.array(
    v.object({
      user_id: identifier,
      name: v.string(),
      email: maybe(v.string()),
      role: workspaceRole,
      /** `organisation` for those who reach the workspace by their role in the organisation. */
      via: v.picklist(["workspace", "organisation"]),
      joined_at: instant,
    }),
  ),
});

/** Who reaches a workspace. */
export type Members = v.InferOutput<typeof membersSchema>;

/** `PATCH …/members/{user}` of a workspace. */
export const memberPatchSchema = v.object({ role: workspaceRole });

/** `PATCH …/members/{user}` of an organisation. */
export const organisationMemberPatchSchema = v.object({ role: organisationRole });

/** `POST …/invitations`. */
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

/** 201: the link is told to the inviter too, once, since mail may not be set up. */
export const invitationCreatedSchema = v.object({
  ...invitationFields,
  link: v.string(),
  mailed: v.boolean(),
});

/** A new invitation. */
export type InvitationCreated = v.InferOutput<typeof invitationCreatedSchema>;

/** `GET …/invitations`: those that can still be accepted. */
export const invitationsSchema = v.object({ items: v.array(v.object(invitationFields)) });

/** Who is invited. */
export type Invitations = v.InferOutput<typeof invitationsSchema>;

/** `POST /v1/invitations/accept`, by the person invited. */
export const invitationAcceptSchema = v.object({ token: name(256) });

/** `GET …/machines`. */
export const machinesSchema = v.object({
  items: v.array(
    v.object({
      id: uuid,
      hostname: v.string(),
      platform: v.string(),
      daemon_version: v.string(),
      created_at: instant,
      blocked_at: maybe(instant),
      /** The machine's active key; `null` while it has none. */
      key: maybe(v.object({ id: uuid, prefix: v.string(), user_id: identifier, created_at: instant })),
    }),
  ),
});

/** A workspace's machines. */
export type Machines = v.InferOutput<typeof machinesSchema>;

/** `GET …/keys`: the active ones. */
export const keysSchema = v.object({
  items: v.array(
    v.object({
      id: uuid,
      prefix: v.string(),
      scope: v.picklist(["sync", "admin"]),
      user_id: identifier,
      machine_id: maybe(uuid),
      created_at: instant,
    }),
  ),
});

/** A workspace's keys. */
export type Keys = v.InferOutput<typeof keysSchema>;

/** 201 to `POST …/keys`: an admin key's token, shown once. */
export const keyCreatedSchema = v.object({
  id: uuid,
  prefix: v.string(),
  token: v.string(),
  created_at: instant,
});

/** A new admin key. */
export type KeyCreated = v.InferOutput<typeof keyCreatedSchema>;

/** `GET /v1/pairing/codes/{code}`: what a person sees before they decide. */
export const pairingShownSchema = v.object({
  code: v.string(),
  hostname: v.string(),
  platform: v.string(),
  address: maybe(v.string()),
});

/** A machine that asks to be paired. */
export type PairingShown = v.InferOutput<typeof pairingShownSchema>;
