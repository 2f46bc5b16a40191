import type { Context } from "hono";
import { EXPECTED_KIND, hasKnownKinds } from "../../core/metering/coverage/coverage-filter.ts";
import { coverageJson } from "../../pages/coverage-file.ts";
import { WHOLE } from "../../pages/page-parts.ts";
import { privacyJson } from "../../pages/privacy-file.ts";
import { settingsJson } from "../../pages/settings-file.ts";
import { readCoverageAnswer, readCoverageFilters } from "../page/read-coverage.ts";
import { readPrivacy } from "../page/read-privacy.ts";
import { localZone } from "../store/days.ts";
import type { ApiPorts } from "./api-ports.ts";
import { problem } from "./problem.ts";
import { readPeriod } from "./read-period.ts";

/** Answers with what was metered and missed in a period, in the buckets of the page. */
export async function getCoverage(ports: ApiPorts, context: Context): Promise<Response> {
  const { from, to } = context.req.query();
  const period = readPeriod({ from, to }, ports.clock.now());
  if (!period.ok) return problem(context, 400, period.code, period.detail);
  const parameters = new URL(context.req.url).searchParams;
  if (!hasKnownKinds(parameters))
    return problem(context, 400, "invalid_query", `invalid query parameter: kind. ${EXPECTED_KIND}`);
  const filters = readCoverageFilters(parameters);
  return context.json(coverageJson(await readCoverageAnswer(ports, period, WHOLE, filters), localZone()));
}

/** Returns the projects that keep bodies, in the order of their names. */
export const readBodyProjects = ({ store }: Pick<ApiPorts, "store">): readonly string[] =>
  store.settings
    .listProjects()
    .flatMap(({ project, bodyCapture }) => (bodyCapture === true ? [project] : []));

/** Answers with the settings, without secrets. */
export async function getSettings(ports: ApiPorts, context: Context): Promise<Response> {
  const answer = (await ports.settings?.()) ?? null;
  if (answer === null) return problem(context, 404, "not_found", "This daemon does not state its settings.");
  return context.json(settingsJson(answer, readBodyProjects(ports)));
}

/** Answers with what left this machine, as far as the log of what was sent goes back. */
export const getOutbox = async (ports: ApiPorts, context: Context): Promise<Response> =>
  context.json(privacyJson(await readPrivacy(ports)));
