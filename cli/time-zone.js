/**
 * Replaces a file in `TZ`, such as `:/etc/localtime`, by the zone's name. POSIX allows files, but the runtime knows only names: it would
 * show UTC or a wrong offset. Without `TZ` it reads /etc/localtime itself.
 *
 * @param {Record<string, string | undefined>} env
 */
export function applyZoneFile(env) {
  const file = env.TZ?.match(/^:?(\/.*)$/)?.[1];
  const name = file?.match(/\/zoneinfo\/(?:posix\/|right\/)?(.+)$/)?.[1];
  if (name !== undefined) env.TZ = name;
  else if (file === "/etc/localtime") delete env.TZ;
}
