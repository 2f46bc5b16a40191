/** Who calls a user-facing endpoint: a person by session (cookie or bearer session token), or by an admin key bound to them. */
export interface Actor {
  readonly userId: string;
  readonly name: string;
  readonly email: string | null;
  readonly via: "session" | "key";
  /** The one workspace that an admin key reaches; null for a session. */
  readonly keyWorkspaceId: string | null;
}
