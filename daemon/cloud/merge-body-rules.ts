import type { BodyPolicy } from "../../core/delivery/uploader/body-policy.ts";
import type { CloudSettings } from "./ports.ts";

/** Returns the rules for bodies by project. The bodies of a local-only project are never uploaded. */
export function mergeBodyRules({ bodies, upload }: CloudSettings["cloud"]): BodyPolicy["perProject"] {
  const localOnly = Object.entries(upload.perProject).filter(([, sent]) => !sent);
  return Object.fromEntries([...Object.entries(bodies.perProject), ...localOnly]);
}
