import process from "node:process";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the socket passed on by a service manager, as sd_listen_fds(3) describes: one, the first after standard error.
 * `supervise.sh` passes it on to the daemons that it starts, whose process ids it does not know in advance.
 */
export function inheritedSocket(env: Environment): number | null {
  const isOwn = env.LISTEN_PID === `${process.pid}`;
  const isOfSupervisor = env.LISTEN_PID === `${process.ppid}` && env.METER_SUPERVISOR === `${process.ppid}`;
  return (isOwn || isOfSupervisor) && env.LISTEN_FDS === "1" ? 3 : null;
}
