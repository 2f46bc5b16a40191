import { createNameCheck } from "../../privacy/redaction/name-check.ts";
import {
  type Attribution,
  type AttributionFacts,
  type AttributionRules,
  chooseProject,
} from "./choose-project.ts";

/** Created when it is first needed. */
let builtInCheck: ((name: string) => boolean) | undefined;

/**
 * Returns the project of a call, from the strongest tier with a usable name. A name is skipped if its slug is empty or if
 * it contains a secret. There is always a project.
 */
export function attributeCall(facts: AttributionFacts, rules: AttributionRules): Attribution {
  const { isSecret } = rules;
  if (isSecret !== undefined) return chooseProject(facts, rules, isSecret);
  builtInCheck ??= createNameCheck();
  return chooseProject(facts, rules, builtInCheck);
}
