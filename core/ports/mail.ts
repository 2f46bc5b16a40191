/** An email to one person, in plain text. It may contain a secret link that is valid once. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Hands an email over for delivery. Rejects if that fails. Not idempotent: each call sends an email. */
export type SendMail = (mail: Mail) => Promise<void>;
