import type { SmallFileProblem } from "../../adapters/files/mod.ts";

const words: Readonly<Record<SmallFileProblem, string>> = {
  absent: "it is not there",
  symlink: "it is a link",
  not_a_file: "it is no file",
  too_large: "it is too large",
  not_text: "it is no text",
  foreign_owner: "it is somebody else's",
  open_to_others: "others could read it",
  hard_linked: "it has another name too",
  unreadable: "the system does not let this user",
};

/** Why a file was not read, for people. */
export const unreadable = (path: string, reason: SmallFileProblem): string =>
  `${path} can't be read: ${words[reason]}`;
