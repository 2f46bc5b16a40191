/**
 * Which project a call belongs to, as a pure function of facts: what the request and the proxy login say, what is known
 * of the calling process, and what the folders around its working directory say. The facts come through the ports
 * `core/ports/process-table.ts` and `core/ports/project-files.ts`.
 *
 * ```ts
 * import { attributeCall } from "./mod.ts";
 *
 * attributeCall(
 *   { headerProject: null, proxyUser: "My Shop", process: null, folders: null },
 *   { defaultProject: "misc", autoClassifyUnknownProcesses: true },
 * ); // { project: "my-shop", tier: "proxy_user", runnerUp: { project: "misc", tier: "default_project" } }
 * ```
 *
 * @module
 */
export {
  ATTRIBUTION_TIERS,
  type AttributedProject,
  type Attribution,
  type AttributionFacts,
  type AttributionRules,
  type AttributionTier,
  attributeCall,
  DEFAULT_PROJECT,
} from "./attribute-call.ts";
export { findIdeWorkspace } from "./find-ide-workspace.ts";
