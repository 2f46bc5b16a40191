import type { SmallFileProblem } from "../../adapters/files/read-small-file.ts";

const messages: Readonly<Record<SmallFileProblem, string>> = {
  absent: "it does not exist",
  symlink: "it is a symbolic link",
  not_a_file: "it is not a regular file",
  too_large: "it is too large",
  not_text: "it is not text",
  foreign_owner: "it belongs to another user",
  open_to_others: "other users can read it",
  hard_linked: "it has several hard links",
  unreadable: "permission denied",
};

/** Describes why a file could not be read. */
export const describeUnreadable = (path: string, reason: SmallFileProblem): string =>
  `${path} can't be read: ${messages[reason]}.`;
