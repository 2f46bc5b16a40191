/** The person who calls an endpoint, by session (cookie or bearer session token) or by an admin key bound to them. */
export interface Actor {
  readonly userId: string;
  readonly name: string;
  readonly email: string | null;
  readonly via: "session" | "key";
  /** The only workspace that the admin key can access; null for a session. */
  readonly keyWorkspaceId: string | null;
}
